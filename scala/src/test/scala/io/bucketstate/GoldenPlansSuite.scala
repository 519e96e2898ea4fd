package io.bucketstate

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.bucketstate.checkpoint.io.{BlockCodec, FileStore, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}
import io.bucketstate.testkit.{Changes, ProviderHarness, Runs, TempFolder, TidySuite}

/**
 * What is concluded of a store's folder: the cases in `tests/golden/v1/plans`, which hold the checkpoint
 * reader in Python to the same conclusions. The README there says what a case tells.
 */
class GoldenPlansSuite extends TidySuite {
  import GoldenPlansSuite._

  test("there are cases, and each is of one kind") {
    assert(cases.nonEmpty)
    cases.foreach(c => assert(c.opens != c.expected.has("error"), c.name))
  }

  for (c <- cases if c.opens) {
    test(s"${c.name}: it is restored from the same files") {
      c.recover { recovered =>
        assert(recovered.manifest.fold(0L)(_.version) == c.expected.get("base").asLong)
        assert(recovered.table.newest == c.version)
        // Which attempt's file was replayed is not told, but its size is.
        assert(recovered.tail.map(_.bytes) == c.texts("changelogs").map(c.sizeOf))
        assert(recovered.tail.map(_.attempt.version) == c.texts("changelogs").map(versionIn))
        val passed = recovered.passed.map(p => p.manifest.name -> p.reason.name)
        assert(passed == c.passed)
        assert(recovered.repaired == passed.count(_._2 == "damaged"))
        assert(recovered.replaced == c.expected.get("replaced").asScala.map(_.asLong))
      }
    }

    test(s"${c.name}: it holds the same rows") {
      assert(c.rows() == c.expectedRows)
    }
  }

  for (c <- cases if !c.opens)
    test(s"${c.name}: it is the same error, which names the file") {
      val error = intercept[BucketstateException](c.recover(_ => ()))
      val isOfItsKind = c.expected.get("error").asText match {
        case "missing"                                    => error.isInstanceOf[MissingException]
        case "damaged" | "other-history" | "newer-format" => error.isInstanceOf[CorruptException]
      }
      assert(isOfItsKind, error)
      assert(error.getMessage.contains(c.expected.get("file").asText))
    }
}

private object GoldenPlansSuite {
  private val folder = Paths.get("tests/golden/v1/plans")

  val cases: Seq[Case] =
    Using
      .resource(Files.list(folder))(_.iterator.asScala.filter(Files.isDirectory(_)).toSeq)
      .sortBy(_.getFileName.toString)
      .map(new Case(_))

  def versionIn(file: String): Long = file.takeWhile(_.isDigit).toLong

  final class Case(folder: Path) {
    val name: String = folder.getFileName.toString
    val expected: JsonNode = new ObjectMapper().readTree(folder.resolve("expected.json").toFile)
    val version: Long = expected.get("version").asLong
    private val checkpointId = Option(expected.get("checkpointId")).map(_.asText)

    def opens: Boolean = expected.has("rows")

    def texts(member: String): Seq[String] = expected.get(member).asScala.map(_.asText).toSeq

    /** Name of each manifest that is passed over, and why. */
    def passed: Seq[(String, String)] = expected
      .get("passed")
      .asScala
      .map(one => one.get("manifest").asText -> one.get("reason").asText)
      .toSeq

    def sizeOf(file: String): Long = Files.size(folder.resolve("store").resolve(file))

    /** The rows as the cases have them: the binary column in hex. */
    def expectedRows: Set[Row] = expected
      .get("rows")
      .asScala
      .map(row => (row.get(0).asLong, row.get(1).asText, row.get(2).asLong, row.get(3).asText))
      .toSet

    def recover(check: Recovered => Unit): Unit = TempFolder.use { work =>
      Using.resource(new NioFileStore(folder.resolve("store"))) { store =>
        Using.resource(runsOf(store, work)) { runs =>
          val families = new KnownFamilies(Changes.descriptor(0), others = false)
          val rules = RepairRules(enabled = true, failuresBefore = 1, Int.MaxValue)
          val checkpoint =
            new Checkpoint(store, new BucketCount(None, default = 64, store), families, runs)
          val recovery = new Recovery(checkpoint, rules)
          check(recovery.load(version, checkpointId))
        }
      }
    }

    /** Through the provider, in a copy of the folder. */
    def rows(): Set[Row] = ProviderHarness.withHarness { harness =>
      copy(folder.resolve("store"), harness.storeFolder)
      val ids = checkpointId.map(_ => ProviderHarness.Format2).toSeq
      val provider = harness.provider(Settings ++ ids: _*)
      try {
        val store = provider.getReadStore(version, checkpointId)
        try {
          val all = store.iterator()
          all.map(pair => rowOf(pair.key, pair.value)).toSet
        } finally store.abort()
      } finally provider.close()
    }

    private def runsOf(store: FileStore, work: Path): RunAccess =
      new RunAccess(
        store,
        SstOptions(BlockCodec.Lz4, Runs.BlockBytes),
        () => WorkFolder(work, temporary = false),
        Long.MaxValue
      )
  }

  type Row = (Long, String, Long, String)

  private val Settings = Seq(
    "autoSnapshotRepair.enabled" -> "true",
    "autoSnapshotRepair.numFailuresBeforeActivating" -> "1",
    "autoSnapshotRepair.maxChangeFileReplay" -> "1000"
  ).map { case (key, value) => s"spark.sql.streaming.stateStore.$key" -> value }

  private def rowOf(key: UnsafeRow, value: UnsafeRow): Row = {
    val hex = value.getBinary(1).map(b => f"$b%02x").mkString
    (key.getLong(0), key.getUTF8String(1).toString, value.getLong(0), hex)
  }

  private def copy(from: Path, to: Path): Unit =
    Using.resource(Files.walk(from)) { paths =>
      paths.iterator.asScala.foreach { path =>
        val target = to.resolve(from.relativize(path).toString)
        if (Files.isDirectory(path)) Files.createDirectories(target)
        else Files.copy(path, target)
      }
    }
}
