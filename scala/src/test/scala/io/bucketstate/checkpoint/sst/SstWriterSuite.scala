package io.bucketstate.checkpoint.sst

import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.zip.CRC32C

import scala.util.{Random, Using}

import org.rocksdb.{BlockBasedTableConfig, BloomFilter, ChecksumType}
import org.scalacheck.Gen
import org.scalactic.anyvals.PosInt
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.checkpoint.io.{BlockCodec, Damage, NioFileStore, ReadableFile}
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.checkpoint.run.write.RunFileWriter
import io.bucketstate.checkpoint.sst.hash.Xxph3
import io.bucketstate.error.{InvalidException, UnavailableException}
import io.bucketstate.record.{Record, RecordOp}
import io.bucketstate.testkit.{ForeignSst, RocksDbFiles, Runs, Seeds, TempFolder, TidySuite}

/** What is written without RocksDB is what RocksDB reads, verifies and takes in. */
@Slow
class SstWriterSuite extends TidySuite with ScalaCheckPropertyChecks {
  import Runs._

  private val contents = for {
    seed <- Gen.long
    codec <- Gen.oneOf(BlockCodec.all)
    blockBytes <- Gen.oneOf(1, 100, 4096, 16 * 1024, 1 << 20)
    bits <- Gen.frequency(3 -> Gen.const(10), 1 -> Gen.const(0), 3 -> Gen.choose(1, 30))
  } yield (seed, SstOptions(codec, blockBytes, bits))

  private def entryOf(p: Place, value: Option[Seq[Byte]]): RocksDbFiles.Entry =
    RunFormat.keyOf(p._1, p._2, keyOf(p)).toSeq -> value.fold(Seq[Byte](2))(1.toByte +: _)

  private def written(content: Content, options: SstOptions, folder: Path): Path = {
    val path = folder.resolve("written.sst")
    val file = new RunFileWriter(path, options, UUID.randomUUID())
    try {
      content.foreach { case (p, value) =>
        val record = Record.of(keyOf(p), value.getOrElse(Nil).toArray)
        file.put(p._1, p._2, record, if (value.isEmpty) RecordOp.Remove else RecordOp.Put)
      }
      file.finish()
    } finally file.close()
    val bytes = Files.readAllBytes(path)
    val sum = new CRC32C
    sum.update(bytes)
    assert(file.length == bytes.length && file.checksum == sum.getValue.toInt)
    assert(file.entries == content.size && file.tombstones == content.count(_._2.isEmpty))
    path
  }

  test("RocksDB reads what was written, verifies it, and finds it once it is ingested") {
    val tries = Seeds.of(20, 500)
    var parted = 0
    forAll(contents, minSuccessful(PosInt.from(tries).get)) { case (seed, options) =>
      TempFolder.use { folder =>
        val content = SstWriterSuite.content(new Random(seed))
        val path = written(content, options, folder)
        val expected = content.iterator.map { case (p, value) => entryOf(p, value) }.toSeq
        val (found, properties) = RocksDbFiles.read(path)
        val same = found == expected
        assert(same) // what differs would be long
        assert(properties.getNumEntries == content.size && properties.getNumDataBlocks > 0)
        val isParted = properties.getIndexPartitions > 0
        assert(isParted == properties.getTopLevelIndexSize > 0)
        if (isParted) parted += 1
        assert(properties.getRawKeySize == expected.map(_._1.size + 8L).sum)
        assert(properties.getRawValueSize == expected.map(_._2.size.toLong).sum)
        Using.resource(new RocksDbFiles.Ingested(path, folder)) { db =>
          expected.foreach { case (key, value) => assert(db.get(key.toArray).contains(value)) }
          val absent = expected.map { case (key, _) => key :+ 77.toByte }.filterNot {
            expected.map(_._1).toSet
          }
          absent.foreach(key => assert(db.get(key.toArray).isEmpty))
          // The last may lie behind the file's last key, where no filter is asked.
          if (options.bloomBits >= 10) assert(db.filtered >= absent.size * 0.9 - 3, absent.size)
          if (options.bloomBits == 0) assert(db.filtered == 0)
        }
      }
    }
    val few = math.max(1, tries / 12)
    assert(parted >= few && parted <= tries - few, "files with one part, and with several")
  }

