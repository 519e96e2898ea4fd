package io.bucketstate

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamingQueryWrapper}
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, Encoders, SparkSession, SparkSessionExtensions}

import io.bucketstate.testkit.{ProviderHarness, Queries, TidySuite}

/** Which plans the extension changes, which it leaves alone, and what it says where it cannot help. */
class TransformWithStatePlansSuite extends TidySuite with Queries {
  import TransformWithStatePlansSuite._

  private val Extensions = "spark.sql.extensions"
  private val ProviderKey = "spark.sql.streaming.stateStore.providerClass"
  private val RocksDb = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

  private def numbers(spark: SparkSession): MemoryStream[Int] = {
    import spark.implicits._
    MemoryStream[Int](spark)
  }

  /** How many there were of each last digit, as text. */
  private def counted(rows: Dataset[Int]): Dataset[String] =
    rows
      .groupByKey(_ % 10)(Encoders.scalaInt)
      .transformWithState(new Counting, TimeMode.None(), OutputMode.Update())(Encoders.STRING)

  /** Runs the query from its checkpoint over one batch, and gives it to `check` before it ends. */
  private def run(input: MemoryStream[Int], folder: Path)(values: Int*)(
      check: StreamingQuery => Unit = _ => ()
  ): Seq[String] = {
    val said = new java.util.concurrent.ConcurrentLinkedQueue[String]
    val keep = (batch: Dataset[String], _: Long) => batch.collect().foreach(said.add(_))
    val query = counted(input.toDS()).writeStream
      .outputMode("update")
      .option("checkpointLocation", folder.resolve("checkpoint").toString)
      .foreachBatch(keep)
      .start()
    try {
      addAndWait(input, query, values)
      check(query)
    } finally query.stop()
    said.asScala.toSeq.sorted
  }

  private def operators(query: StreamingQuery): Seq[String] =
    query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan.collect {
      case operator: TransformWithStateExec => operator.nodeName
    }

  private def metricsOf(query: StreamingQuery): Set[String] =
    query.lastProgress.stateOperators.flatMap(_.customMetrics.keySet.asScala).toSet

