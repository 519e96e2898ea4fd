package io.bucketstate.testkit

import java.nio.file.{Files, Path}

import scala.collection.immutable.TreeMap
import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import io.bucketstate.checkpoint.io.{BlockCodec, FileStore, WorkFolder}
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.checkpoint.run.open.OpenRunFile
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{BucketSpan, LocalRuns, Run, VersionSpan}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.record.{Record, RecordOp}

/** Runs for tests: their content as a sorted map, made at random, and read back from a cursor. */
object Runs {

  /** Of the runs that tests write, where they do not say otherwise. */
  val BlockBytes: Int = 4 * 1024

  /** Family, bucket and key bytes as unsigned numbers, which sort as a run does. */
  type Place = (Int, Int, Seq[Int])

  /** What each key was set to; `None` for a removal. */
  type Content = TreeMap[Place, Option[Seq[Byte]]]

  // A model is compared as often as what it is held against: no collection is made for it.
  private val order: Ordering[Place] = (a, b) =>
    if (a._1 != b._1) Integer.compare(a._1, b._1)
    else if (a._2 != b._2) Integer.compare(a._2, b._2)
    else compare(a._3, b._3)

  private def compare(a: Seq[Int], b: Seq[Int]): Int = {
    val both = math.min(a.size, b.size)
    var i = 0
    while (i < both && a(i) == b(i)) i += 1
    if (i < both) Integer.compare(a(i), b(i)) else Integer.compare(a.size, b.size)
  }

  val nothing: Content = TreeMap.empty(order)

  def place(family: Int, bucket: Int, key: Array[Byte]): Place =
    (family, bucket, key.toSeq.map(_ & 0xff))

  def keyOf(p: Place): Array[Byte] = p._3.map(_.toByte).toArray

  def random(random: Random, size: Int, buckets: Int, maxValue: Int = 60): Content =
    nothing ++ Seq.fill(size) {
      // Few keys, short ones, many 0x00 and 0xff: so that order and shadowing matter.
      val key = Array.fill(random.nextInt(4))(Seq[Byte](0, 1, -1, 127, -128)(random.nextInt(5)))
      val value = Seq.fill(random.nextInt(maxValue + 1))(random.nextInt().toByte)
      val at = place(Seq(0, 1, 700)(random.nextInt(3)), random.nextInt(buckets), key)
      at -> (if (random.nextInt(4) == 0) None else Some(value))
    }

  /** @param appended keys whose value is appended to what older runs have */
  def cursor(content: Content, appended: Set[Place] = Set.empty): RecordCursor = new RecordCursor {
    private val all = content.iterator
    private var now: (Place, Option[Seq[Byte]]) = _
    def advance(): Boolean = {
      val more = all.hasNext
      if (more) now = all.next()
      more
    }
    def family: Int = now._1._1
    def bucket: Int = now._1._2
    def record: Array[Byte] = Record.of(keyOf(now._1), now._2.getOrElse(Nil).toArray)
    def op: Byte =
      if (now._2.isEmpty) RecordOp.Remove
      else if (appended(now._1)) RecordOp.Merge
      else RecordOp.Put
    def close(): Unit = ()
  }

  /** Reads all, checks the order, closes. */
  def drain(cursor: RecordCursor): Content =
    try {
      val all = Seq.newBuilder[(Place, Option[Seq[Byte]])]
      while (cursor.advance()) {
        val record = cursor.record
        val (from, to) = (Record.keyStart(record), Record.keyEnd(record))
        val at = place(cursor.family, cursor.bucket, record.slice(from, to))
        val value = if (cursor.isRemoval) None else Some(record.drop(to).toSeq)
        assert(!cursor.isRemoval || to == record.length)
        all += at -> value
      }
      assert(!cursor.advance())
      val found = all.result()
      val keys = found.map(_._1)
      assert(keys.zip(keys.drop(1)).forall { case (a, b) => order.lt(a, b) }, "out of order")
      nothing ++ found
    } finally cursor.close()

  def within(content: Content, span: BucketSpan): Content =
    content.filter { case ((family, bucket, _), _) => family == span.family && span.holds(bucket) }

  /** What is left of contents, newest first, when they are merged. */
  def merged(newestFirst: Seq[Content], dropRemovals: Boolean): Content = {
    val all = newestFirst.reverse.foldLeft(nothing)(_ ++ _)
    if (dropRemovals) all.filter(_._2.nonEmpty) else all
  }

  /** Everything needed to write and read runs over a store; counts open files when it is closed. */
  final class Room(val store: FileStore, folder: Path, codec: BlockCodec = BlockCodec.Lz4)
      extends AutoCloseable {
    private val before = OpenRunFile.liveCount
    private val options = SstOptions(codec, BlockBytes)
    val local: LocalRuns = new LocalRuns(store, WorkFolder(folder, temporary = true))

    def writer(maxFileBytes: Long = Long.MaxValue): RunWriter =
      new RunWriter(store, local, options, maxFileBytes)

    def write(content: Content, oldest: Boolean = false, last: Long = 9): Run =
      writer().write(VersionSpan(1, last), cursor(content), oldest)

    /** Names of the files in the local folder. */
    def localFiles: Seq[String] =
      if (!Files.isDirectory(folder)) Nil
      else Using.resource(Files.list(folder))(_.iterator.asScala.map(_.getFileName.toString).toSeq)

    /** Files that were opened and not closed since. */
    def openFiles: Int = OpenRunFile.liveCount - before

    def close(): Unit = assert(openFiles == 0, "files are still open")
  }
}
