package io.bucketstate

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Random, Success, Try}

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.checkpoint.run.ChangedBlocks
import io.bucketstate.error.BucketstateException
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, Seeds, TidySuite}

/**
 * Files of a checkpoint with some bytes changed, their checksums as they were or made right again. Who reads them gets the
 * state, or an error that says what is damaged; never an error of the program, and what is read allocates no more than
 * the files can hold.
 */
class ChangedFilesSuite extends TidySuite {
  import ChangedFilesSuite._

  private val changes = Seeds.of(25, 400)

  for {
    (keys, spec) <- Seq(
      "plain" -> plainKeys,
      "prefix" -> prefixKeys,
      "range" -> RangeKeyScanStateEncoderSpec(KeySchema, Seq(0))
    )
    (codec, n) <- Seq("lz4", "zstd", "snappy", "lzf").zipWithIndex
  }
    test(s"changed bytes of files, $keys keys, $codec") {
      withFolder { folder =>
        val random = new Random(n * 31L + keys.hashCode)
        val room = new Room(new ProviderHarness(folder, spec), codec, random)
        for (number <- 1 to changes) room.tryOne(number)
        assert(room.failures > 0 && room.answers > 0)
      }
    }
}

private object ChangedFilesSuite {

  private type Content = Map[(Long, String), (Long, String)]

  private val threads = ManagementFactory.getThreadMXBean
    .asInstanceOf[com.sun.management.ThreadMXBean]

  private final class Room(harness: ProviderHarness, codec: String, random: Random) {
    private val settings = Seq(
      "spark.sql.streaming.stateStore.compression.codec" -> codec,
      "spark.sql.streaming.stateStore.bucketed.numBuckets" -> "4",
      "spark.sql.streaming.stateStore.bucketed.snapshot.mode" -> "sync",
      "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "3"
    )
    private val Newest = 5L
    var (failures, answers) = (0, 0)

    private val model: Content = {
      val provider = harness.provider(settings: _*)
      val batches = (0L until Newest).map { version =>
        val puts = (1 to 30).map { _ =>
          (random.nextLong(9), s"key ${random.nextInt(60)}") ->
            (version -> random.alphanumeric.take(random.nextInt(60)).mkString * random.nextInt(3))
        }
        batch(provider, version)(puts: _*)()
        puts
      }
      provider.close()
      batches.flatten.toMap
    }

    private val files = {
      val all = Files.walk(harness.storeFolder)
      try all.iterator.asScala.filter(Files.isRegularFile(_)).toVector.sorted
      finally all.close()
    }
    private val bytes = files.map(file => file -> Files.readAllBytes(file)).toMap

    /**
     * What the files can hold at most, and what it takes to open a store at all. Which codec a block has is said by
     * a byte that may be changed, too.
     */
    private def most(isSealed: Boolean): Long = {
      val perByte = if (isSealed || codec == "zstd") 32L * 1024 else 300L
      (64L << 20) + 4 * perByte * bytes.valuesIterator.map(_.length.toLong).max
    }

    def tryOne(number: Int): Unit = {
      val file = files(random.nextInt(files.size))
      val isSealed = random.nextInt(3) > 0
      write(file, isSealed)
      val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
      val outcome = Try(read())
      val allocated = threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before
      val where = s"change $number, of ${file.getFileName}, sealed: $isSealed"
      assert(allocated <= most(isSealed), where)
      outcome match {
        case Success(found) =>
          answers += 1
          // Bytes whose checksum is right may be another state.
          assert(isSealed || found == model, where)
        case Failure(failure) =>
          failures += 1
          val causes = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).toSeq
          if (!causes.exists(_.isInstanceOf[BucketstateException]))
            throw new AssertionError(where, failure)
      }
      bytes.foreach { case (path, original) => Files.write(path, original) }
    }

    private def read(): Content = {
      val provider = harness.provider(settings: _*)
      try {
        val store = provider.getReadStore(Newest)
        try {
          val found = contents(store)
          if (harness.keySpec.isInstanceOf[PrefixKeyScanStateEncoderSpec])
            (0L until 9L).foreach(n => store.prefixScan(prefix(n)).foreach(p => keyOf(p.key)))
          found
        } finally ours(store).release()
      } finally provider.close()
    }

