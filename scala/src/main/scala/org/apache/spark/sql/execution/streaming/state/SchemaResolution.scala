package org.apache.spark.sql.execution.streaming.state

import java.io.ByteArrayOutputStream

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter}
import org.apache.avro.io.{BinaryDecoder, BinaryEncoder, DecoderFactory, EncoderFactory}
import org.apache.spark.sql.avro.{AvroDeserializer, AvroOptions, AvroSerializer, SchemaConverters}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

/**
 * Rows of one schema as rows of another, by Avro's schema resolution: fields by name, numbers wider, null for
 * a field that was not there. With the Avro schemas by which Spark says whether the one may follow the other,
 * but for elements of arrays and values of maps, which may be null here; Spark's own encoding fails for these
 * when it writes them.
 *
 * Not thread-safe.
 */
final class SchemaResolution(from: StructType, to: StructType) {
  import SchemaResolution._

  private[this] val written = avroOf(from)
  private[this] val read = avroOf(to)
  private[this] val serializer = new AvroSerializer(from, written, nullable = false)
  private[this] val deserializer = {
    val options = AvroOptions(Map.empty)
    new AvroDeserializer(
      read,
      to,
      options.datetimeRebaseModeInRead,
      options.useStableIdForUnionType,
      options.stableIdPrefixForUnionType,
      options.recursiveFieldMaxDepth
    )
  }
  private[this] val writer = new GenericDatumWriter[Any](written)
  private[this] val reader = new GenericDatumReader[Any](written, read)
  private[this] val projection = UnsafeProjection.create(to)
  private[this] val out = new ByteArrayOutputStream
  private[this] var encoder: BinaryEncoder = _
  private[this] var decoder: BinaryDecoder = _

  /** The row, good until the next one. */
  def apply(row: UnsafeRow): UnsafeRow = {
    out.reset()
    encoder = EncoderFactory.get().directBinaryEncoder(out, encoder)
    writer.write(serializer.serialize(row), encoder)
    decoder = DecoderFactory.get().binaryDecoder(out.toByteArray, decoder)
    val resolved = deserializer.deserialize(reader.read(null, decoder))
    projection(resolved.get.asInstanceOf[InternalRow])
  }
}

private object SchemaResolution {
  private val Null = Schema.create(Schema.Type.NULL)

  private def avroOf(schema: StructType): Schema =
    withNulls(SchemaConverters.toAvroTypeWithDefaults(schema))

  /** The schema with elements and values that may be null. */
  private def withNulls(schema: Schema): Schema = schema.getType match {
    case Schema.Type.RECORD =>
      val fields = schema.getFields.asScala.map { field =>
        new Schema.Field(field.name, withNulls(field.schema), field.doc, field.defaultVal)
      }
      val same = Schema.createRecord(schema.getName, schema.getDoc, schema.getNamespace, false)
      same.setFields(fields.asJava)
      same
    case Schema.Type.UNION => Schema.createUnion(schema.getTypes.asScala.map(withNulls).asJava)
    case Schema.Type.ARRAY => Schema.createArray(orNull(withNulls(schema.getElementType)))
    case Schema.Type.MAP   => Schema.createMap(orNull(withNulls(schema.getValueType)))
    case _                 => schema
  }

  private def orNull(schema: Schema): Schema =
    if (schema.isNullable) schema else Schema.createUnion(Null, schema)
}
