package io.bucketstate.checkpoint.run

import java.nio.ByteBuffer
import java.nio.file.Path
import java.util.Arrays

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, NioFileStore, ReadableFile}
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.table.Record

/**
 * One file of a run, opened for looking keys up, in the JVM alone: loading RocksDB's library takes a cold
 * process longer than all that a lookup has to read. The first lookup reads the index and one data block,
 * the others one data block each. Every block that is read is verified; damage is a `CorruptException`,
 * never a key that is not there.
 *
 * The first lookup counts most when nothing is compiled or linked yet, so on its way there are few closures
 * and no messages are put together that nobody reads: each would cost about a millisecond then.
 *
 * Thread-safe. What one thread reads does not keep others waiting for longer than one read takes.
 */
private[checkpoint] final class RunFileLookup private (
    path: Path,
    file: ReadableFile,
    blocks: SstBlocks,
    place: SstHandle,
    damage: Damage
) extends OpenRunFile(path) {
  import RunFileLookup._

  @volatile private[this] var index: SstIndex = _ // null until it is needed

  def get(family: Int, bucket: Int, key: Array[Byte]): Lookup = {
    requireOpen()
    val wanted = RunFormat.keyOf(family, bucket, key)
    damage.guard("index or a data block") {
      indexed().find(wanted) match {
        case None     => Lookup.Absent
        case Some(at) => search(blocks.read(at, "data block"), wanted)
      }
    }
  }

  override def heapBytes: Long = {
    val now = index
    if (now == null) 0 else now.heapBytes
  }

  override def shed(): Unit = index = null

  protected def free(): Unit = file.close()

  /** Two threads may both read it, which is no harm. */
  private def indexed(): SstIndex = {
    var now = index
    if (now == null) {
      now = new SstIndex(blocks.read(place, "index"))
      index = now
    }
    now
  }

  private def search(block: ByteSlice, wanted: Array[Byte]): Lookup = {
    val entries = new SstValues(block)
    if (!entries.seek(wanted, TrailerBytes) || !isAt(entries, wanted)) Lookup.Absent
    else {
      val trailer = ByteBuffer.wrap(entries.key).getLong(wanted.length)
      if (trailer != PlainPut)
        throw damage(s"expected plain puts with sequence number 0, found ${trailer.toHexString}")
      found(wanted, entries.value)
    }
  }

  private def found(wanted: Array[Byte], value: ByteSlice): Lookup = {
    val op = if (value.length == 0) 0.toByte else value.array(value.offset)
    RunFormat.checkTag(op, value.length, damage)
    val keyLength = wanted.length - RunFormat.PrefixLength
    val keyStart = Record.varintSize(keyLength)
    val record = new Array[Byte](keyStart + keyLength + value.length - 1)
    Record.putVarint(record, 0, keyLength)
    System.arraycopy(wanted, RunFormat.PrefixLength, record, keyStart, keyLength)
    System
      .arraycopy(value.array, value.offset + 1, record, keyStart + keyLength, value.length - 1)
    Lookup.of(record, op)
  }
}

private[checkpoint] object RunFileLookup {

  /** Behind each key in data blocks. */
  private val TrailerBytes = 8

  /** The trailer of a put with sequence number 0: a byte 1, then zeros. */
  private val PlainPut = 1L << 56

  /**
   * Opens a file, fetching it first where it is not on a local disk. The caller closes it. None if it is not
   * of the kind that is read here (see [[SstFooter]], [[SstLayout]]), as older writers may have left it.
   * Throws `MissingException` if there is none, `CorruptException` if it is damaged.
   */
  def open(file: RunFile, local: LocalRuns): Option[RunFileLookup] = {
    val (path, opened) = local.using(file) { path =>
      path -> new NioFileStore(path.getParent).open(path.getFileName.toString)
    }
    var kept: Option[RunFileLookup] = None
    try {
      kept = understood(file, path, opened)
      kept
    } finally if (kept.isEmpty) opened.close()
  }

  private def understood(file: RunFile, path: Path, opened: ReadableFile): Option[RunFileLookup] = {
    val damage = RunFormat.damageOf(file, path)
    SstFooter.read(opened, damage) match {
      case None         => None
      case Some(footer) =>
        val blocks = new SstBlocks(opened, footer, damage)
        SstLayout.read(blocks, footer.metaindex, damage) match {
          case None         => None
          case Some(layout) =>
            RunFormat.checkEntries(file, layout.entries, damage)
            Some(new RunFileLookup(path, opened, blocks, layout.index, damage))
        }
    }
  }

  private def isAt(entries: SstValues, wanted: Array[Byte]): Boolean =
    entries.keyLength == wanted.length + TrailerBytes &&
      Arrays.equals(entries.key, 0, wanted.length, wanted, 0, wanted.length)
}