    private def write(file: Path, isSealed: Boolean): Unit = {
      val original = bytes(file)
      val name = file.getFileName.toString
      if (!isSealed) {
        val changed = original.clone()
        change(changed, 0, changed.length)
        Files.write(
          file,
          if (random.nextInt(4) > 0) changed else changed.take(random.nextInt(changed.length))
        )
      } else if (name.endsWith(".changelog")) Files.write(file, changelog(original))
      else if (name.endsWith(".manifest")) {
        val changed = original.clone()
        change(changed, 0, changed.length - ManifestTail)
        Files.write(file, resealed(changed))
      } else run(file, original)
      ()
    }

    /** Numbers that lengths like least, or any. */
    private def change(of: Array[Byte], from: Int, length: Int): Unit =
      for (_ <- 0 to random.nextInt(3)) {
        val at = from + random.nextInt(length)
        random.nextInt(3) match {
          case 0 => of(at) = random.nextInt().toByte
          case 1 => of(at) = Array(0, 1, -1, 127, -128)(random.nextInt(5)).toByte
          case _ =>
            val number = Array(-1, Int.MaxValue, Int.MinValue, 1 << 30, 1 << 16)(random.nextInt(5))
            val some = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(number).array
            some.indices.foreach(i => if (at + i < from + length) of(at + i) = some(i))
        }
      }

    private def changelog(original: Array[Byte]): Array[Byte] = {
      val changed = original.clone()
      val buffer = ByteBuffer.wrap(changed).order(ByteOrder.LITTLE_ENDIAN)
      val trailer = changed.length - 32
      val (footer, length) = (buffer.getLong(trailer).toInt, buffer.getInt(trailer + 8))
      val header = buffer.getShort(10).toInt
      // Its blocks, mostly: what is around them has other tests.
      if (random.nextInt(4) > 0 && footer > header) change(changed, header, footer - header)
      else change(changed, footer, length)
      var entry = footer + length - 37
      while (entry > footer && isBlock(buffer, entry, header, footer)) {
        val (at, count) = (buffer.getLong(entry + 12).toInt, buffer.getInt(entry + 20))
        buffer.putInt(entry + 33, crc(changed, at, count))
        entry -= 37
      }
      buffer.putInt(trailer + 12, crc(changed, footer, length))
      buffer.putInt(trailer + 20, crc(changed, trailer, 20))
      changed
    }

    private def isBlock(buffer: ByteBuffer, entry: Int, from: Int, until: Int): Boolean = {
      val (at, count) = (buffer.getLong(entry + 12), buffer.getInt(entry + 20))
      at >= from && count > 0 && at <= until - count
    }

    /** A file of a run with a block changed, and manifests that take it for right. */
    private def run(file: Path, original: Array[Byte]): Unit = {
      val changed = ChangedBlocks.of(original, random)(change)
      Files.write(file, changed)
      val (before, after) = (checksum(original), checksum(changed))
      files.filter(_.toString.endsWith(".manifest")).foreach { manifest =>
        val text = new String(bytes(manifest), UTF_8).replace(before, after)
        Files.write(manifest, resealed(text.getBytes(UTF_8)))
      }
    }

    private def checksum(of: Array[Byte]): String = f"crc32c:${crc(of, 0, of.length)}%08x"

    private def resealed(manifest: Array[Byte]): Array[Byte] = {
      val body = manifest.length - ManifestTail
      val digits = f"${crc(manifest, 0, body)}%08x".getBytes(UTF_8)
      System.arraycopy(digits, 0, manifest, manifest.length - 12, 8)
      manifest
    }

    private def crc(of: Array[Byte], from: Int, count: Int): Int = {
      val sum = new CRC32C
      sum.update(of, from, count)
      sum.getValue.toInt
    }
  }

  /** Bytes of a manifest that its checksum is not of. */
  private val ManifestTail = ",\n  \"checksum\" : \"crc32c:".length + 8 + "\"\n}\n".length
}
