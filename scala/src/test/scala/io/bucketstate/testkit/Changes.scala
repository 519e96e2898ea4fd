package io.bucketstate.testkit

import java.util.UUID

import org.scalacheck.Gen

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogReader}
import io.bucketstate.checkpoint.io.BlockCodec
import io.bucketstate.checkpoint.records.RecordPlaces
import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ChangeSet,
  ChangeSink,
  FamilyChanges,
  FamilyDescriptor,
  FamilySpec,
  Record,
  RecordOp,
  Scans,
  TimeBuckets
}

/**
 * One write to be put into a change set; `value` None removes the key.
 *
 * @param appended whether the value is appended to what the key has
 */
final case class Write(
    bucket: Int,
    key: Seq[Byte],
    value: Option[Seq[Byte]],
    visible: Boolean = true,
    appended: Boolean = false
)

/** A record as read back. */
final case class Read(family: Int, op: Byte, key: Seq[Byte], value: Seq[Byte])

/** Change sets for tests, made and read back. */
object Changes {
  val CommitId: UUID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff")

  def header(version: Long, numBuckets: Int, codec: BlockCodec): ChangelogHeader =
    ChangelogHeader(version, CommitId, numBuckets, BucketAssigner.HashName, codec)

  def descriptor(id: Int): FamilyDescriptor =
    FamilyDescriptor(
      id,
      if (id == 0) "default" else s"family-$id",
      "compact-row/1",
      "compact-row/1"
    )

  /** The buckets of the records of such families. */
  def places(assigner: BucketAssigner, ids: Int*): RecordPlaces = new RecordPlaces(
    assigner,
    ids.map(id => FamilySpec(descriptor(id), BucketKey.Whole, Scans.Nothing))
  )

  def family(
      id: Int,
      buckets: Int,
      writes: Seq[Write],
      keys: Long = 0
  ): FamilyChanges = of(descriptor(id), buckets, writes, Some(keys))

  def of(
      of: FamilyDescriptor,
      buckets: Int,
      writes: Seq[Write],
      keys: Option[Long]
  ): FamilyChanges = new FamilyChanges {
    override def descriptor: FamilyDescriptor = of
    override def numBuckets: Int = buckets
    override def keyCount: Option[Long] = keys
    override def times: Option[TimeBuckets] = None
    override def foreach(sink: ChangeSink): Unit =
      writes.filter(w => w.visible || w.value.nonEmpty).sortBy(_.bucket).foreach { w =>
        val op =
          if (w.value.isEmpty) RecordOp.Remove
          else if (w.appended) RecordOp.Merge
          else RecordOp.Put
        sink(w.bucket, op, Record.of(w.key.toArray, w.value.getOrElse(Nil).toArray))
      }
  }

  /** @param families in the order of their numbers */
  def set(families: Seq[FamilyChanges]): ChangeSet = new ChangeSet(
    0,
    families.toIndexedSeq,
    families.iterator.map(_.descriptor.id + 1).maxOption.getOrElse(0)
  )

  /** What a reader must find of these writes. */
  def expected(id: Int, writes: Seq[Write]): Seq[Read] = writes.sortBy(_.bucket).collect {
    case Write(_, key, Some(value), _, true)  => Read(id, RecordOp.Merge, key, value)
    case Write(_, key, Some(value), _, false) => Read(id, RecordOp.Put, key, value)
    case Write(_, key, None, true, _)         => Read(id, RecordOp.Remove, key, Nil)
  }

  def readAll(reader: ChangelogReader): Seq[Read] = {
    val out = Seq.newBuilder[Read]
    reader.foreach { (block, op, buffer, offset, length) =>
      val record = buffer.slice(offset, offset + length)
      val (from, to) = (Record.keyStart(record), Record.keyEnd(record))
      out += Read(block.family, op, record.slice(from, to).toSeq, record.drop(to).toSeq)
    }
    out.result()
  }

  private def bytes(atMost: Int): Gen[Seq[Byte]] = for {
    size <- Gen.choose(0, atMost)
    same <- Gen.oneOf(true, false)
    seed <- Gen.long
  } yield {
    val random = new java.util.Random(seed)
    val array = new Array[Byte](size)
    if (!same) random.nextBytes(array)
    array.toSeq
  }

  def write(numBuckets: Int, maxValue: Int): Gen[Write] = for {
    bucket <- Gen.choose(0, numBuckets - 1)
    key <- bytes(200)
    value <- Gen.option(bytes(maxValue))
    visible <- Gen.frequency(4 -> true, 1 -> false)
    appended <- Gen.frequency(3 -> false, 1 -> true)
  } yield Write(bucket, key, value, visible, appended && value.isDefined)

  /** The number of buckets, and the writes of families 0, 3, 6... */
  val changeSets: Gen[(Int, Seq[(Int, Seq[Write])])] = for {
    buckets <- Gen.choose(1, 20)
    families <- Gen.choose(0, 3)
    maxValue <- Gen.oneOf(0, 40, 3000)
    writes <- Gen.listOfN(
      families,
      Gen.choose(0, 80).flatMap(Gen.listOfN(_, write(buckets, maxValue)))
    )
  } yield (buckets, writes.zipWithIndex.map { case (w, i) => (3 * i, w) })
}
