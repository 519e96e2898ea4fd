package io.bucketstate.store

import java.nio.file.{Files, Path}

import scala.util.{Failure, Success, Try}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, ManifestName, NioFileStore}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}
import io.bucketstate.rocksdb.state.NativeState
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{
  Damage,
  FaultyFileStore,
  MemoryFileStore,
  Refusal,
  StoreHarness,
  TempFolder,
  TidySuite
}

/**
 * One data file that several snapshots name, and that cannot be read: what is damaged costs one task, whichever engine
 * finds it, and what only could not be read once is used again.
 */
class DamagedFileSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  private val Newest = 7L
  private val Snapshots = Seq(2L, 4L, 6L)

  /** A checkpoint whose snapshots all name the files of the first one, with most of its state in them. */
  private final class Planted(folder: Path, withIds: Boolean, isLocal: Boolean) {
    private val files = new FaultyFileStore(
      if (isLocal) new NioFileStore(folder.resolve("store")) else new MemoryFileStore
    )
    val harness: StoreHarness = new StoreHarness(files, folder)

    private val ids: Map[Long, Option[String]] = {
      val store = harness.open(
        withIds,
        "engine" -> "heap",
        "snapshot.mode" -> "sync",
        "snapshot.maxVersions" -> "2",
        "compaction.maxRuns" -> "20"
      )
      val written = (0L until Newest).scanLeft(0L -> Option.empty[String]) {
        case ((version, id), _) =>
          val session = batch(store, version, id)(changes(version).toSeq: _*)
          (version + 1) -> session.ids.own
      }
      store.close()
      written.toMap
    }

    val model: Map[String, String] =
      (0L until Newest).flatMap(changes).collect { case (key, Some(value)) => key -> value }.toMap

    /** Files that all snapshots name. */
    val shared: Set[Path] = Snapshots
      .map { version =>
        new Manifests(files).read(ManifestName(Attempt(version, ids(version)))).fileNames
      }
      .reduce(_ & _)
      .map(folder.resolve("store").resolve(_))

    def idOf(version: Long): Option[String] = ids(version)

    def open(engine: String): OpenStore = harness.open(withIds, "engine" -> engine)

    def contentsOf(store: OpenStore): Map[String, String] = read(store, Newest, idOf(Newest))

    /** Nothing but the newest snapshot leads to the newest version then. */
    def deleteChangelogs(): Unit = (1L to Snapshots.last).foreach { version =>
      files.delete(Attempt(version, idOf(version)).changelog)
    }

    /** The next open of a data file fails for a reason that is none of the file's. */
    def failingOnce[A](body: => A): A = {
      files.failNextOf("open runs/")
      body
    }

    private def changes(version: Long): Map[String, Option[String]] = {
      val keys = if (version == 0) (0 until 500).map(n => s"key $n") else Seq(s"later $version")
      keys.map(key => key -> Some(s"$key of $version " * 5)).toMap
    }
  }

  /** @param isLocal whether data files are read where they are, or copied first */
  private def withPlanted(withIds: Boolean, isLocal: Boolean = true)(
      body: Planted => Unit
  ): Unit = TempFolder.use { folder =>
    val planted = new Planted(folder, withIds, isLocal)
    assert(planted.shared.nonEmpty)
    try body(planted)
    finally planted.harness.close()
  }

  for {
    engine <- Seq("heap", "rocksdb")
    withIds <- Seq(false, true)
  } {
    val which = s"$engine, ids: $withIds"

    test(s"damage that a task finds costs that one task, however many snapshots name it, $which") {
      withPlanted(withIds) { planted =>
        planted.shared.foreach(Damage.middleOf)
        val store = planted.open(engine)
        val failure = intercept[Refusal.CannotLoad](planted.contentsOf(store))
        assert(failure.why.isInstanceOf[CorruptException])
        assert(planted.contentsOf(store) == planted.model)
      }
    }

    test(s"damage that is found beside the batches costs one of them, $which") {
      withPlanted(withIds) { planted =>
        planted.shared.foreach(Damage.middleOf)
        val store = planted.open(engine)
        var model = planted.model
        var (version, id) = (Newest, planted.idOf(Newest))
        var failed = Seq.empty[Throwable]
        eventually {
          val key = s"new $version"
          Try(batch(store, version, id)(key -> Some("1"))) match {
            case Failure(failure) =>
              failed :+= failure
              assert(failed.sizeIs == 1, failure)
              fail("the batch is tried again")
            case Success(session) =>
              version += 1
              id = session.ids.own
              model += key -> "1"
              assert(failed.nonEmpty)
              val isNative = session.table.coldParts.exists(_.isInstanceOf[NativeState])
              assert(if (engine == "rocksdb") isNative else session.table.isLoaded)
          }
        }
        assert(failed.sizeIs == 1)
        assert(read(store, version, id) == model)
      }
    }

    test(s"if there is nothing else to restore from, each attempt names the damaged file, $which") {
      withPlanted(withIds) { planted =>
        planted.deleteChangelogs()
        planted.shared.foreach(Damage.middleOf)
        val store = planted.open(engine)
        (1 to 4).foreach { _ =>
          val failure = intercept[Refusal.CannotLoad](planted.contentsOf(store))
          assert(
            planted.shared.exists(file => failure.getMessage.contains(file.getFileName.toString))
          )
        }
      }
    }

    test(s"a data file that could not be read once is used again, $which") {
      withPlanted(withIds, isLocal = false) { planted =>
        planted.deleteChangelogs()
        val store = planted.open(engine)
        val failure =
          intercept[Refusal.CannotLoad](planted.failingOnce(planted.contentsOf(store)))
        assert(failure.why.isInstanceOf[UnavailableException])
        assert(planted.contentsOf(store) == planted.model)
      }
    }

    test(s"a data file that was gone is used again when it is back, $which") {
      withPlanted(withIds) { planted =>
        planted.deleteChangelogs()
        val store = planted.open(engine)
        // Its changes are read from the changelog after the snapshot alone.
        val opened = store.openForRead(Attempt(Newest, planted.idOf(Newest)))
        val aside = planted.shared.map(file => file -> Files.createTempFile("aside", null))
        aside.foreach { case (file, other) =>
          Files.delete(other)
          Files.move(file, other)
        }
        val failure = intercept[Refusal.CannotLoad](contents(opened.table, Newest))
        assert(failure.why.isInstanceOf[MissingException])
        opened.end()
        intercept[Refusal.CannotLoad](planted.contentsOf(store))
        aside.foreach { case (file, other) => Files.move(other, file) }
        assert(planted.contentsOf(store) == planted.model)
      }
    }
  }
}
