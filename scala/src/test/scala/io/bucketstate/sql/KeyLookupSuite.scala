package io.bucketstate.sql

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  GenericInternalRow,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, Literal}
import org.apache.spark.sql.execution.streaming.state.{
  NoPrefixKeyStateEncoderSpec,
  PrefixKeyScanStateEncoderSpec,
  StateStoreColFamilySchema,
  StateStoreConf
}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.move.place.{Deciding, Placer}
import io.bucketstate.move.read.{SourceFamily, SourceStore}
import io.bucketstate.testkit.{Seeds, TidySuite}

/** What is read for filters has every key that they leave, whatever they are and wherever keys lie. */
class KeyLookupSuite extends TidySuite {
  import KeyLookupSuite._

  test("every key that filters leave is read") {
    for (seed <- 0 until Seeds.of(80, 8000)) {
      val random = new Random(seed)
      val all =
        Seq(Deciding.Whole, Deciding.AllButLast, Deciding.Columns(Deciding.Whole, Seq(1)))
      val deciding = all(random.nextInt(all.size))
      val prefix = random.nextInt(3)
      val read = stateOf(deciding, prefix, isPlaced = random.nextInt(5) > 0)
      val filters = Seq.fill(1 + random.nextInt(4))(Filter.any(random))
      val pins = filters.flatMap(f => KeyPin.of(f.predicate, read))
      val found = new KeyLookup(read, pins).partitions
      val placer = new Placer(deciding, Key, Partitions)
      assert(found.map(_.partition).distinct.size == found.size)
      for (key <- Keys if filters.forall(_.holds(key))) {
        val partition = placer(rowOf(key, Key.length))
        val looks =
          if (read.isPlaced) found.filter(_.partition == partition)
          else if (found.size == Partitions) found
          else Nil
        def holds(look: Look) = look match {
          case Look.Everything       => true
          case Look.Keys(rows)       => rows.contains(rowOf(key, Key.length))
          case Look.Beginnings(rows) => rows.contains(rowOf(key, prefix))
        }
        val said = filters.map(_.predicate).mkString(" AND ")
        assert(looks.nonEmpty && looks.forall(one => holds(one.look)), s"$seed: $key, $said")
      }
    }
  }

  test(
    "a key that is named is the only one that is read, and where it may lie elsewhere, everywhere"
  ) {
    val filters = Seq(Filter.equal(0, "a"), Filter.equal(1, 1L), Filter.equal(2, 0))
    for ((isPlaced, partitions) <- Seq(true -> 1, false -> Partitions)) {
      val read = stateOf(Deciding.Whole, 0, isPlaced)
      val pins = filters.flatMap(f => KeyPin.of(f.predicate, read))
      val found = new KeyLookup(read, pins).partitions
      assert(found.map(_.look).toSet == Set(Look.Keys(Seq(rowOf(Seq[Any]("a", 1L, 0), 3)))))
      assert(found.size == partitions)
    }
  }

  test("a key with a struct without fields is never known as a whole") {
    val nested = "user string, s struct<n: long, e: struct<>>"
    for (ddl <- Seq("user string, e struct<>", "e struct<>, user string", nested)) {
      val key = StructType.fromDDL(ddl)
      val at = key.fieldIndex("user")
      for (prefix <- 0 to 1) {
        val read = stateOf(Deciding.Whole, prefix, isPlaced = true, key)
        val pins = KeyPin.of(Filter.equal(0, "a").predicate, read).toSeq
        assert(pins.map(_.path) == Seq(Seq(at)))
        val looks = new KeyLookup(read, pins).partitions.map(_.look)
        assert(looks.size == Partitions)
        def first: UnsafeRow = rowOf(Seq("a"), 1)
        val expected = if (prefix > at) Look.Beginnings(Seq(first)) else Look.Everything
        assert(looks.forall(_ == expected), s"$ddl with $prefix")
      }
    }
  }

  test("lists whose products are too many are no look-up") {
    val read = stateOf(Deciding.Whole, 0, isPlaced = true)
    val pins = Seq(
      Filter.in(0, Seq.tabulate(100)(n => s"u$n")),
      Filter.in(1, Seq.tabulate(100)(_.toLong)),
      Filter.in(2, Seq.tabulate(2)(identity))
    ).flatMap(f => KeyPin.of(f.predicate, read))
    val all = (0 until Partitions).map(PartitionLookup(_, Look.Everything))
    assert(pins.size == 3 && new KeyLookup(read, pins).partitions == all)
    val fewer = new KeyLookup(read, pins.updated(2, pins(2).copy(values = Seq(1)))).partitions
    assert(fewer.map(_.look).collect { case Look.Keys(rows) => rows.size }.sum == KeyLookup.Most)
    val none = pins.updated(2, pins(2).copy(values = Nil))
    assert(new KeyLookup(read, none).partitions.isEmpty)
  }
}

