package io.bucketstate.spark.many

import java.util.UUID

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.FlatMapGroupsInPandasWithStateExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode}
import org.apache.spark.sql.types.{LongType, StringType, StructType}

import io.bucketstate.error.InvalidException
import io.bucketstate.spark.BuiltFor
import io.bucketstate.testkit.{Queries, TidySuite}

/** Where the operator for many keys takes the place of Spark's. */
class ManyKeysRuleSuite extends TidySuite with Queries {
  private val Provider = "spark.sql.streaming.stateStore.providerClass"
  private val Sparks = Seq("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider")
    .map(name => s"org.apache.spark.sql.execution.streaming.state.$name")

  /** Spark's operator of `applyInPandasWithState`, of a function with this name. */
  private def sparks(spark: SparkSession, name: String, format: Int = 2): SparkPlan = {
    val rows = spark.range(1).queryExecution.executedPlan
    new FlatMapGroupsInPandasWithStateExec(
      new PythonUDF(name, null, new StructType().add("n", LongType), rows.output, 0, true),
      rows.output,
      rows.output,
      new StructType().add("state", StringType),
      Some(StatefulOperatorStateInfo("checkpoint", UUID.randomUUID(), 0, 0, 2)),
      format,
      OutputMode.Update(),
      GroupStateTimeout.NoTimeout(),
      None,
      None,
      None,
      false,
      rows
    )
  }

  private def isReplaced(settings: (String, String)*)(name: String): Boolean = {
    var found = false
    withSession(settings: _*) { (spark, _) =>
      val rule = new ManyKeysRule().postColumnarTransitions
      found = rule(sparks(spark, name)).isInstanceOf[ManyKeysExec]
    }
    found
  }

  test("a function that takes many keys gets the operator, with every provider") {
    Sparks.foreach(provider => assert(isReplaced(Provider -> provider)(s"${Protocol.Marker}f")))
    assert(isReplaced()(s"${Protocol.Marker}f"))
    assert(!isReplaced()("f"))
  }

  test("where calls and answers are of two threads Spark's own operator stays") {
    val setting = "spark.python.udf.pipelined.enabled"
    Sparks.foreach { provider =>
      assert(!isReplaced(Provider -> provider, setting -> "true")(s"${Protocol.Marker}f"))
      assert(isReplaced(Provider -> provider, setting -> "false")(s"${Protocol.Marker}f"))
    }
  }

  test("a function for many keys is refused where Spark's operator would put its rows out twice") {
    val rule = new ManyKeysRule().postColumnarTransitions
    def left(format: Int, name: String)(spark: SparkSession): Boolean =
      !rule(sparks(spark, name, format)).isInstanceOf[ManyKeysExec]
    val older = left(1, s"${Protocol.Marker}f") _
    withSession()((spark, _) => assert(older(spark)))
    Seq("maxRecordsPerOutputBatch" -> "5", "maxBytesPerOutputBatch" -> "1m").foreach {
      case (name, most) =>
        val key = s"spark.sql.execution.arrow.$name"
        withSession(key -> most) { (spark, _) =>
          assert(!left(2, s"${Protocol.Marker}f")(spark))
          assert(left(1, "f")(spark))
          if (BuiltFor.Minor == "4.3") assert(older(spark))
          else {
            val message = intercept[InvalidException](older(spark)).getMessage
            assert(message.contains(s"$key is $most, and with it applyInPandasWithState"))
          }
        }
        withSession(key -> "-1")((spark, _) => assert(older(spark)))
    }
  }
}
