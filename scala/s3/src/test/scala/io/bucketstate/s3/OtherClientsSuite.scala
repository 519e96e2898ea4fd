package io.bucketstate.s3

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CommonPathCapabilities, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.checkpoint.io.{FileStores, HadoopFileStore}

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
    test(s"the client of $location cannot abort a write, so Spark's file manager is used") {
      val conf = new Configuration
      settings.foreach { case (key, value) => conf.set(key, value) }
      val folder = new Path(location)
      val client = folder.getFileSystem(conf)
      assert(!client.hasPathCapability(folder, CommonPathCapabilities.ABORTABLE_STREAM))
      assert(!client.hasPathCapability(folder, "fs.option.create.conditional.overwrite"))
      val schemes = Set("gs", "abfss")
      Using.resource(FileStores.forFolder(folder, conf, schemes)) { store =>
        assert(store.getClass == classOf[HadoopFileStore])
      }
    }
}
