package io.bucketstate.move.upsert

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.streaming.state.StateStoreColFamilySchema
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{LogText, OperatorEntry}
import io.bucketstate.move.place.Deciding
import io.bucketstate.move.read.{SourceFamily, SourceOperator, SourceStore}
import io.bucketstate.testkit.ProviderHarness.plainKeys
import io.bucketstate.testkit.TidySuite

/** How columns are found by their names, in all the forms in which a state comes out of a checkpoint. */
class FrameColumnsSuite extends TidySuite {
  import FrameColumnsSuite._

  private val key = new StructType().add("k", LongType).add("s", StringType)
  private val sums = new StructType()
    .add("n", LongType, nullable = false)
    .add("sum", LongType)
    .add("sum", DoubleType)

  private def operator(
      name: String,
      value: StructType,
      key: StructType = key,
      families: Seq[String] = Seq("default"),
      variables: String = ""
  ): SourceOperator = {
    val text =
      s"""v1
         |{"operatorInfo":{"operatorId":0,"operatorName":"$name"},"stateStoreInfo":[{"storeName":"default","numPartitions":1,"numColsPrefixKey":0}]$variables}""".stripMargin
    val damage = new Damage("metadata", "metadata")
    val entry = OperatorEntry.of("metadata", LogText.parse(text.getBytes, damage), damage)
    val all = families.map { family =>
      val schema = StateStoreColFamilySchema(family, 0, key, 0, value)
      SourceFamily(schema, plainKeys, false, false, Deciding.Whole)
    }
    SourceOperator(entry, Seq(SourceStore(0, name, "default", all, all.head, Nil, None)))
  }

  private val aggregation = operator("stateStoreSave", sums)

  private def read(frame: StructType, of: SourceOperator, row: Any*): (Seq[Any], Seq[Any]) = {
    val shape = FrameColumns.of(frame, of)
    val internal = InternalRow.fromSeq(row.map(inner))
    assert(shape.refused.forall { case (condition, _) => condition.eval(internal) != true })
    val family = of.stores.head.families.head
    (
      UnsafeProjection.create(shape.keys)(internal).copy().toSeq(family.keySchema),
      UnsafeProjection.create(shape.values)(internal).copy().toSeq(family.valueSchema)
    )
  }

  private def inner(value: Any): Any = value match {
    case text: String   => UTF8String.fromString(text)
    case fields: Seq[_] => InternalRow.fromSeq(fields.map(inner))
    case other          => other
  }

  private val expected = (Seq[Any](1L, UTF8String.fromString("a")), Seq[Any](2L, 3L, 4.0))
  private val named =
    new StructType().add("n", LongType).add("sum", LongType).add("sum_2", DoubleType)

  test("plain columns, in any order") {
    val frame = StructType(named.fields.reverse ++ key.fields.reverse)
    assert(read(frame, aggregation, 4.0, 3L, 2L, "a", 1L) == expected)
  }

  test("key and value as structs, as scans and Spark's state reader have them") {
    for (value <- Seq(named, sums)) {
      val frame =
        new StructType().add("key", key).add("value", value).add("partition_id", IntegerType)
      assert(read(frame, aggregation, Seq[Any](1L, "a"), Seq[Any](2L, 3L, 4.0), 0) == expected)
    }
    val half = StructType(StructField("key", key) +: named.fields)
    assert(read(half, aggregation, Seq[Any](1L, "a"), 2L, 3L, 4.0) == expected)
  }

  test("columns that are called key.k and value.n, as flat frames have them") {
    val frame = StructType(
      key.fields.map(f => f.copy(name = s"key.${f.name}")) ++ named.fields.map(f =>
        f.copy(name = s"value.${f.name}")
      )
    )
    assert(read(frame, aggregation, 1L, "a", 2L, 3L, 4.0) == expected)
  }

