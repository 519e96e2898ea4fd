package io.bucketstate

import java.time.Duration
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.streaming._

import io.bucketstate.testkit.{Queries, TidySuite}

/** State variables with a TTL, in a query that goes on after their time. */
class TransformWithStateTtlSuite extends TidySuite with Queries {
  import TransformWithStateTtlSuite._

  for (encoding <- Seq("unsaferow", "avro"))
    test(s"values, lists and maps leave the state when their time is over ($encoding)") {
      withSession("spark.sql.streaming.stateStore.encodingFormat" -> encoding) { (spark, folder) =>
        import spark.implicits._
        val (kept, gone) = (new CountDownLatch(1), new CountDownLatch(1))
        spark.streams.addListener(new RowsListener({
          case Variables                 => kept.countDown()
          case 0L if kept.getCount == 0L => gone.countDown()
          case _                         =>
        }))
        val input = memoryStream[String](spark)
        val query = input
          .toDS()
          .groupByKey(identity)
          .transformWithState(new Keeping, TimeMode.ProcessingTime(), OutputMode.Update())
          .writeStream
          .outputMode("update")
          .format("noop")
          .option("checkpointLocation", folder.resolve("checkpoint").toUri.toString)
          .start()
        try {
          input.addData("a")
          assert(kept.await(60, TimeUnit.SECONDS), "no batch kept the three variables")
          assert(gone.await(60, TimeUnit.SECONDS), "the state was never empty afterwards")
        } finally query.stop()
      }
    }
}

object TransformWithStateTtlSuite {
  private final val Variables = 3L

  /** The batch after the one that writes is certain to be later. */
  private val AtOnce = TTLConfig(Duration.ofMillis(1))

  /** Hears of the number of rows in the state after each batch. */
  private final class RowsListener(heard: Long => Unit) extends StreamingQueryListener {
    override def onQueryStarted(event: QueryStartedEvent): Unit = ()
    override def onQueryProgress(event: QueryProgressEvent): Unit =
      event.progress.stateOperators.foreach(operator => heard(operator.numRowsTotal))
    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
  }

  private final class Keeping extends StatefulProcessor[String, String, String] {
    @transient private var value: ValueState[String] = _
    @transient private var list: ListState[String] = _
    @transient private var map: MapState[String, String] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      value = getHandle.getValueState("value", Encoders.STRING, AtOnce)
      list = getHandle.getListState("list", Encoders.STRING, AtOnce)
      map = getHandle.getMapState("map", Encoders.STRING, Encoders.STRING, AtOnce)
    }

    override def handleInputRows(
        key: String,
        rows: Iterator[String],
        timers: TimerValues
    ): Iterator[String] = {
      value.update(key)
      list.appendValue(key)
      map.updateValue(key, key)
      Iterator.empty
    }
  }
}
