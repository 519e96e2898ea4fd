package io.bucketstate.table

import java.util.Arrays

import io.bucketstate.record.{BucketAssigner, FamilySpec, Record, RecordBuffer}
import io.bucketstate.table.cold.{FamilyBuckets, TableLoading}

/**
 * Looks several keys up together: those of buckets that are not whole side by side, in the order in which files have
 * them, so that neighbours share what is read (Apex's `getAsync` and its readers). Any thread.
 */
private[table] final class FamilyLookups(
    spec: FamilySpec,
    assigner: BucketAssigner,
    buckets: FamilyBuckets,
    loading: TableLoading,
    get: (RecordBuffer, Long) => Array[Byte]
) {
  import FamilyLookups._

  /** The records of these keys at a version, null for those that are not there. */
  def all(keys: Array[Array[Byte]], at: Long): Array[Array[Byte]] = {
    val records = new Array[Array[Byte]](keys.length)
    val key = new RecordBuffer(assigner)
    val inPart = Array.newBuilder[Wanted]
    keys.indices.foreach { i =>
      key.keyOf(keys(i), 0, spec.bucketKey)
      if (isWhole(key.bucket)) records(i) = get(key, at)
      else inPart += new Wanted(i, key.bucket, keys(i))
    }
    val wanted = inPart.result()
    Arrays.sort(wanted.asInstanceOf[Array[AnyRef]])
    val parts = (wanted.length + Together - 1) / Together
    loading.together(parts) { part =>
      val own = new RecordBuffer(assigner)
      (part * Together until Math.min(wanted.length, (part + 1) * Together)).foreach { n =>
        own.keyOf(wanted(n).key, 0, spec.bucketKey)
        records(wanted(n).place) = get(own, at)
      }
    }
    records
  }

  private def isWhole(number: Int): Boolean = {
    val bucket = buckets.loaded(number)
    bucket != null && bucket.capture().isWhole
  }
}

private object FamilyLookups {

  /** Keys that one thread looks up before it asks for more: enough that handing them out costs little beside them. */
  private final val Together = 32

  private final class Wanted(val place: Int, val bucket: Int, val key: Array[Byte])
      extends Comparable[Wanted] {

    override def compareTo(other: Wanted): Int =
      if (bucket != other.bucket) Integer.compare(bucket, other.bucket)
      else Record.compareKeys(key, other.key)
  }
}
