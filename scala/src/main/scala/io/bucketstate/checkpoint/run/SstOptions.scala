package io.bucketstate.checkpoint.run

import java.util.Properties
import java.util.concurrent.atomic.AtomicInteger

import org.rocksdb._

import io.bucketstate.checkpoint.io.BlockCodec

/**
 * How runs are written and read: RocksDB's own objects, held once for all the files of a store. They are
 * made, and the native library is loaded, when something is first opened with them. They
 * go when they are closed and nothing is open any more that was opened with them, whichever is last:
 * freeing them under an open file would bring down the process. `handles` tells how many still are.
 *
 * @param cacheBytes blocks kept in memory for point reads; scans leave it alone
 */
final class SstOptions(
    private[checkpoint] val codec: BlockCodec,
    private[checkpoint] val blockBytes: Int = SstOptions.BlockBytes,
    cacheBytes: Long = SstOptions.CacheBytes
) extends AutoCloseable {
  private[this] var opened = 0
  private[this] var closed = false
  private[this] var made: SstOptions.Native = _

  private[checkpoint] def env: EnvOptions = native.env

  private[checkpoint] def options: Options = native.options

  /** For scans: every key, past the filter, leaving the cache to point reads. */
  private[checkpoint] def scan: ReadOptions = native.scan

  /** For one key: the filter says first whether it can be there. */
  private[checkpoint] def point: ReadOptions = native.point

  /** Files that are open now. */
  def handles: Int = synchronized(opened)

  /** To be called before these objects are used to open something. */
  private[checkpoint] def acquired(): Unit = synchronized {
    if (closed) throw new IllegalStateException("the store's runs were closed")
    if (made == null) made = new SstOptions.Native(blockBytes, cacheBytes)
    opened += 1
  }

  private[checkpoint] def released(): Unit = synchronized {
    opened -= 1
    freeIfUnused()
  }

  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      freeIfUnused()
    }
  }

  private def native: SstOptions.Native = synchronized {
    if (opened == 0) throw new IllegalStateException("nothing is open")
    made
  }

  private def freeIfUnused(): Unit =
    if (closed && opened == 0 && made != null) {
      made.close()
      made = null
    }
}

object SstOptions {
  private val live = new AtomicInteger

  /** How many in this process hold native memory. */
  def liveCount: Int = live.get

  val BlockBytes: Int = 16 * 1024
  val CacheBytes: Long = 8L * 1024 * 1024

  private val BloomBits = 10.0

  /**
   * RocksDB's Java face has no point read of a file, and an iterator asks the filter for prefixes
   * only: so the prefix is made as long as any key.
   */
  private val WholeKey = 1 << 30

  private def database: Properties = {
    val properties = new Properties
    // RocksDB would write the machine's name into every file.
    properties.setProperty("db_host_id", "bucketstate")
    properties
  }

  private final class Native(blockBytes: Int, cacheBytes: Long) extends AutoCloseable {
    RocksDB.loadLibrary()
    live.incrementAndGet()

    private[this] val cache = new LRUCache(cacheBytes)
    private[this] val bloom = new BloomFilter(BloomBits)
    private[this] val db = DBOptions.getDBOptionsFromProps(database)
    private[this] val family = new ColumnFamilyOptions()

    val env: EnvOptions = new EnvOptions()
    val options: Options = new Options(db, family)
      .setTableFormatConfig(
        new BlockBasedTableConfig()
          .setFormatVersion(RunFormat.TableFormat)
          .setChecksumType(ChecksumType.kCRC32c)
          .setBlockSize(blockBytes.toLong)
          .setBlockCache(cache)
          .setFilterPolicy(bloom)
          .setWholeKeyFiltering(false)
      )
      .useCappedPrefixExtractor(WholeKey)

    val scan: ReadOptions =
      new ReadOptions().setVerifyChecksums(true).setTotalOrderSeek(true).setFillCache(false)

    val point: ReadOptions =
      new ReadOptions().setVerifyChecksums(true).setTotalOrderSeek(false).setPrefixSameAsStart(true)

    def close(): Unit = {
      Seq[AutoCloseable](point, scan, options, env, family, db, bloom, cache).foreach(_.close())
      live.decrementAndGet()
      ()
    }
  }
}
