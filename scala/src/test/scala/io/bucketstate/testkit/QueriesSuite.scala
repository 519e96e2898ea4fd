package io.bucketstate.testkit

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.tags.Slow
import org.scalatest.time.{Minutes, Span}

import io.bucketstate.testkit.TidySuite

/** The end of the test kit's sessions. */
@Slow
class QueriesSuite extends TidySuite with Queries with TimeLimits {
  implicit private val signaler: Signaler = ThreadSignaler

  test("a session that ends while a store is maintained does not wait until Spark gives that up") {
    failAfter(Span(3, Minutes)) { // Spark gives up after six
      withSession(
        "spark.sql.streaming.checkpointFileManagerClass" -> classOf[LongMaintenance].getName,
        // Whose maintenance lists its files each time.
        "spark.sql.streaming.stateStore.providerClass" ->
          "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
      ) { (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Int](spark)
        val query = start(input.toDF().groupBy("value").count(), "counts", folder)
        addAndWait(input, query, Seq(1, 2, 3))
        assert(LongMaintenance.begun.await(1, TimeUnit.MINUTES))
      }
    }
  }
}

private object LongMaintenance {
  val begun: CountDownLatch = new CountDownLatch(1)
  val never: CountDownLatch = new CountDownLatch(1)
}

/** A file system on which maintenance takes longer than a session to end. */
private class LongMaintenance(path: Path, conf: Configuration)
    extends FileSystemBasedCheckpointFileManager(path, conf) {

  override def list(folder: Path, filter: PathFilter): Array[FileStatus] = {
    if (Thread.currentThread.getName.startsWith("state-store-maintenance")) {
      LongMaintenance.begun.countDown()
      LongMaintenance.never.await(1, TimeUnit.SECONDS)
    }
    super.list(folder, filter)
  }
}
