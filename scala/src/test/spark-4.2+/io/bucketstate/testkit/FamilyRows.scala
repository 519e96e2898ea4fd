package io.bucketstate.testkit

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.Assertions

/** Column families with every key encoder of Spark's, with keys of a name and a time, and their rows. */
trait FamilyRows extends Assertions {
  import FamilyRows._

  protected val toKey: UnsafeProjection = UnsafeProjection.create(keySchema)
  protected val toName: UnsafeProjection = UnsafeProjection.create(StructType(keySchema.take(1)))
  protected val toTime: UnsafeProjection = UnsafeProjection.create(StructType(keySchema.drop(1)))
  protected val toValue: UnsafeProjection = UnsafeProjection.create(valueSchema)

  protected type Key = (String, Long)

  protected def row(projection: UnsafeProjection, fields: Any*): UnsafeRow = {
    val values = fields.map {
      case text: String => UTF8String.fromString(text)
      case other        => other
    }
    projection(new GenericInternalRow(values.toArray[Any])).copy()
  }

  protected def keyRow(key: Key): UnsafeRow = row(toKey, key._1, key._2)
  protected def valueRow(n: Int): UnsafeRow = row(toValue, n.toLong, s"value $n")
  protected def keyOf(row: UnsafeRow): Key = (row.getUTF8String(0).toString, row.getLong(1))
  protected def valueOf(row: UnsafeRow): Int = {
    val n = row.getLong(0).toInt
    assert(row.getUTF8String(1).toString == s"value $n")
    n
  }

  protected val names: Seq[String] = Seq("", "a", "b", "a somewhat longer name")
  protected val times: Seq[Long] = Seq(Long.MinValue, -5L, -1L, 0L, 1L, 256L, Long.MaxValue)
  protected val keys: Seq[(String, Long)] = for {
    name <- names
    time <- times
  } yield (name, time)

  /** By time alone, as far as Spark's encoder promises an order. */
  protected val byTime: Ordering[Key] = Ordering.by(_._2)

  protected val kinds: Seq[Kind] = Seq(Plain, Prefix, Range, First, Last)

  protected val families: Seq[Family] = for {
    kind <- kinds
    lists <- Seq(false, true)
  } yield Family(kind, lists)

  protected def withFamilies(body: (StateStoreProvider, StateStore) => Unit): Unit =
    ProviderHarness.withFolder { folder =>
      val provider = new ProviderHarness(folder, families = true).provider()
      val store = provider.getStore(0)
      families.foreach(_.make(store))
      try body(provider, store)
      finally {
        store.abort()
        provider.close()
      }
    }
}

object FamilyRows {
  val keySchema: StructType =
    new StructType().add("name", StringType).add("time", LongType, nullable = false)
  val valueSchema: StructType = new StructType().add("n", LongType).add("text", StringType)

  /** How a family's keys are encoded, and what can be asked of it. */
  sealed abstract class Kind(val name: String, val spec: KeyStateEncoderSpec)
  case object Plain extends Kind("plain", NoPrefixKeyStateEncoderSpec(keySchema))
  case object Prefix extends Kind("prefix", PrefixKeyScanStateEncoderSpec(keySchema, 1))
  case object Range extends Kind("range", RangeKeyScanStateEncoderSpec(keySchema, Seq(1)))
  case object First extends Kind("first", TimestampAsPrefixKeyStateEncoderSpec(keySchema))
  case object Last extends Kind("last", TimestampAsPostfixKeyStateEncoderSpec(keySchema))
  final case class Family(kind: Kind, lists: Boolean) {
    val name: String = s"${kind.name}-${if (lists) "lists" else "values"}"
    def make(store: StateStore): Unit = store.createColFamilyIfAbsent(
      name,
      keySchema,
      valueSchema,
      kind.spec,
      useMultipleValuesPerKey = lists,
      isInternal = kind == First
    )
  }
}