  test("a name that is the key's, too, and keys that are called key") {
    val count = new StructType().add("count", LongType)
    val same = operator("stateStoreSave", count, key = count)
    val frame = new StructType().add("count", LongType).add("value.count", LongType)
    assert(read(frame, same, 1L, 2L) == ((Seq(1L), Seq(2L))))
    assertThrows[InvalidException](FrameColumns.of(count, same))
    val struct = new StructType().add("key", new StructType().add("k", LongType))
    val odd = operator("stateStoreSave", count, key = struct)
    assert(read(struct.add("count", LongType), odd, Seq(1L), 2L)._2 == Seq(2L))
  }

  test("aggregations have one zero") {
    val doubles = new StructType().add("d", DoubleType)
    val frame = doubles.add("n", LongType)
    val n = new StructType().add("n", LongType)
    val zero = read(frame, operator("stateStoreSave", n, doubles), -0.0, 1L)._1.head
    assert(java.lang.Double.doubleToRawLongBits(zero.asInstanceOf[Double]) == 0L)
    val other = read(frame, operator("dedupeWithinWatermark", n, doubles), -0.0, 1L)._1.head
    assert(java.lang.Double.doubleToRawLongBits(other.asInstanceOf[Double]) != 0L)
  }

  test("deduplications have no values") {
    val none = new StructType().add("__dummy__", NullType)
    assert(read(key, operator("dedupe", none), 1L, "a") == ((expected._1, Seq(null))))
  }

  private val counts = new StructType().add("seen", LongType).add("total", LongType)

  private def grouped(state: StructType, times: Boolean): SourceOperator = {
    val value = new StructType().add("groupState", state)
    operator(
      "applyInPandasWithState",
      if (times) value.add("timeoutTimestamp", LongType, nullable = false) else value
    )
  }

  test("the state of a group: as it is kept, as a struct, and as its fields") {
    val of = grouped(counts, times = true)
    def state(values: (Seq[Any], Seq[Any])) = {
      val group = values._2.head.asInstanceOf[InternalRow]
      (group.getLong(0), group.getLong(1), values._2(1))
    }
    val kept =
      new StructType().add("key", key).add("value", of.stores.head.families.head.valueSchema)
    assert(state(read(kept, of, Seq[Any](1L, "a"), Seq[Any](Seq(2L, 3L), 77L))) == ((2L, 3L, 77L)))
    assert(state(read(key.add("state", counts), of, 1L, "a", Seq(2L, 3L))) == ((2L, 3L, -1L)))
    val fields = StructType(key.fields ++ counts.fields)
    assert(state(read(fields, of, 1L, "a", 2L, 3L)) == ((2L, 3L, -1L)))
    assert(read(fields, grouped(counts, times = false), 1L, "a", 2L, 3L)._2.size == 1)
  }

  private val document =
    new StructType().add("version", IntegerType).add("timeout", LongType).add("state", StringType)

  test("documents of stateful functions, with their version and timeout or without") {
    val of = grouped(document, times = true)
    val plain = key.add("state", StringType)
    val group = read(plain, of, 1L, "a", "{}")._2.head.asInstanceOf[InternalRow]
    assert((group.getInt(0), group.getLong(1), group.getUTF8String(2).toString) == ((1, -1L, "{}")))
    val (_, timed) =
      read(plain.add("timeout", LongType).add("version", IntegerType), of, 1L, "a", "{}", 9L, 4)
    assert(timed(1) == 9L && timed.head.asInstanceOf[InternalRow].getInt(0) == 4)
    val shape = FrameColumns.of(plain, of)
    val row = InternalRow(1L, inner("a"), inner("{\"$timers\":[[5,null]]}"))
    assert(shape.refused.exists { case (condition, why) =>
      condition.eval(row) == true && why.contains("timers")
    })
    val variable = operator(
      "transformWithStateInPySparkExec",
      document,
      families = Seq("state"),
      variables = Variables
    )
    assert(read(plain, variable, 1L, "a", "{}")._2 == Seq[Any](1, -1L, inner("{}")))
  }

