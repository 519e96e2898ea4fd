package io.bucketstate.conformance

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.fs.FileUtil
import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.streaming._

// transformWithState, query by query.

class BucketedTransformWithStateUnsafeRowSuite
    extends TransformWithStateUnsafeRowSuite
    with OnBucketstate
class BucketedTransformWithStateAvroSuite extends TransformWithStateAvroSuite with OnBucketstate
class BucketedTransformWithStateInitialStateSuite
    extends TransformWithStateInitialStateSuite
    with OnBucketstate
class BucketedTransformWithStateChainingSuite
    extends TransformWithStateChainingSuite
    with OnBucketstate
class BucketedTransformWithListStateSuite extends TransformWithListStateSuite with OnBucketstate
class BucketedTransformWithMapStateSuite extends TransformWithMapStateSuite with OnBucketstate
class BucketedTransformWithValueStateTtlSuite
    extends TransformWithValueStateTTLSuite
    with OnBucketstate
class BucketedTransformWithListStateTtlSuite
    extends TransformWithListStateTTLSuite
    with OnBucketstate
class BucketedTransformWithMapStateTtlSuite extends TransformWithMapStateTTLSuite with OnBucketstate

class BucketedTransformWithStateValidationSuite
    extends TransformWithStateValidationSuite
    with OnBucketstate {

  test("the extension leaves it to Spark to refuse HDFSBackedStateStoreProvider") {
    val provider = SQLConf.STATE_STORE_PROVIDER_CLASS.defaultValueString
    spark.conf.set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, provider)
    try {
      import testImplicits._
      val input = MemoryStream[String]
      val counted = input
        .toDS()
        .groupByKey(identity)
        .transformWithState(
          new RunningCountStatefulProcessor,
          TimeMode.None(),
          OutputMode.Update()
        )
      testStream(counted, OutputMode.Update())(
        AddData(input, "a"),
        ExpectFailure[SparkNames.Refusal] { failure =>
          assert(failure.getMessage.contains(provider.split('.').last))
        }
      )
    } finally spark.conf.unset(SQLConf.STATE_STORE_PROVIDER_CLASS.key)
  }
}

/**
 * With executors of their own. Spark's workers take the class path of the driver when they are tested, and
 * otherwise want a folder of jars, which may be empty.
 */
class BucketedTransformWithStateClusterSuite
    extends TransformWithStateClusterSuite
    with OnBucketstate {

  private lazy val home = Files.createTempDirectory("spark-home").toFile

  override def getSparkConf(): SparkConf =
    super
      .getSparkConf()
      .set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, OnBucketstate.Provider)
      .set(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, OnBucketstate.Extension)
      .set("spark.executorEnv.SPARK_SCALA_VERSION", "2.13")

  /** The tests would take the session that is there, which has no executors. */
  override def beforeAll(): Unit = {
    super.beforeAll()
    assert(new File(home, "jars").mkdir())
    System.setProperty("spark.test.home", home.getPath)
    spark.stop()
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally {
      System.clearProperty("spark.test.home")
      FileUtil.fullyDelete(home)
      ()
    }

  override protected def testWithAndWithoutImplicitEncoders(
      name: String
  )(func: (SparkSession, Boolean) => Any): Unit =
    super.testWithAndWithoutImplicitEncoders(name) { (session, useImplicits) =>
      assert(session.sparkContext.master.startsWith("local-cluster"))
      observe(session)
      func(session, useImplicits)
    }
}
