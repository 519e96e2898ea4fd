package io.bucketstate.move.write

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider

import io.bucketstate.move.read.{OwnKeys, SourceFamily, SourceStore}
import io.bucketstate.record.{BucketAssigner, FamilySpec, RecordBuffer}
import io.bucketstate.spark.rows.RowListCodec

/** Rows of one family as the places and values of records in a store of this project. Not thread-safe. */
private[move] final class RecordMaker(
    store: SourceStore,
    family: SourceFamily,
    spec: FamilySpec,
    evolving: Option[StateSchemaProvider],
    buffer: RecordBuffer
) {
  private[this] val keys = new OwnKeys(family, spec)
  private[this] val rows = store.described(family, evolving).newRowCodec()
  private[this] val lists = new RowListCodec(rows, family.valueSchema.length)

  def apply(
      partition: Int,
      key: UnsafeRow,
      values: Array[UnsafeRow]
  ): (Array[Byte], Array[Byte]) = {
    keys.codec.encode(key, buffer)
    if (spec.multiValued) lists.encodeAll(values, buffer)
    else {
      val space = buffer.valueSpace(rows.maxSize(values.head))
      buffer.valueDone(rows.encode(values.head, space, buffer.keyEnd))
    }
    (RecordMaker.place(partition, spec.id, buffer), buffer.toValue)
  }
}

private[move] object RecordMaker {

  /** The place of the record in the buffer. */
  def place(partition: Int, family: Int, buffer: RecordBuffer): Array[Byte] = {
    val place = new Array[Byte](Place.Header + buffer.keyBytes)
    Place.put(place, partition, family, buffer.bucket)
    buffer.copyKey(place, Place.Header)
    place
  }

  def buffer(numBuckets: Int): RecordBuffer = new RecordBuffer(new BucketAssigner(numBuckets))
}
