package io.bucketstate.checkpoint.run.read

import java.util.Arrays

import io.bucketstate.checkpoint.io.{ByteSlice, Damage}
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}
import io.bucketstate.checkpoint.run.open.{
  KeptPart,
  OpenRunFile,
  PagedFilter,
  PagedIndex,
  RunFileHandle,
  SharedReads,
  StoreReads
}
import io.bucketstate.checkpoint.run.{BucketSpan, LocalRuns, LookUpTrace, RunFile, RunFormat}
import io.bucketstate.checkpoint.sst.{
  BlockPage,
  IndexWalk,
  KeyFilter,
  KeyIndex,
  SstBlocks,
  SstFilter,
  SstFooter,
  SstHandle,
  SstIndex,
  SstLayout,
  SstValues
}

/**
 * One file of a run, opened, to look keys up in and to scan. Every block that is read is verified; damage is
 * a `CorruptException` that reaches whoever reads, never a key that is not there.
 *
 * The first look-up reads the index and one data block, the others one data block each, unless it is in the cache. The
 * filter is read once a look-up was in vain, or it is asked itself: a file that has the keys asked of it, as the oldest
 * run has, does without. Where the cache has no room for filter or index, they are read by pages (see [[KeptPart]]).
 *
 * The first look-up counts most when nothing is compiled or linked yet, so on its way there are few closures
 * and no messages are put together that nobody reads: each would cost about a millisecond then.
 *
 * Thread-safe. What one thread reads does not keep others waiting for longer than one read takes. The file
 * is closed when the reader and all its cursors are, whichever is last; and while nobody holds it, if too many are open.
 */
private[checkpoint] final class RunFileReader private (
    run: RunFile,
    file: RunFileHandle,
    blocks: SstBlocks,
    layout: SstLayout,
    damage: Damage,
    reads: StoreReads
) extends OpenRunFile(run.name, reads.figures) {
  import RunFileReader._
  import reads.cache

  private[this] val index = new KeptIndex
  private[this] val filter = new KeptFilter
  @volatile private[this] var filterIsWanted = false
  @volatile private[this] var hasFilter = layout.filter != null // that is understood
  cache.begin(this)
  file.belongTo(this)

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
    lastUse = cache.now
    if (isFiltered(hash, trace)) Lookup.Absent
    else {
      val found = damage.guard("index or a data block") {
        index.get(trace).find(wanted, trace) match {
          case None     => Lookup.Absent
          case Some(at) => search(block(at, trace), wanted)
        }
      }
      if (found eq Lookup.Absent) filterIsWanted = hasFilter
      found
    }
  }

  /**
   * False if the filter says that the file has no such key; one without a filter may have every key. The caller holds
   * it open.
   *
   * @param hash  of the key as files of runs have it
   * @param trace is told how far it went
   */
  def mayHave(hash: Long, trace: LookUpTrace): Boolean = {
    lastUse = cache.now
    filterIsWanted = hasFilter
    !damage.guard("filter")(isFiltered(hash, trace))
  }

  override def shed(): Unit = {
    filterIsWanted = false
    filter.shed()
    index.shed()
  }

  protected def rest(): Unit = file.close()

  protected def free(): Unit = {
    cache.end(this)
    file.close()
  }

  private def cursor(first: Array[Byte], last: Int, expected: Long): RecordCursor = {
    hold()
    try file.open()
    catch {
      case failure: Throwable =>
        release()
        throw failure
    }
    def walk() = {
      val trace = new LookUpTrace
      index.get(trace).from(first, trace)
    }
    new RunFileCursor(blocks, () => walk(), first, last, expected, damage, () => letGo())
  }

  private def letGo(): Unit = {
    release()
    reads.handles.released(this)
  }

  private def isFiltered(hash: Long, trace: LookUpTrace): Boolean = filterIsWanted && {
    val now = filter.get(trace)
    if (now == null) {
      hasFilter = false
      filterIsWanted = false
    }
    now != null && !now.mayHave(hash, trace)
  }

  private def block(at: SstHandle, trace: LookUpTrace): ByteSlice = {
    val cached = cache.block(this, at.offset)
    if (cached != null) {
      trace.inCache()
      cached
    } else {
      cache.reading(trace)
      val read = blocks.read(at, DataPart)
      cache.keepBlock(this, at.offset, read)
      read
    }
  }

  private def page(part: String)(page: BlockPage, trace: LookUpTrace): Array[Byte] = {
    cache.reading(trace)
    blocks.readPage(page, part)
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
    val array = entries.array
    val at = entries.valueAt
    val length = entries.valueLength
    val op = RunFormat.tagOf(array, at, length, damage)
    Lookup.of(RunFormat.recordOf(wanted, wanted.length, array, at, length), op)
  }

  private final class KeptIndex extends KeptPart[KeyIndex](this, cache) {
    protected def read(): KeyIndex = new SstIndex(blocks.read(layout.index, IndexPart))

    protected def paged(whole: KeyIndex): KeyIndex = whole match {
      case one: SstIndex if one.block.length == layout.index.size =>
        PagedIndex.of(one.block, layout.index, page(IndexPart))
      case _ => new WholeIndex(readNow(_))
    }
  }

  private final class KeptFilter extends KeptPart[KeyFilter](this, cache) {
    protected def read(): KeyFilter =
      SstFilter.of(blocks.read(layout.filter, FilterPart)).orNull

    protected def paged(whole: KeyFilter): KeyFilter = whole match {
      case one: SstFilter => PagedFilter.of(one, layout.filter, page(FilterPart))
      case other          => other
    }
  }
}

private[checkpoint] object RunFileReader {
  private final val IndexPart = "index"
  private final val FilterPart = "filter"
  private final val DataPart = "data block"

  /** An index that is stored compressed, as older writers did, has no pages: each look-up reads all of it. */
  private final class WholeIndex(read: LookUpTrace => KeyIndex) extends KeyIndex {
    override def heapBytes: Long = 0

    override def find(key: Array[Byte], trace: LookUpTrace): Option[SstHandle] =
      read(trace).find(key, trace)

    override def from(key: Array[Byte], trace: LookUpTrace): IndexWalk =
      read(trace).from(key, trace)
  }

  /**
   * Opens a file, fetching it first where it is not on a local disk. The caller closes it. Throws
   * `MissingException` if there is none, `CorruptException` if it is damaged or of a kind that no writer of
   * this project makes (see [[SstFooter]], [[SstLayout]]).
   */
  def open(
      file: RunFile,
      local: LocalRuns,
      reads: StoreReads = SharedReads.alone()
  ): RunFileReader = {
    val handle = new RunFileHandle(file, local, reads.handles)
    var kept: RunFileReader = null
    try {
      val damage = local.damageOf(file)
      val footer = SstFooter.read(handle, damage)
      val blocks = new SstBlocks(handle, footer, damage, () => handle.mend())
      val layout = SstLayout.read(blocks, footer.metaindex, damage)
      RunFormat.checkEntries(file, layout.entries, damage)
      kept = new RunFileReader(file, handle, blocks, layout, damage, reads)
      kept
    } finally if (kept == null) handle.close()
  }

  private def isAt(entries: SstValues, wanted: Array[Byte]): Boolean =
    entries.keyLength == wanted.length + RunFormat.TrailerLength &&
      Arrays.equals(entries.key, 0, wanted.length, wanted, 0, wanted.length)
}
