package io.bucketstate.checkpoint.changelog

import java.io.ByteArrayOutputStream
import java.util.zip.CRC32C

import scala.util.{Random, Using}

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, ByteSlice, Damage, LittleEndian}
import io.bucketstate.error.CorruptException
import io.bucketstate.record.{FamilyDescriptor, RecordOp}
import io.bucketstate.testkit.{TidySuite, _}

class ChangelogDamageSuite extends TidySuite {
  private val file = Attempt(17)

  private def encode(codec: BlockCodec, records: Int): Array[Byte] = {
    val writes = (0 until records).map { i =>
      val value = if (i % 5 == 4) None else Some(text(s"value $i value $i value $i"))
      Write(i % 4, text(s"key $i"), value)
    }
    val families = Changes.set(
      Seq(Changes.family(0, 4, writes, 10), Changes.family(2, 4, writes.take(9), 9))
    )
    val out = new ByteArrayOutputStream
    Using.resource(new ChangelogWriter)(
      _.encode(Changes.header(17, 4, codec), families).writeTo(out)
    )
    out.toByteArray
  }

  /** Reads all there is, both ways; `damaged` says what must be found. */
  private def corrupt(bytes: Array[Byte], clue: => String): CorruptException = {
    val store = new MemoryFileStore
    store.put(file.changelog, bytes)
    val whole = withClue(clue)(intercept[CorruptException] {
      Changes.readAll(ChangelogReader.readWhole(store, file))
    })
    withClue(clue)(intercept[CorruptException] {
      Using.resource(ChangelogReader.open(store, file))(Changes.readAll)
    })
    withClue(clue)(assert(whole.getMessage.contains("memory:/17.changelog")))
    withClue(clue)(assert(whole.getMessage.contains("version 17")))
    whole
  }

  for (codec <- BlockCodec.all) {
    test(s"$codec: every flipped bit of every byte is found") {
      val bytes = encode(codec, 12)
      for {
        i <- bytes.indices
        bit <- 0 until 8
      } {
        val flipped = bytes.clone()
        flipped(i) = (flipped(i) ^ (1 << bit)).toByte
        corrupt(flipped, s"byte $i of ${bytes.length}, bit $bit")
      }
    }

    test(s"$codec: every truncation is found, and so is what was appended") {
      val bytes = encode(codec, 12)
      for (n <- bytes.indices) corrupt(bytes.take(n), s"$n of ${bytes.length} bytes")
      for (n <- 1 to 40) corrupt(bytes ++ new Array[Byte](n), s"$n zeros")
      corrupt(bytes ++ bytes, "twice the file")
      corrupt(bytes ++ bytes.takeRight(32), "two trailers")
    }

    test(s"$codec: flipped bytes and truncations of a file of many blocks are found") {
      val bytes = encode(codec, 12_000)
      val random = new Random(42)
      for (_ <- 1 to 150) {
        val i = random.nextInt(bytes.length)
        val flipped = bytes.clone()
        flipped(i) = (flipped(i) + 1 + random.nextInt(255)).toByte
        corrupt(flipped, s"byte $i of ${bytes.length}")
        corrupt(bytes.take(i), s"$i of ${bytes.length} bytes")
      }
    }
  }

  test("a header that was damaged is found when it is read alone") {
    val bytes = encode(BlockCodec.Lz4, 12)
    val headerLength = bytes(10) + (bytes(11) << 8)
    val store = new MemoryFileStore
    for {
      i <- 0 until headerLength
      bit <- 0 until 8
    } {
      val flipped = bytes.clone()
      flipped(i) = (flipped(i) ^ (1 << bit)).toByte
      store.put(file.changelog, flipped)
      assertThrows[CorruptException](ChangelogReader.readHeader(store, file))
    }
    for (n <- 0 until headerLength) {
      store.put(file.changelog, bytes.take(n))
      assertThrows[CorruptException](ChangelogReader.readHeader(store, file))
    }
  }

  test("a newer format says so, and that an upgrade helps") {
    val bytes = encode(BlockCodec.Lz4, 12)
    bytes(8) = 3
    val e = corrupt(bytes, "format 3")
    assert(e.getMessage.contains("expected format version 2 or older, found 3"))
    assert(e.getMessage.contains("written by a newer bucketstate"))
    assert(e.remedy.startsWith("Upgrade bucketstate"))
  }