  private def failure(input: MemoryStream[Int], folder: Path): String = {
    val error = intercept[StreamingQueryException](run(input, folder)(1)())
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).mkString("\n")
  }

  test("Spark's operator makes way for one that is seen in the plan, beside other extensions") {
    withSession(Extensions -> s"$ExtensionClass,${classOf[Harmless].getName}") { (spark, folder) =>
      val said = run(numbers(spark), folder)(1, 2, 11) { query =>
        assert(operators(query) == Seq("BucketedTransformWithState"))
        assert(metricsOf(query)("bucketedChangedKeys"))
      }
      assert(said == Seq("1: 2", "2: 1"))
    }
  }

  test("a query on another provider keeps Spark's operator") {
    withSession(ProviderKey -> RocksDb) { (spark, folder) =>
      val said = run(numbers(spark), folder)(1, 2, 11) { query =>
        assert(operators(query) == Seq("TransformWithState"))
        assert(metricsOf(query).exists(_.startsWith("rocksdb")))
      }
      assert(said == Seq("1: 2", "2: 1"))
    }
  }

  test("without the extension the error says how to turn it on; nothing is lost") {
    withSession(Extensions -> "") { (spark, folder) =>
      val message = failure(numbers(spark), folder)
      assert(message.contains(s"this session was made without $ExtensionClass"))
      assert(message.contains("Set spark.sql.extensions"))
    }
    withSession() { (spark, folder) =>
      assert(run(numbers(spark), folder)(1)() == Seq("1: 1"))
    }
  }

  for ((name, extensions) <- Seq("with" -> ExtensionClass, "without" -> ""))
    test(
      s"a batch query runs on Spark's own store, alone and in foreachBatch, $name the extension"
    ) {
      withSession(Extensions -> extensions) { (spark, folder) =>
        import spark.implicits._
        // Makes the coordinator, which Spark's store asks for in batch queries, too.
        assert(spark.streams.active.isEmpty)
        assert(counted(Seq(1, 2, 11).toDS()).collect().toSet == Set("1: 2", "2: 1"))
        val input = numbers(spark)
        @volatile var said = Set.empty[String]
        val inBatch = (batch: Dataset[Int], _: Long) => said = counted(batch).collect().toSet
        val query = input
          .toDS()
          .writeStream
          .option("checkpointLocation", folder.resolve("batches").toString)
          .foreachBatch(inBatch)
          .start()
        try addAndWait(input, query, Seq(1, 2, 11))
        finally query.stop()
        assert(said == Set("1: 2", "2: 1"))
      }
    }

  // Spark makes no adaptive plan that holds the operator.
  test("with adaptive execution a stream has the operator, and other plans are adaptive") {
    withSession("spark.sql.adaptive.enabled" -> "true") { (spark, folder) =>
      import spark.implicits._
      val static = Seq(1, 2, 11).toDS().groupBy($"value" % 10).count()
      assert(static.as[(Int, Long)].collect().toSet == Set((1, 2L), (2, 1L)))
      assert(static.queryExecution.executedPlan.isInstanceOf[AdaptiveSparkPlanExec])
      val said = run(numbers(spark), folder)(1, 2, 11) { query =>
        assert(operators(query) == Seq("BucketedTransformWithState"))
      }
      assert(said == Seq("1: 2", "2: 1"))
    }
  }

  test("another extension's operator is named, whichever of the two comes first") {
    val foreign = classOf[Replacing].getName
    withSession(Extensions -> s"$ExtensionClass,$foreign") { (spark, folder) =>
      val message = failure(numbers(spark), folder)
      assert(message.contains(s"The plan holds ${classOf[ForeignExec].getName}"))
      assert(message.contains("Take one of the two out of spark.sql.extensions"))
    }
    withSession(Extensions -> s"$foreign,$ExtensionClass") { (spark, folder) =>
      val message = failure(numbers(spark), folder)
      assert(message.contains(s"The rule ${classOf[ReplacingRule].getName} of another session"))
      assert(message.contains(s"name $ExtensionClass first"))
    }
  }

  test("a class among the extensions that the driver does not find leads to the same advice") {
    withSession(Extensions -> "io.bucketstate.NotThere") { (spark, folder) =>
      assert(failure(numbers(spark), folder).contains("Spark only warns in its log"))
    }
  }

  for (changelog <- Seq("false", "true"))
    test(
      s"RocksDB's checkpoint stays RocksDB's, and is known by its files; changelogs $changelog"
    ) {
      val withChangelogs =
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> changelog
      withSession(ProviderKey -> RocksDb, withChangelogs) { (spark, folder) =>
        val input = numbers(spark)
        run(input, folder)(1, 2)()
        spark.conf.set(ProviderKey, ProviderHarness.ProviderClass)
        assert(run(input, folder)(11) { query =>
          assert(operators(query) == Seq("TransformWithState"))
        } == Seq("1: 2"))
        rewriteOffsets(folder)
        val message = failure(input, folder)
        assert(message.contains("was written by Spark's RocksDBStateStoreProvider"), message)
        assert(message.contains("set spark.sql.streaming.stateStore.providerClass to"))
      }
    }

  /** As if the query had begun with this provider. */
  private def rewriteOffsets(folder: Path): Unit = {
    val offsets = Files.list(folder.resolve("checkpoint/offsets"))
    try
      offsets.iterator.asScala.toList
        .filterNot(_.getFileName.toString.startsWith("."))
        .foreach { file =>
          val text = Files.readString(file, UTF_8)
          assert(text.contains(RocksDb))
          Files.delete(file.resolveSibling(s".${file.getFileName}.crc"))
          Files.writeString(file, text.replace(RocksDb, ProviderHarness.ProviderClass), UTF_8)
        }
    finally offsets.close()
  }
}

object TransformWithStatePlansSuite {

  private final class Counting extends StatefulProcessor[Int, Int, String] {
    @transient private var count: ValueState[Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(
        key: Int,
        rows: Iterator[Int],
        timers: TimerValues
    ): Iterator[String] = {
      count.update(Option(count.get()).getOrElse(0L) + rows.size)
      Iterator.single(s"$key: ${count.get()}")
    }
  }

  /** A rule that changes nothing. */
  final class Harmless extends (SparkSessionExtensions => Unit) {
    override def apply(extensions: SparkSessionExtensions): Unit =
      extensions.injectColumnar(_ => new ColumnarRule {})
  }

  final class Replacing extends (SparkSessionExtensions => Unit) {
    override def apply(extensions: SparkSessionExtensions): Unit =
      extensions.injectColumnar(_ => new ReplacingRule)
  }

  final class ReplacingRule extends ColumnarRule {
    override val postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
      override def apply(plan: SparkPlan): SparkPlan =
        plan.transformUp { case found: TransformWithStateExec => new ForeignExec(found) }
    }
  }
}
