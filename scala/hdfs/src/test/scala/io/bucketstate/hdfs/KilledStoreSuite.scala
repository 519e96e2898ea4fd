package io.bucketstate.hdfs

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.testkit.{ChildJvm, ProviderHarness}

/** Stores on HDFS that died while they wrote: another process goes on from what was committed. */
class KilledStoreSuite extends AnyFunSuite with BeforeAndAfterAll {
  private lazy val hdfs = MiniHdfs.start(dataNodes = 1)

  override def afterAll(): Unit = hdfs.close()

  private def committed(output: String): Long =
    output.linesIterator.filter(_.startsWith("COMMITTED ")).map(_.drop(10).toLong).max

  for (
    (what, pattern) <- Seq(
      "a changelog" -> "5\\.changelog",
      "a data file" -> ".*\\.sst",
      "a manifest" -> ".*\\.manifest"
    )
  )
    test(s"a store died with $what open: the next attempt of the version succeeds") {
      ProviderHarness.withFolder { folder =>
        val died = ChildJvm.run(DyingStore, hdfs.uri, folder.toString, pattern)
        assert(died.exitCode == DyingWriter.ExitCode, died.output)
        val last = committed(died.output)
        if (what == "a changelog") assert(last == 4)
        val storeFolder = folder.resolve("0").resolve("0")
        val open = hdfs.openFiles(storeFolder)
        assert(open.exists(_.getName.matches(s"\\.($pattern)\\..*\\.tmp")), open)

        val harness = DyingStore.harnessAt(hdfs.uri, folder.toString)
        val provider = harness.provider(DyingStore.Settings: _*)
        for (version <- last until last + 6) {
          val before = provider.getReadStore(version)
          assert(ProviderHarness.contents(before) == DyingStore.expected(version))
          before.abort()
          DyingStore.write(provider, version)
          provider.doMaintenance()
        }
        provider.close()

        val again = harness.provider(DyingStore.Settings: _*)
        val read = again.getReadStore(last + 6)
        assert(ProviderHarness.contents(read) == DyingStore.expected(last + 6))
        read.abort()
        again.close()
      }
    }
}
