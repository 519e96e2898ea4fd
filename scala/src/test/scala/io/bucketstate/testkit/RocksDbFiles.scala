package io.bucketstate.testkit

import java.nio.file.{Files, Path}

import scala.util.Using

import org.rocksdb._

/** Files of runs as RocksDB itself reads and writes them: what any other engine would make of them. */
object RocksDbFiles {
  RocksDB.loadLibrary()

  type Entry = (Seq[Byte], Seq[Byte])

  /** All entries, after RocksDB has verified each block; and the properties it sees. */
  def read(path: Path): (Seq[Entry], TableProperties) =
    Using.Manager { use =>
      val reader = use(new SstFileReader(use(new Options())))
      reader.open(path.toString)
      reader.verifyChecksum()
      val all = Seq.newBuilder[Entry]
      val entries =
        use(reader.newIterator(use(new ReadOptions().setTotalOrderSeek(true).setFillCache(false))))
      entries.seekToFirst()
      while (entries.isValid) {
        all += entries.key.toSeq -> entries.value.toSeq
        entries.next()
      }
      entries.status()
      all.result() -> reader.getTableProperties
    }.get

  /** A database that took in a copy of the file, with a filter policy such as any database has. */
  final class Ingested(path: Path, folder: Path) extends AutoCloseable {
    private val statistics = new Statistics()
    private val options = new Options()
      .setCreateIfMissing(true)
      .setStatistics(statistics)
      .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(new BloomFilter(10)))
    private val db = RocksDB.open(options, folder.resolve("db").toString)
    Using.resource(new IngestExternalFileOptions().setMoveFiles(true)) { how =>
      val copy = Files.copy(path, folder.resolve("ingested.sst"))
      db.ingestExternalFile(java.util.List.of(copy.toString), how)
    }

    def get(key: Array[Byte]): Option[Seq[Byte]] = Option(db.get(key)).map(_.toSeq)

    /** How often a filter said of a key that it is not there. */
    def filtered: Long = statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL)

    def close(): Unit = {
      db.verifyChecksum()
      db.close()
      options.close()
      statistics.close()
    }
  }
}
