package io.bucketstate.s3

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CommonPathCapabilities, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.checkpoint.io.{FileStores, HadoopFileStore}
import io.bucketstate.testkit.Warnings

/**
 * What docs/object-stores.md says of Hadoop's clients for Google's and Microsoft's stores, by what they say of themselves.
 * One that learns to abort a write would be written to directly, which nobody has tried.
 */
class OtherClientsSuite extends AnyFunSuite {

  for (
    (location, settings) <- Seq(
      "gs://bucket/checkpoint" -> Seq(
        "fs.gs.auth.type" -> "USER_CREDENTIALS",
        "fs.gs.auth.client.id" -> "id",
        "fs.gs.auth.client.secret" -> "secret",
        "fs.gs.auth.refresh.token" -> "token"
      ),
      "abfss://container@account.dfs.core.windows.net/checkpoint" -> Seq(
        "fs.azure.account.key.account.dfs.core.windows.net" -> "a2V5",
        "fs.azure.account.hns.enabled" -> "true"
      )
    )
  )
    test(
      s"the client of $location cannot abort a write, so Spark's file manager is used, with a warning"
    ) {
      val conf = new Configuration
      settings.foreach { case (key, value) => conf.set(key, value) }
      val folder = new Path(location)
      val client = folder.getFileSystem(conf)
      assert(!client.hasPathCapability(folder, CommonPathCapabilities.ABORTABLE_STREAM))
      assert(!client.hasPathCapability(folder, "fs.option.create.conditional.overwrite"))
      val schemes = Set("gs", "abfss")
      def saidOfTheWay(conf: Configuration): Seq[String] = Warnings.during("io.bucketstate") {
        Using.resource(FileStores.forFolder(folder, conf, schemes)) { store =>
          assert(store.getClass == classOf[HadoopFileStore])
        }
      }
      val format = "spark.sql.streaming.stateStore.checkpointFormatVersion"
      val apart = new Configuration(conf)
      apart.set(format, "2")
      assert(saidOfTheWay(apart).isEmpty)
      // Two attempts write one name, which a rename there replaces in two steps.
      val said = saidOfTheWay(conf)
      assert(said.size == 1 && said.head.contains(s"Set $format=2 before the query's first"), said)
      assert(saidOfTheWay(conf).isEmpty)
    }
}