  test("for each number of bits the filter is the one that RocksDB writes, bit for bit") {
    // So many that it makes no difference that a filter's length is rounded.
    val content = nothing ++ (0 until 20_000).map { i =>
      place(0, i / 4000, Array((i >> 8).toByte, i.toByte)) -> Some(Nil)
    }
    for (bits <- 0 to 30) TempFolder.use { folder =>
      val store = new NioFileStore(folder)
      val foreign = Using.resource(new BloomFilter(bits.toDouble)) { bloom =>
        val table = new BlockBasedTableConfig().setFormatVersion(6).setFilterPolicy(bloom)
        ForeignSst.write(store, content, table.setChecksumType(ChecksumType.kCRC32c))
      }
      val theirs = filterIn(store.open(foreign.files.head.name))
      val builder = new SstFilter.Builder(bits)
      content.keysIterator.foreach { p =>
        val key = RunFormat.keyOf(p._1, p._2, keyOf(p))
        builder.add(Xxph3.hash(key, key.length))
      }
      val ours = Option.when(builder.isWanted)(builder.build(0).toSeq)
      val same = ours == theirs
      assert(same, s"$bits bits: ${ours.map(_.takeRight(5))} and ${theirs.map(_.takeRight(5))}")
    }
  }

  private def filterIn(file: ReadableFile): Option[Seq[Byte]] = Using.resource(file) { _ =>
    val damage = new Damage("a file", "a test's")
    val footer = SstFooter.read(file, damage)
    val blocks = new SstBlocks(file, footer, damage, () => false)
    Option(SstLayout.read(blocks, footer.metaindex, damage).filter).map { root =>
      assert(!root.isParted)
      val block = blocks.read(root.at, "filter")
      block.array.slice(block.offset, block.offset + block.length).toSeq
    }
  }

  test("what comes out of order, or twice, is refused") {
    TempFolder.use { folder =>
      val keys = Seq("b", "ba", "bb", "c").map(_.getBytes)
      for {
        first <- keys.indices
        second <- 0 to first
      } {
        val path = folder.resolve("refused.sst")
        val options = new SstOptions(BlockCodec.Lz4, Runs.BlockBytes)
        Using.resource(new RunFileWriter(path, options, UUID.randomUUID())) { file =>
          file.put(1, 1, Record.of(keys(first), Array(1)), RecordOp.Put)
          val e = intercept[InvalidException](
            file.put(1, 1, Record.of(keys(second), Array(1)), RecordOp.Put)
          )
          assert(e.getMessage.contains(path.toString))
          assertThrows[InvalidException](
            file.put(0, 5, Record.of(keys.last, Array(1)), RecordOp.Put)
          )
        }
      }
    }
  }

  test("a disk that refuses is an error that names the file") {
    TempFolder.use { folder =>
      val path = folder.resolve("no such folder").resolve("file.sst")
      val e = intercept[UnavailableException](
        new RunFileWriter(path, new SstOptions(BlockCodec.ZStd, Runs.BlockBytes), UUID.randomUUID())
      )
      assert(e.file == path.toString)
    }
  }
}

private object SstWriterSuite {
  import Runs._

  /** Keys and values of all sizes, keys with much in common, empty ones, several families and buckets. */
  def content(random: Random): Content = {
    val (families, buckets) = (1 + random.nextInt(4), 1 + random.nextInt(60))
    val shared = Array.fill(random.nextInt(300))(random.nextInt().toByte)
    val alphabet = if (random.nextBoolean()) 3 else 256
    val sizes = if (random.nextInt(8) == 0) 70_000 else Seq(4, 30, 300)(random.nextInt(3))
    val count = if (sizes > 1000) 20 else 1 + random.nextInt(1500)
    nothing ++ Seq.fill(count) {
      val front = shared.take(if (random.nextBoolean()) shared.length else 0)
      val key = front ++ Array.fill(random.nextInt(sizes + 1))(random.nextInt(alphabet).toByte)
      val size = if (random.nextInt(300) == 0) random.nextInt(300_000) else random.nextInt(200)
      val step = random.nextInt(3)
      val value =
        Seq.tabulate(size)(i => if (step == 0) random.nextInt().toByte else (i * step >> 4).toByte)
      place(random.nextInt(families) * 13, random.nextInt(buckets) * 7, key) ->
        (if (random.nextInt(9) == 0) None else Some(value))
    }
  }
}