  test("a file that was renamed is not taken for another version or another attempt") {
    val store = new MemoryFileStore
    store.put("18.changelog", encode(BlockCodec.Lz4, 12))
    val other = intercept[CorruptException](ChangelogReader.readHeader(store, Attempt(18)))
    assert(other.getMessage.contains("expected the header of 18.changelog, found that of 17."))
    store.put("17_a.changelog", encode(BlockCodec.Lz4, 12))
    val attempt = Attempt(17, Some("a"))
    assertThrows[CorruptException](ChangelogReader.readWhole(store, attempt))
  }

  test("the end of one file does not fit the beginning of another") {
    val (a, b) = (encode(BlockCodec.Lz4, 12), encode(BlockCodec.ZStd, 12))
    val headerLength = a(10) + (a(11) << 8)
    corrupt(b.take(headerLength) ++ a.drop(headerLength), "spliced")
  }

  test("blocks that contradict their entries are found although the checksums are right") {
    val bytes = encode(BlockCodec.Raw, 12)
    val headerLength = bytes(10) + (bytes(11) << 8)
    val damages = Seq[(String, Int, Byte, String)](
      ("an unknown operation", 0, 9, "found 9"),
      ("a record longer than its block", 1, -1, "the record to end within the block"),
      ("a key longer than its record", 2, 126, "the key to end within the block"),
      ("a removal with a value", 0, RecordOp.Remove, "a REMOVE without a value")
    )
    for ((what, at, value, message) <- damages) {
      val changed = bytes.clone()
      changed(headerLength + at) = value
      val e = corrupt(reseal(changed), what)
      assert(e.getMessage.contains(message), what)
    }
  }

  test("a block of a family that the footer does not describe is found") {
    val bytes = encode(BlockCodec.Raw, 12)
    val trailer = new LittleEndian.Reader(new ByteSlice(bytes, bytes.length - 32, 32))
    val footer = trailer.u64().toInt
    val changed = bytes.clone()
    changed(footer + 4) = 1 // the first family is 0
    val e = corrupt(reseal(changed), "unknown family")
    assert(e.getMessage.contains("expected blocks of column family 1 or 2, found 0"))
  }

  /** Makes the checksums of the blocks, the footer and the trailer right again. */
  private def reseal(bytes: Array[Byte]): Array[Byte] = {
    val buffer = java.nio.ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN)
    def crc(from: Int, count: Int): Int = {
      val c = new CRC32C
      c.update(bytes, from, count)
      c.getValue.toInt
    }
    val trailer = bytes.length - 32
    val (footer, footerLength) = (buffer.getLong(trailer).toInt, buffer.getInt(trailer + 8))
    val entry = footer + footerLength - 37
    for (at <- Seq(entry - 37, entry))
      buffer.putInt(at + 33, crc(buffer.getLong(at + 12).toInt, buffer.getInt(at + 20)))
    buffer.putInt(trailer + 12, crc(footer, footerLength))
    buffer.putInt(trailer + 20, crc(trailer, 20))
    bytes
  }

  private def text(s: String): Seq[Byte] = s.getBytes("UTF-8").toSeq

  test("lengths that no writer makes are damage, not something to allocate") {
    val sound = ChangelogBlock(0, 0, 3, 70L, 40, 90, 10, BlockCodec.Lz4, 0)
    val family = ChangelogFamily(FamilyDescriptor(0, "default", "k", "v"), Some(10))
    def check(block: ChangelogBlock): Unit =
      ChangelogFooter(Vector(family), 1, Vector(block))
        .check(70L, 70L + block.storedLength, 4, new Damage("f", "changelog"))
    check(sound)
    check(sound.copy(codec = BlockCodec.Raw, storedLength = 90))
    Seq(
      sound.copy(rawLength = Int.MaxValue),
      sound.copy(rawLength = 29),
      sound.copy(rawLength = 0, records = 0),
      sound.copy(storedLength = 90),
      sound.copy(codec = BlockCodec.Raw)
    ).foreach(block => assertThrows[CorruptException](check(block)))
  }
}
