package io.bucketstate.spark.rows

import java.nio.file.{Files, Path, Paths}
import java.util.HexFormat

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.{BucketAssigner, FamilyDescriptor, RecordBuffer}

/**
 * The keys that are kept as a golden file of their encodings: where each lies and as which bytes. The
 * checkpoint reader in Python, which computes both to look a key up, is held to the same file.
 *
 * Values stand there as rows have them (times as numbers, decimals unscaled), but for fractions and
 * decimals, which are text, and bytes, which are hex.
 */
private[rows] object GoldenKeys {
  private val file: Path = Paths.get("tests/golden/v1/keys.json")
  private val content = new ObjectMapper().readTree(file.toFile)
  private val assigner = new BucketAssigner(content.get("numBuckets").asInt)
  private val hex = HexFormat.of

  /** All that this Spark has the types of. */
  val families: Seq[Family] = content
    .get("families")
    .asScala
    .filterNot(json =>
      SparkTypes.missing.exists(name => json.get("schema").toString.contains(s"\"$name\""))
    )
    .map(new Family(_))
    .toSeq

  /** Where a key lies, and what it is called in a run. */
  final case class Place(bucket: Int, entry: String)

  /** A column family, and keys of it. */
  final class Family(json: JsonNode) {
    val id: Int = json.get("id").asInt
    val encoding: String = json.get("encoding").asText
    val schema: StructType = DataType.fromJson(json.get("schema").toString).asInstanceOf[StructType]
    val keys: Seq[Key] = json.get("keys").asScala.map(new Key(this, _)).toSeq

    /** The encodings that every Spark has; of others the suite knows Spark's specification. */
    def spec: Option[KeyStateEncoderSpec] = encoding match {
      case "compact-row/1"             => Some(NoPrefixKeyStateEncoderSpec(schema))
      case s"spark-prefix-scan/$n"     => Some(PrefixKeyScanStateEncoderSpec(schema, n.toInt))
      case s"spark-range-scan/$fields" =>
        Some(RangeKeyScanStateEncoderSpec(schema, fields.split(',').toSeq.map(_.toInt)))
      case _ => None
    }

    override def toString: String = s"$encoding of ${schema.simpleString}"
  }

  final class Key(family: Family, json: JsonNode) {
    val values: JsonNode = json.get("values")
    def expected: Place = Place(json.get("bucket").asInt, json.get("entry").asText)

    def row: UnsafeRow = {
      val fields = rowOf(family.schema, values)
      UnsafeProjection.create(family.schema)(fields).copy()
    }
  }

  /** What the provider makes of a family's keys; with it a key, encoded, is the same key again. */
  final class Encoded(family: Family, spec: KeyStateEncoderSpec) {
    val encoding: String = KeyCodecs.name(spec)
    private val descriptor =
      FamilyDescriptor(family.id, "golden", encoding, FamilyEncodings.CompactRow, false)
    private val bucketKey = FamilyEncodings.specOf("The golden file", descriptor).bucketKey
    private val codec =
      KeyCodecs.forSpec("keys", spec, new StructType().add("v", NullType), bucketKey)
    private val buffer = new RecordBuffer(assigner)

    def place(key: UnsafeRow): Place = {
      codec.encode(key, buffer)
      val bytes = new Array[Byte](buffer.keyBytes)
      buffer.copyKey(bytes, 0)
      Place(buffer.bucket, hex.formatHex(RunFormat.keyOf(family.id, buffer.bucket, bytes)))
    }

    def again(key: UnsafeRow): UnsafeRow = {
      codec.encode(key, buffer)
      codec.decode(buffer.toKeyRecord, new RowSpace(codec.numFields)).copy()
    }
  }

  /** Rewrites the file with the places that `specOf` leads to; is to be run for new keys alone. */
  def write(specOf: Family => Option[KeyStateEncoderSpec]): Unit = {
    val mapper = new ObjectMapper
    val written = families.zip(content.get("families").asScala).map { case (family, json) =>
      val encoded = specOf(family).map(new Encoded(family, _))
      val keys = family.keys.map { key =>
        val place = encoded.fold(key.expected)(_.place(key.row))
        s"""        {"values": ${key.values}, "bucket": ${place.bucket},\n         "entry": "${place.entry}"}"""
      }
      val told = s""""id": ${family.id}, "encoding": "${family.encoding}""""
      val schema = mapper.writeValueAsString(json.get("schema"))
      s"""    {$told,\n      "schema": $schema,\n      "keys": [\n${keys.mkString(
          ",\n"
        )}\n      ]}"""
    }
    val all = written.mkString("  \"families\": [\n", ",\n", "\n  ]")
    val _ = Files.writeString(file, s"{\n  \"numBuckets\": ${assigner.numBuckets},\n$all\n}\n")
  }

  private def rowOf(schema: StructType, values: JsonNode): InternalRow = new GenericInternalRow(
    schema.fields.zip(values.asScala).map { case (field, value) => valueOf(field.dataType, value) }
  )

  private def valueOf(dataType: DataType, value: JsonNode): Any = dataType match {
    case _ if value.isNull                           => null
    case BooleanType                                 => value.asBoolean
    case ByteType                                    => value.asInt.toByte
    case ShortType                                   => value.asInt.toShort
    case IntegerType | DateType                      => value.asInt
    case _: YearMonthIntervalType                    => value.asInt
    case LongType | TimestampType | TimestampNTZType => value.asLong
    case _: DayTimeIntervalType                      => value.asLong
    case time if SparkTypes.isTimeOfDay(time)        => value.asLong
    case FloatType                                   => value.asText.toFloat
    case DoubleType                                  => value.asText.toDouble
    case StringType                                  => UTF8String.fromString(value.asText)
    case BinaryType                                  => hex.parseHex(value.asText)
    case d: DecimalType                              =>
      Decimal(BigDecimal(BigInt(value.asText), d.scale), d.precision, d.scale)
    case ArrayType(of, _)   => new GenericArrayData(value.asScala.map(valueOf(of, _)).toArray[Any])
    case struct: StructType => rowOf(struct, value)
    case other              => throw new IllegalArgumentException(s"no value of $other is known")
  }
}