private object KeyLookupSuite {
  private final val Partitions = 5
  private val Key = StructType.fromDDL("user string, n long, m int")
  private val Value = StructType.fromDDL("v long")

  private val Keys: Seq[Seq[Any]] =
    for {
      u <- Seq[Any](null, "a", "b")
      n <- Seq[Any](null, 0L, 1L)
      m <- Seq[Any](null, 0, 1)
    } yield Seq(u, n, m)

  private def stateOf(
      deciding: Deciding,
      prefix: Int,
      isPlaced: Boolean,
      key: StructType = Key
  ): StateRead = {
    val schema = StateStoreColFamilySchema("default", 0, key, 0, Value)
    val spec =
      if (prefix == 0) NoPrefixKeyStateEncoderSpec(key)
      else PrefixKeyScanStateEncoderSpec(key, prefix)
    val family = SourceFamily(schema, spec, false, false, deciding)
    val store = SourceStore(0, "stateStoreSave", "default", Seq(family), family, Nil, None)
    val columns = Seq(
      StateColumn.key("key", key, Cut.All),
      StateColumn.value("value", Value, Cut.All),
      StateColumn.Partition
    )
    StateRead(
      "file:/x",
      0,
      true,
      store,
      family,
      Partitions,
      isPlaced,
      StateStoreConf.empty,
      columns
    )
  }

  private def inRow(value: Any): Any = value match {
    case text: String => UTF8String.fromString(text)
    case other        => other
  }

  /** To rows of so many first columns. */
  private val projections = (0 to Key.length).map { columns =>
    UnsafeProjection.create(Key.fields.toSeq.take(columns).zipWithIndex.map { case (f, i) =>
      BoundReference(i, f.dataType, nullable = true)
    })
  }

  private def rowOf(key: Seq[Any], columns: Int): UnsafeRow =
    projections(columns)(new GenericInternalRow(key.map(inRow).toArray)).copy()

  /** A filter as Spark pushes it down, and what it means. */
  private final case class Filter(predicate: Predicate, holds: Seq[Any] => Boolean)

  private object Filter {
    private def field(i: Int): Expression = Expressions.column(s"key.${Key(i).name}")

    private def literal(i: Int, value: Any): Expression =
      new Constant(inRow(value), Key(i).dataType)

    private def of(name: String, children: Expression*)(holds: Seq[Any] => Boolean): Filter =
      Filter(new Predicate(name, children.toArray), holds)

    def equal(i: Int, value: Any): Filter =
      of("=", field(i), literal(i, value))(key => key(i) != null && key(i) == value)

    def in(i: Int, values: Seq[Any]): Filter =
      of("IN", field(i) +: values.map(literal(i, _)): _*) { key =>
        key(i) != null && values.contains(key(i))
      }

    def any(random: Random): Filter = {
      val i = random.nextInt(Key.length)
      def value(): Any = Keys(1 + random.nextInt(Keys.size - 1))(i) match {
        case null  => Seq[Any]("a", 0L, 0)(i)
        case other => other
      }
      val (a, b) = (value(), value())
      random.nextInt(9) match {
        case 0 | 1 | 2 => equal(i, a)
        case 3         => of("=", literal(i, a), field(i))(key => key(i) == a)
        case 4         => in(i, Seq(a, null, b))
        case 5         =>
          val other = if (random.nextBoolean()) null else a
          of("<=>", field(i), literal(i, other))(key => key(i) == other)
        case 6 => of("IS_NULL", field(i))(key => key(i) == null)
        // A field among the values, and what says nothing of one alone.
        case 7 =>
          of("IN", literal(i, a), field(i), literal(i, b))(key => key(i) == a || a == b)
        case _ =>
          val (one, other) = (equal(i, a), any(random))
          of("OR", one.predicate, other.predicate)(key => one.holds(key) || other.holds(key))
      }
    }
  }

  private final class Constant(what: Any, of: DataType) extends Literal[Any] {
    override def value(): Any = what

    override def dataType(): DataType = of

    override def toString: String = String.valueOf(what)
  }
}
