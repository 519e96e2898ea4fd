package io.bucketstate.checkpoint.run

import java.nio.file.Path
import java.util.Arrays

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, NioFileStore, ReadableFile}
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}

/**
 * One file of a run, opened, to look keys up in and to scan. Every block that is read is verified; damage is
 * a `CorruptException` that reaches whoever reads, never a key that is not there.
 *
 * The first look-up reads the index and one data block, the others one data block each. The filter is read
 * once a look-up was in vain, or it is asked itself: a file that has the keys asked of it, as the oldest run has, does
 * without.
 *
 * The first look-up counts most when nothing is compiled or linked yet, so on its way there are few closures
 * and no messages are put together that nobody reads: each would cost about a millisecond then.
 *
 * Thread-safe. What one thread reads does not keep others waiting for longer than one read takes. The file
 * is closed when the reader and all its cursors are, whichever is last.
 */
private[checkpoint] final class RunFileReader private (
    entries: Long,
    path: Path,
    file: ReadableFile,
    blocks: SstBlocks,
    layout: SstLayout,
    damage: Damage
) extends OpenRunFile(path) {
  import RunFileReader._

  @volatile private[this] var index: SstIndex = _ // null until it is needed
  @volatile private[this] var filter: SstFilter = _ // null until it is needed
  @volatile private[this] var filterIsWanted = false
  @volatile private[this] var hasFilter = layout.filter != null // that is understood

  /** All there is. A cursor that came to the end has seen as many entries as the manifest says. */
  def scanAll(): RecordCursor = cursor(RunFormat.seekKey(0), -1, entries)

  /** What the file has of these buckets. */
  def scan(span: BucketSpan): RecordCursor = {
    val first = RunFormat.prefix(span.family, span.first)
    scan(RunFormat.seekKey(first), RunFormat.prefix(span.family, span.last))
  }

  /**
   * What the file has from a key on.
   *
   * @param first as files of runs have keys
   * @param last  the last prefix wanted
   */
  def scan(first: Array[Byte], last: Int): RecordCursor = cursor(first, last, -1)

  /**
   * What the file says of a key. The caller holds it open.
   *
   * @param wanted the key as files of runs have it
   * @param hash   of that, as filters want it
   */
  def get(wanted: Array[Byte], hash: Long): Lookup =
    if (isFiltered(hash)) Lookup.Absent
    else {
      val found = damage.guard("index or a data block") {
        indexed().find(wanted) match {
          case None     => Lookup.Absent
          case Some(at) => search(blocks.read(at, "data block"), wanted)
        }
      }
      if (found eq Lookup.Absent) filterIsWanted = hasFilter
      found
    }

  /**
   * False if the filter says that the file has no such key; one without a filter may have every key. The caller holds
   * it open.
   *
   * @param hash of the key as files of runs have it
   */
  def mayHave(hash: Long): Boolean = {
    filterIsWanted = hasFilter
    !damage.guard("filter")(isFiltered(hash))
  }

  /** Bytes of heap that it keeps, to be quick. */
  def heapBytes: Long = {
    val (kept, filtering) = (index, filter)
    (if (kept == null) 0 else kept.heapBytes) + (if (filtering == null) 0 else filtering.heapBytes)
  }

  /** Gives those bytes up, until they are needed again. */
  def shed(): Unit = {
    index = null
    filter = null
    filterIsWanted = false
  }

  protected def free(): Unit = file.close()

  private def cursor(first: Array[Byte], last: Int, expected: Long): RecordCursor = {
    hold()
    new RunFileCursor(blocks, () => indexed(), first, last, expected, damage, () => release())
  }

  /** Two threads may both read it, which is no harm; so with the filter. */
  private def indexed(): SstIndex = {
    var now = index
    if (now == null) {
      now = new SstIndex(blocks.read(layout.index, "index"))
      index = now
    }
    now
  }

  private def isFiltered(hash: Long): Boolean = filterIsWanted && {
    var now = filter
    if (now == null) {
      val read = SstFilter.of(blocks.read(layout.filter, "filter"))
      if (read.isEmpty) {
        hasFilter = false
        filterIsWanted = false
      } else {
        now = read.get
        filter = now
      }
    }
    now != null && !now.mayHave(hash)
  }

  private def search(block: ByteSlice, wanted: Array[Byte]): Lookup = {
    val entries = new SstValues(block)
    if (!entries.seek(wanted, RunFormat.TrailerLength) || !isAt(entries, wanted)) Lookup.Absent
    else {
      RunFormat.checkTrailer(entries.key, wanted.length, damage)
      found(wanted, entries)
    }
  }

  private def found(wanted: Array[Byte], entries: SstValues): Lookup = {
    val (array, at, length) = (entries.array, entries.valueAt, entries.valueLength)
    val op = RunFormat.tagOf(array, at, length, damage)
    Lookup.of(RunFormat.recordOf(wanted, wanted.length, array, at, length), op)
  }
}

private[checkpoint] object RunFileReader {

  /**
   * Opens a file, fetching it first where it is not on a local disk. The caller closes it. Throws
   * `MissingException` if there is none, `CorruptException` if it is damaged or of a kind that no writer of
   * this project makes (see [[SstFooter]], [[SstLayout]]).
   */
  def open(file: RunFile, local: LocalRuns): RunFileReader = {
    val (path, opened) = local.using(file) { path =>
      path -> new NioFileStore(path.getParent).open(path.getFileName.toString)
    }
    var kept: RunFileReader = null
    try {
      kept = understood(file, path, opened)
      kept
    } finally if (kept == null) opened.close()
  }

  private def understood(file: RunFile, path: Path, opened: ReadableFile): RunFileReader = {
    val damage = RunFormat.damageOf(file, path)
    val footer = SstFooter.read(opened, damage)
    val blocks = new SstBlocks(opened, footer, damage)
    val layout = SstLayout.read(blocks, footer.metaindex, damage)
    RunFormat.checkEntries(file, layout.entries, damage)
    new RunFileReader(file.entries, path, opened, blocks, layout, damage)
  }

  private def isAt(entries: SstValues, wanted: Array[Byte]): Boolean =
    entries.keyLength == wanted.length + RunFormat.TrailerLength &&
      Arrays.equals(entries.key, 0, wanted.length, wanted, 0, wanted.length)
}
