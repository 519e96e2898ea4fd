package io.bucketstate.checkpoint.run.read

import java.util.Arrays

import io.bucketstate.checkpoint.io.{ByteSlice, Damage}
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}
import io.bucketstate.checkpoint.run.open.{OpenRunFile, SharedReads, StoreReads}
import io.bucketstate.checkpoint.run.{BucketSpan, LocalRuns, LookUpTrace, RunFile, RunFormat}
import io.bucketstate.checkpoint.sst.{
  IndexWalk,
  SstBlocks,
  SstFilter,
  SstFooter,
  SstHandle,
  SstLayout,
  SstParts,
  SstPlaces,
  SstValues
}

/**
 * One file of a run, opened, to look keys up in and to scan. Every block that is read is verified; damage is
 * a `CorruptException` that reaches whoever reads, never a key that is not there.
 *
 * The lists of an open file's parts of index and filter are in memory. A look-up reads a part of the index and a
 * data block, unless they are in the cache. Once one was in vain, or the filter is asked itself, a part of the filter is
 * read before them: a file that has the keys asked of it, as the oldest run has, does without.
 *
 * The first look-up counts most when nothing is compiled or linked yet, so on its way there are few closures
 * and no messages are put together that nobody reads: each would cost about a millisecond then.
 *
 * Thread-safe. What one thread reads does not keep others waiting for longer than one read takes. The file
 * is closed when the reader and all who hold it are, whichever is last.
 */
private[checkpoint] final class RunFileReader private (
    run: RunFile,
    file: OpenRunFile,
    blocks: SstBlocks,
    layout: SstLayout,
    damage: Damage,
    reads: StoreReads
) extends AutoCloseable {
  import RunFileReader._
  import layout.index
  import reads.cache

  @volatile private[this] var filter: SstParts = _ // null until it is wanted
  cache.holds(file, index.heapBytes)

  /** Keeps the file open, even when it is closed meanwhile, until [[release]]; false, and nothing is held, if it was closed. */
  def tryHold(): Boolean = file.tryHold()

  def release(): Unit = file.release()

  /** All there is. A cursor that came to the end has seen as many entries as the manifest says. */
  def scanAll(): RecordCursor = cursor(RunFormat.seekKey(0), -1, run.entries)

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
   * @param trace  is told how far it went
   */
  def get(wanted: Array[Byte], hash: Long, trace: LookUpTrace): Lookup = {
    val number = index.of(wanted)
    if (number == index.count || isFiltered(number, hash, trace)) Lookup.Absent
    else {
      val found = damage.guard("index or a data block")(search(number, wanted, trace))
      if (found eq Lookup.Absent) wantFilter(trace)
      found
    }
  }

  /**
   * False if the filter says that the file has no such key; one without a filter may have every key. The caller holds
   * it open.
   *
   * @param wanted the key as files of runs have it
   * @param hash   of that, as filters want it
   * @param trace  is told how far it went
   */
  def mayHave(wanted: Array[Byte], hash: Long, trace: LookUpTrace): Boolean = {
    wantFilter(trace)
    val number = index.of(wanted)
    number < index.count && !isFiltered(number, hash, trace)
  }

  /** The opener needs it no more. */
  def close(): Unit = if (file.giveUp()) cache.gaveBack(file, index.heapBytes)

  private def cursor(first: Array[Byte], last: Int, expected: Long): RecordCursor = {
    if (!tryHold()) throw new IllegalStateException(s"${run.name} was closed")
    try file.open()
    catch {
      case failure: Throwable =>
        release()
        throw failure
    }
    def walk() = new IndexWalk(index, first, part(_, IndexPart, new LookUpTrace))
    new RunFileCursor(blocks, () => walk(), first, last, expected, damage, () => letGo())
  }

  private def letGo(): Unit = {
    release()
    reads.handles.released(file)
  }

  /** From now on it is asked. Two threads may both read the list of its parts, which is no harm. */
  private def wantFilter(trace: LookUpTrace): Unit = if (filter == null) {
    val root = layout.filter
    filter =
      if (root == null) SstParts.None
      else {
        if (root.isParted) trace.inFile()
        damage.guard("filter")(index.along(SstParts.read(blocks, root, FilterPart)))
      }
  }

  /**
   * Whether the filter denies a key, if it is wanted.
   *
   * @param number of the part that the key belongs to
   */
  private def isFiltered(number: Int, hash: Long, trace: LookUpTrace): Boolean = {
    val parts = filter
    parts != null && parts.count > 0 &&
    !SstFilter.mayHave(part(parts.place(number), FilterPart, trace), hash)
  }

  private def search(number: Int, wanted: Array[Byte], trace: LookUpTrace): Lookup = {
    val places = new SstPlaces(part(index.place(number), IndexPart, trace))
    if (!places.goTo(wanted)) Lookup.Absent
    else {
      val entries = new SstValues(data(places.place, trace))
      if (!entries.seek(wanted, RunFormat.TrailerLength) || !isAt(entries, wanted)) Lookup.Absent
      else {
        RunFormat.checkTrailer(entries.key, wanted.length, damage)
        found(wanted, entries)
      }
    }
  }

  private def found(wanted: Array[Byte], entries: SstValues): Lookup = {
    val array = entries.array
    val at = entries.valueAt
    val length = entries.valueLength
    val op = RunFormat.tagOf(array, at, length, damage)
    Lookup.of(RunFormat.recordOf(wanted, wanted.length, array, at, length), op)
  }

  private def data(at: SstHandle, trace: LookUpTrace): ByteSlice = {
    val cached = cache.get(file, at.offset)
    if (cached == null) read(at, DataPart, trace)
    else {
      trace.inCache()
      cached
    }
  }

  /** A part of the index or of the filter. */
  private def part(at: SstHandle, name: String, trace: LookUpTrace): ByteSlice = {
    val cached = cache.get(file, at.offset)
    if (cached == null) read(at, name, trace) else cached
  }

  private def read(at: SstHandle, name: String, trace: LookUpTrace): ByteSlice = {
    trace.inFile()
    val block = blocks.read(at, name)
    cache.put(file, at.offset, block, isData = name == DataPart)
    block
  }
}

private[checkpoint] object RunFileReader {
  private final val IndexPart = "index"
  private final val FilterPart = "filter"
  private final val DataPart = "data block"

  /**
   * Opens a file, fetching it first where it is not on a local disk. The caller closes it. Throws
   * `MissingException` if there is none, `CorruptException` if it is damaged or of a kind that no writer of
   * this project makes (see [[SstFooter]], [[SstLayout]]).
   */
  def open(
      run: RunFile,
      local: LocalRuns,
      reads: StoreReads = SharedReads.alone()
  ): RunFileReader = {
    val file = new OpenRunFile(run, local, reads.handles, reads.figures)
    var kept: RunFileReader = null
    try {
      val damage = local.damageOf(run)
      val footer = SstFooter.read(file, damage)
      val blocks = new SstBlocks(file, footer, damage, () => file.mend())
      val layout = SstLayout.read(blocks, footer.metaindex, damage)
      RunFormat.checkEntries(run, layout.entries, damage)
      kept = new RunFileReader(run, file, blocks, layout, damage, reads)
      kept
    } finally if (kept == null) file.close()
  }

  private def isAt(entries: SstValues, wanted: Array[Byte]): Boolean =
    entries.keyLength == wanted.length + RunFormat.TrailerLength &&
      Arrays.equals(entries.key, 0, wanted.length, wanted, 0, wanted.length)
}
