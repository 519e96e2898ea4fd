package io.bucketstate.spark.rows

import java.util.HashMap

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{
  SchemaResolution,
  StateSchemaMetadataKey,
  StateSchemaProvider
}
import org.apache.spark.sql.types.StructType

import io.bucketstate.error.CorruptException
import io.bucketstate.record.Record

/**
 * Rows whose schema may change while they are kept: `varint(schema id) | row`, the row as
 * [[CompactRowCodec]] lays out the schema of that id. A row of an older id becomes one of the newest schema
 * when it is read; in the state it stays as it is until it is written again.
 *
 * It takes the place of Spark's Avro encoding, for which Spark keeps the schemas by their ids and says which
 * changes are allowed. What a change does to a row is Avro's schema resolution: but for rows of older ids
 * alone, because through Avro a row takes some microseconds.
 *
 * Not thread-safe: one per store, because rows of older ids are decoded into the same bytes.
 *
 * @param schema  of the rows that are written, and that all are read as
 * @param schemas of the family by their ids
 */
private[spark] final class EvolvingRowCodec(
    family: String,
    schema: StructType,
    schemas: StateSchemaProvider
) extends RowCodec {
  import EvolvingRowCodec._

  private[this] val rows = new CompactRowCodec(schema, RowShape.valuesOf(family))
  private[this] val older = new HashMap[Int, OlderRows]

  // Asked for late: Spark knows no schema of a family that nobody uses.
  private[this] var newest = Unknown
  private[this] var idSize = 0

  override def maxSize(row: UnsafeRow): Int = MaxIdSize + rows.maxSize(row)

  override def encode(row: UnsafeRow, target: Array[Byte], offset: Int): Int = {
    if (newest == Unknown) readNewest()
    rows.encode(row, target, Record.putVarint(target, offset, newest))
  }

  override def decode(source: Array[Byte], offset: Int, end: Int, row: UnsafeRow): UnsafeRow = {
    val id = idOf(source, offset, end)
    if (id == newest) rows.decode(source, offset + idSize, end, row)
    else olderRows(id).decode(source, offset + Record.varintSize(id), end).copy()
  }

  override def decode(source: Array[Byte], offset: Int, end: Int, space: RowSpace): UnsafeRow = {
    val id = idOf(source, offset, end)
    if (id == newest) rows.decode(source, offset + idSize, end, space)
    else space.hold(olderRows(id).decode(source, offset + Record.varintSize(id), end))
  }

  private def readNewest(): Unit = {
    newest = schemas.getCurrentStateSchemaId(family, isKey = false).toInt
    idSize = Record.varintSize(newest)
  }

  private def idOf(source: Array[Byte], offset: Int, end: Int): Int = {
    if (newest == Unknown) readNewest()
    val id = Record.varint(source, offset, end)
    if (id < 0 || id > Short.MaxValue) throw unknown("no schema id is in front of it")
    id
  }

  private def olderRows(id: Int): OlderRows = {
    val known = older.get(id)
    if (known != null) known
    else {
      val key = StateSchemaMetadataKey(family, id.toShort, isKey = false)
      val before =
        try schemas.getSchemaMetadataValue(key).sqlSchema
        catch {
          case cause: NoSuchElementException =>
            throw unknown(s"its schema id is $id, and Spark has no such schema of it", cause)
        }
      val found = new OlderRows(family, before, schema)
      older.put(id, found)
      found
    }
  }

  private def unknown(what: String, cause: Throwable = null) = new CorruptException(
    s"A row of the state variable '$family'",
    what,
    "The schemas are in the checkpoint's folder state/<operator>/_stateSchema: restore the files that are " +
      "missing there, or start from a new checkpoint location.",
    cause
  )
}

private object EvolvingRowCodec {
  private final val Unknown = -1

  /** Spark's ids are shorts. */
  private final val MaxIdSize = 3
}

/** Rows of an older schema: decoded as that, then resolved to the newest. */
private final class OlderRows(family: String, schema: StructType, newest: StructType) {
  private[this] val rows = new CompactRowCodec(schema, RowShape.valuesOf(family))
  private[this] val row = new UnsafeRow(schema.length)
  private[this] val resolution = new SchemaResolution(schema, newest)

  /** The row, good until the next one. */
  def decode(source: Array[Byte], offset: Int, end: Int): UnsafeRow =
    resolution(rows.decode(source, offset, end, row))
}
