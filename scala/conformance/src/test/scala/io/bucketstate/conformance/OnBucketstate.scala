package io.bucketstate.conformance

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.test.SharedSparkSession

import io.bucketstate.BucketedStateStoreProvider

/**
 * Runs a suite of Spark's on this project's provider: it is the session's provider, and where a test
 * names one of Spark's own two, that name is replaced. What the queries report afterwards proves that
 * it was so.
 */
trait OnBucketstate extends SharedSparkSession {
  import OnBucketstate._

  private val used = new Tally

  /** Spark's way to leave out tests: those about another provider, see [[Exclusions]]. */
  override protected def excluded: Seq[String] = Exclusions.of(getClass.getSimpleName).map(_.test)

  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, Provider)

  override protected def withSQLConf[T](pairs: (String, String)*)(f: => T): T =
    super.withSQLConf(pairs.map { case (key, value) => key -> replaced(key, value) }: _*)(f)

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.streams.addListener(used)
  }

  override def afterAll(): Unit =
    try assert(used.foreign.get == 0, "a query of this suite kept its state in another provider")
    finally super.afterAll()
}

object OnBucketstate {
  val Provider: String = classOf[BucketedStateStoreProvider].getName

  private val sparksOwn = Set("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider")
    .map("org.apache.spark.sql.execution.streaming.state." + _)

  def replaced(key: String, value: String): String =
    if (key == SQLConf.STATE_STORE_PROVIDER_CLASS.key && sparksOwn(value)) Provider else value

  /** Counts what stateful operators report by the provider their metrics give away. */
  private final class Tally extends StreamingQueryListener {
    val foreign: AtomicLong = new AtomicLong

    override def onQueryStarted(event: QueryStartedEvent): Unit = ()

    override def onQueryProgress(event: QueryProgressEvent): Unit =
      event.progress.stateOperators.foreach { operator =>
        val names = operator.customMetrics.keySet.asScala
        if (names.exists(_.startsWith("rocksdb")) || names("loadedMapCacheHitCount")) {
          foreign.incrementAndGet()
        }
      }

    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
  }
}
