package io.bucketstate.move.read

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.checkpoint.recovery.VersionRecords
import io.bucketstate.record.{FamilySpec, Record}
import io.bucketstate.spark.rows.{RowListCodec, RowSpace}

/**
 * One column family of a partition in this project's files, as rows. Each row is good until the next one. Not thread-safe.
 *
 * @param evolving  the schemas by their numbers, where Spark lets those of values change
 * @param keysAlone whether nobody asks for values: a key that can have one alone has no row of it then, but null
 */
private[bucketstate] final class OwnFamily(
    store: SourceStore,
    family: SourceFamily,
    spec: FamilySpec,
    records: VersionRecords,
    evolving: Option[StateSchemaProvider],
    keysAlone: Boolean = false
) {
  import OwnFamily._

  private[this] val keys = new OwnKeys(family, spec)
  private[this] val codec =
    store.described(family, evolving.filter(_ => evolves(spec))).newRowCodec()
  private[this] val lists = new RowListCodec(codec, family.valueSchema.length)
  private[this] val space = new RowSpace(family.valueSchema.length)
  private[this] val buffer = records.newBuffer

  /** Every key. Throws `CorruptException` at the end where files say that there are others. */
  def all: Iterator[StateRow] = records.of(spec).map(rowOf)

  /** One key, if it is there. Not one of a bucket that [[inBuckets]] gave. */
  def of(key: UnsafeRow): Option[StateRow] = {
    keys.codec.encode(key, buffer)
    records.find(spec, buffer).map(rowOf)
  }

  /** The bucket of all keys whose first columns these are, or -1 if they may lie in several. */
  def bucketOf(first: UnsafeRow): Int =
    if (keys.codec.scansPrefixes) records.bucketOfPrefix(spec, keys.codec.encodePrefix(first))
    else -1

  /** Every key of some buckets, each of which may be asked for once. */
  def inBuckets(buckets: Iterator[Int]): Iterator[StateRow] =
    buckets.flatMap(records.of(spec, _)).map(rowOf)

  private def rowOf(record: Array[Byte]): StateRow = {
    val from = Record.keyEnd(record)
    val values =
      if (spec.multiValued) lists.all(record, from)
      else if (keysAlone) Iterator.single(null: UnsafeRow)
      else {
        val at = spec.rowAt(record, from)
        Iterator.single(codec.decode(record, at, record.length, space))
      }
    new StateRow(family, keys.codec.decode(record, keys.space), values)
  }
}

private[bucketstate] object OwnFamily {
  private val Evolving = Set(FamilyEncodings.EvolvingRow, FamilyEncodings.EvolvingRows)

  /** Whether values bear the number of the schema that they were written with. */
  def evolves(spec: FamilySpec): Boolean = Evolving(spec.descriptor.valueEncoding)
}