  for (name <- Seq("groupState", "value.groupState", "state"))
    test(
      s"a document that is given whole, as $name, keeps its timeout, and is refused with timers"
    ) {
      val of = grouped(document, times = true)
      val frame = key.add(name, document)
      def timeout(at: Any): Any = read(frame, of, 1L, "a", Seq[Any](4, at, "{}"))._2(1)
      assert(timeout(9L) == 9L && timeout(null) == -1L)
      val timed = Seq[Any](1, -1L, "{\"$timers\":[[5,null]]}")
      val row = InternalRow(1L, inner("a"), inner(timed))
      assert(FrameColumns.of(frame, of).refused.exists { case (condition, why) =>
        condition.eval(row) == true && why.contains("timers")
      })
      val told = frame.add("timeoutTimestamp", LongType)
      assert(read(told, of, 1L, "a", timed, 5L)._2(1) == 5L)
    }

  test("a document whose key has a column called version, timeout or state, too") {
    val odd = new StructType()
      .add("version", IntegerType)
      .add("timeout", LongType)
      .add("state", StringType)
    val of = operator(
      "applyInPandasWithState",
      new StructType().add("groupState", document).add("timeoutTimestamp", LongType),
      key = odd
    )
    val frame = odd.add("value.version", IntegerType).add("value.state", StringType)
    val (keys, values) = read(frame, of, 7, 9L, "k", 3, "{}")
    val group = values.head.asInstanceOf[InternalRow]
    assert(keys == Seq[Any](7, 9L, inner("k")))
    assert((group.getInt(0), group.getLong(1), group.getUTF8String(2).toString) == ((3, -1L, "{}")))
    assert(values(1) == -1L)
  }

  for (
    (what, frame, said) <- Seq(
      (
        "a column that is missing",
        StructType(key.fields ++ named.fields.init),
        "no column 'sum_2' for the value"
      ),
      ("a key's column that is missing", named.add("k", LongType), "no column 's' for the key"),
      (
        "a column too many",
        StructType(key.fields ++ named.fields).add("x", LongType),
        "column 'x', which"
      ),
      (
        "a field too many",
        new StructType().add("key", key.add("x", LongType)).add("value", named),
        "column 'key.x', which"
      ),
      (
        "another type",
        StructType(key.fields ++ named.fields.init).add("sum_2", IntegerType),
        "Column 'sum_2' of the rows is INT, and the state of operator 0 (stateStoreSave) has DOUBLE there"
      )
    )
  ) test(s"refused: $what") {
    val error = intercept[InvalidException](FrameColumns.of(frame, aggregation))
    assert(error.getMessage.contains(said), error.getMessage)
    assert(
      error.getMessage.contains(
        "Its key is k BIGINT, s STRING; its value is n BIGINT, sum BIGINT, sum_2 DOUBLE."
      )
    )
  }

  for (
    (of, said) <- Seq(
      operator("symmetricHashJoin", sums) -> "a join keeps its rows by number",
      operator("sessionWindowStateStoreSaveExec", sums) -> "a session is found by its start",
      operator("globalLimit", sums) -> "a limit keeps a count",
      operator("flatMapGroupsWithState", sums) -> "in a form of old",
      operator("transformWithStateExec", sums, families = Seq("a", "b")) -> "it keeps 'a', 'b'"
    )
  ) test(s"refused: rows for ${of.name}") {
    val error = intercept[InvalidException](FrameColumns.of(key, of))
    assert(
      error.getMessage.contains(s"is '${of.name}'") && error.getMessage.contains(said),
      error.getMessage
    )
  }
}

private object FrameColumnsSuite {
  val Variables: String =
    ""","operatorPropertiesJson":"{\"stateVariables\":[{\"stateName\":\"state\",\"stateVariableType\":\"ValueState\"}]}""""
}
