package io.bucketstate.conformance

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.test.SharedSparkSession
import org.scalactic.source.Position
import org.scalatest.{Args, Status, Tag}

import io.bucketstate.config.ConfigKey
import io.bucketstate.memory.{MemoryTracker, MemoryUser}
import io.bucketstate.store.StoreMemory
import io.bucketstate.{BucketedStateStoreProvider, BucketstateExtensions}

/**
 * Runs a suite of Spark's on this project's provider, with its extension: it is the session's provider,
 * and where a test names one of Spark's own two, that name is replaced. What the queries report afterwards
 * proves that it was so.
 *
 * With `BUCKETSTATE_SHORT_MEMORY` in the environment there is a snapshot of every version, and all that can leave memory
 * leaves it with each batch. `BUCKETSTATE_ENGINE` there names the engine, if it is not the default.
 */
trait OnBucketstate extends SharedSparkSession {
  import OnBucketstate._

  // Lazy: Spark's suites name their tests while they are constructed.
  private lazy val used = new Tally
  private var ballast = Seq.empty[MemoryTracker#Account]

  /**
   * Spark's `StateStore.stop` holds the lock that a maintenance thread may be waiting for, and then waits
   * five minutes for that thread: not here.
   */
  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, Provider)
      .set(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, Extension)
      .setAll(SparkNames.stopTimeouts)
      .setAll(if (isShort) Seq(ConfigKey.SnapshotMaxVersions.key -> "1") else Nil)
      .setAll(sys.env.get("BUCKETSTATE_ENGINE").map(ConfigKey.Engine.key -> _))

  override protected def withSQLConf[T](pairs: (String, String)*)(f: => T): T =
    super.withSQLConf(pairs.map { case (key, value) => key -> replaced(key, value) }: _*)(f)

  /** Tests about another provider, see [[Exclusions]]. */
  private lazy val leftOut = Exclusions.of(getClass.getSimpleName)

  /** Spark's way to leave out tests, for those whose names are not made in `test`. */
  override protected def excluded: Seq[String] =
    leftOut.toSeq.flatMap(namesOf)

  override protected def test(testName: String, testTags: Tag*)(testFun: => Any)(implicit
      pos: Position
  ): Unit =
    if (leftOut(testName)) ignore(s"$testName (excluded)", testTags: _*)(testFun)
    else super.test(testName, testTags: _*)(testFun)

  override protected def runTest(testName: String, args: Args): Status = {
    used.test = testName
    super.runTest(testName, args)
  }

  override def beforeAll(): Unit = {
    super.beforeAll()
    if (isShort)
      ballast = Seq(StoreMemory.Tracker, StoreMemory.HotTracker)
        .map(_.register(Ballast, Long.MaxValue, "a test"))
    ballast.foreach(_.tell())
    observe(spark)
  }

  /** Has the queries of a session counted; the suite's own is. */
  protected def observe(session: SparkSession): Unit = session.streams.addListener(used)

  override def afterAll(): Unit =
    try {
      val foreign = used.foreign.asScala.toSeq.sorted
      assert(foreign.isEmpty, "queries of these tests kept their state in another provider")
    } finally {
      ballast.foreach(_.close())
      super.afterAll()
    }
}

object OnBucketstate {

  /** What suites add to the names of tests, for each way in which they run them. */
  private val Variants = {
    val encodings =
      Seq("unsaferow", "avro", "UnsafeRow", "Avro").map(name => s" (encoding = $name)")
    val changelogs = Seq("with", "without").map(word => s" ($word changelog checkpointing)")
    val both = for {
      encoding <- encodings
      changelog <- changelogs
      name <- Seq(encoding + changelog, changelog + encoding)
    } yield name
    val codecs = for {
      codec <- Seq("LZ4", "LZF", "Snappy", "ZStd")
      name <- Seq(codec.toLowerCase, s"org.apache.spark.io.${codec}CompressionCodec")
      families <- Seq(true, false)
    } yield s" - with codec $name - with colFamiliesEnabled=$families"
    Seq("", " (with virtual column family joins)") ++ encodings ++ changelogs ++ both ++ codecs
  }

  /** The names that a test of Spark's may have. */
  def namesOf(test: String): Seq[String] = Variants.map(test + _)

  private val isShort: Boolean = sys.env.contains("BUCKETSTATE_SHORT_MEMORY")

  /** More than all stores of a process may have. */
  private object Ballast extends MemoryUser {
    override def bytes: Long = Long.MaxValue / 4
    override def shrink(bytes: Long): Unit = ()
  }

  val Provider: String = classOf[BucketedStateStoreProvider].getName
  val Extension: String = classOf[BucketstateExtensions].getName

  private val sparksOwn = Set("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider")
    .map("org.apache.spark.sql.execution.streaming.state." + _)

  def replaced(key: String, value: String): String =
    if (key == SQLConf.STATE_STORE_PROVIDER_CLASS.key && sparksOwn(value)) Provider else value

  /** Notes the tests in which a stateful operator reports metrics of another provider. */
  private final class Tally extends StreamingQueryListener {
    @volatile var test: String = ""
    val foreign: java.util.Set[String] = ConcurrentHashMap.newKeySet[String]()

    override def onQueryStarted(event: QueryStartedEvent): Unit = ()

    override def onQueryProgress(event: QueryProgressEvent): Unit =
      event.progress.stateOperators.foreach { operator =>
        val names = operator.customMetrics.keySet.asScala
        if (names.exists(_.startsWith("rocksdb")) || names("loadedMapCacheHitCount")) {
          foreign.add(test)
        }
        ()
      }

    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
  }
}
