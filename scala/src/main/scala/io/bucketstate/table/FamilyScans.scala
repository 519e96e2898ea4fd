package io.bucketstate.table

import java.util.{Iterator => JIterator}

import io.bucketstate.record.{BucketAssigner, FamilySpec, KeyRange, RecordBuffer}
import io.bucketstate.table.bucket.SlotArrays
import io.bucketstate.table.cold.{FamilyBuckets, FamilyCold, TableLoading}
import io.bucketstate.table.index.{Cell, FamilyIndex}
import io.bucketstate.table.scan.{
  CellCursor,
  CellScan,
  KeyCursor,
  KeyOrderScan,
  OpenScans,
  PartialCursor,
  RecordScan
}
import io.bucketstate.table.version.Versions

/** Scans of a family by a part of its keys, which has an index in each bucket. Any thread. */
private[table] final class FamilyScans(
    spec: FamilySpec,
    assigner: BucketAssigner,
    buckets: FamilyBuckets,
    cold: FamilyCold,
    versions: Versions,
    loading: TableLoading,
    open: OpenScans
) {

  def prefixed(prefix: Array[Byte], at: Long): RecordScan = {
    val bucket = spec.bucketKey.ofPrefix(prefix, assigner)
    scan(new Wanted(KeyRange.ofPrefix(prefix), prefix), bucket, at)
  }

  def ranged(from: Array[Byte], until: Array[Byte], at: Long): RecordScan =
    scan(
      new Wanted(new KeyRange(from, until), null),
      spec.bucketKey.ofRange(from, until, assigner),
      at
    )

  /** @param bucket the one that has all, or -1 */
  private def scan(wanted: Wanted, bucket: Int, at: Long): RecordScan = {
    val isOpen = at > versions.newest
    val gone = if (isOpen) versions.relative(versions.oldest) else -1
    val own = if (isOpen) open else null
    val version = versions.relative(at)
    if (bucket >= 0) {
      buckets.use(bucket, version)
      val arrays = buckets.touched(bucket).capture()
      if (arrays.isWhole)
        new CellScan(arrays.index, wanted.cells(arrays.index), version, own, gone).begun()
      else
        new KeyOrderScan(Seq(partial(wanted, bucket, arrays)), version, own, gone).begun()
    } else {
      new KeyOrderScan(cursors(wanted, buckets.allTouched.map(_.capture())), version, own, gone)
        .begun()
    }
  }

  private def cursors(wanted: Wanted, captured: IndexedSeq[SlotArrays]): Seq[KeyCursor] = {
    val inPart = captured.indices.filterNot(captured(_).isWhole)
    val partials = new Array[KeyCursor](inPart.size)
    loading.together(inPart.size) { i =>
      val number = inPart(i)
      partials(i) = partial(wanted, number, captured(number))
    }
    partials.toSeq ++ captured.filter(a => a.isWhole && !a.index.isEmpty).map { arrays =>
      new CellCursor(arrays.index, wanted.cellsInOrder(arrays.index))
    }
  }

  private def partial(wanted: Wanted, number: Int, arrays: SlotArrays): KeyCursor = {
    val key = new RecordBuffer(assigner)
    def known(record: Array[Byte]): AnyRef = {
      key.keyOf(record, 0, spec.bucketKey)
      val head = arrays.head(key)
      if (head == null) record else head
    }
    new PartialCursor(
      wanted.cellsInOrder(arrays.index),
      wanted.keys,
      (keys, most) => cold.range(number, keys, most, known)
    )
  }

  /** @param prefix of all keys wanted, null if they have none */
  private final class Wanted(val keys: KeyRange, prefix: Array[Byte]) {

    def cells(index: FamilyIndex): JIterator[Cell] =
      if (prefix == null) index.ranged(keys) else index.prefixed(prefix)

    def cellsInOrder(index: FamilyIndex): JIterator[Cell] =
      if (prefix == null) index.ranged(keys) else index.prefixedInOrder(prefix)
  }
}
