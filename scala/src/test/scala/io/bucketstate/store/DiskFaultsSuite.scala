package io.bucketstate.store

import java.nio.file.Path

import scala.util.{Failure, Random, Try}

import org.apache.spark.sql.execution.streaming.checkpointing.{
  FileContextBasedCheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}
import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{FileStore, NioFileStore}
import io.bucketstate.config.{ConfigKey, Engine}
import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/**
 * Disks that are full or turn read-only, for real: a task fails with the file and what to do about it, nothing that was
 * committed is lost, and the same task goes through when there is room again.
 */
@Slow
class DiskFaultsSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(20, Millis))

  private type Make = Path => FileStore

  private val stores: Seq[(String, Make)] = Seq(
    "nio" -> (new NioFileStore(_)),
    "hadoop" -> ManagedStores(classOf[FileContextBasedCheckpointFileManager]),
    "hadoop+crc" -> ManagedStores(classOf[FileSystemBasedCheckpointFileManager])
  )
  private val engines = Seq(Engine.Heap.name, Engine.RocksDb.name)

  /** Batches of some 40 KB that cannot be compressed, and what they should have come to. */
  private final class Batches(open: () => OpenStore) {
    private val random = new Random(7)
    private var store = open()
    var version = 0L
    private var models: Vector[Map[String, String]] = Vector(Map.empty)

    def next(): Unit = {
      val puts =
        Seq.fill(40)(s"key ${random.nextInt(60)}" -> random.alphanumeric.take(1000).mkString)
      batch(store, version)(puts.map { case (key, value) => key -> Some(value) }: _*)
      version += 1
      models = models :+ (models.last ++ puts)
    }

    def restart(): Unit = {
      store.close()
      store = open()
    }

    /** The first failure of at most so many batches, in the project's own words. */
    def failure(atMost: Int = 200): UnavailableException =
      Iterator.continually(Try(next())).take(atMost).collectFirst { case Failure(e) => e } match {
        case Some(e: UnavailableException)                     => e
        case Some(Refusal.CannotLoad(e: UnavailableException)) => e
        case Some(other) => fail(s"not in our words: $other", other)
        case None        => fail("no failure")
      }

    def requireRight(): Unit =
      Seq(version, version - 1).foreach { v =>
        val _ = assert(read(store, v) == models(v.toInt), s"at $v")
      }
  }

  private def withBatches(files: FileStore, local: Path, settings: (String, String)*)(
      body: Batches => Unit
  ): Unit = {
    val harness = new StoreHarness(files, local, retained = 2)
    try body(new Batches(() => harness.open(withIds = false, settings: _*)))
    finally harness.close()
    val _ = assert(LeftOvers.openFiles(local).isEmpty)
  }

  private def requireNoWriteIsLeft(files: FileStore): Unit = {
    val names = Seq("", "runs").flatMap(files.list).map(_.name)
    val _ = assert(names.forall(!_.contains(".tmp")), names)
  }

  for {
    (name, make) <- stores
    engine <- engines
    snapshots <- Seq("sync", "async")
  } {
    val settings =
      Seq("engine" -> engine, "snapshot.mode" -> snapshots, "snapshot.maxVersions" -> "3")

    test(s"a checkpoint's disk is full: $name, $engine, snapshots $snapshots") {
      assume(SmallDisk.isAvailable)
      TempFolder.use { local =>
        SmallDisk.use("600k") { disk =>
          val files = make(disk.folder.resolve("store"))
          withBatches(files, local, settings: _*) { batches =>
            val first = batches.failure()
            assert(Path.of(first.file.stripPrefix("file:")).startsWith(disk.folder), first.file)
            assert(first.getMessage.contains("No space left on device"), first)
            assert(first.getMessage.contains("checkpoint's file system is reachable, writable"))
            // Spark's file managers may leave one that could not be closed, for retention.
            if (name == "nio") eventually(requireNoWriteIsLeft(files))
            batches.requireRight()
            val second = batches.failure(atMost = 3)
            assert(second.getMessage.contains("No space left on device"), second)
            batches.restart()
            batches.requireRight()

            disk.resize("16m")
            (1 to 5).foreach(_ => batches.next())
            batches.requireRight()
            batches.restart()
            batches.requireRight()
          }
          // Hadoop's streams with checksums leave their file to the collector when they cannot be closed.
          if (name == "nio") assert(LeftOvers.openFiles(disk.folder).isEmpty)
        }
      }
    }
  }

  for {
    (name, make) <- stores
    engine <- engines
  }
    test(s"a checkpoint's folder turns read-only: $name, $engine") {
      assume(SmallDisk.isAvailable)
      TempFolder.use { local =>
        SmallDisk.use("16m") { disk =>
          val files = make(disk.folder.resolve("store"))
          val settings =
            Seq("engine" -> engine, "snapshot.mode" -> "sync", "snapshot.maxVersions" -> "3")
          withBatches(files, local, settings: _*) { batches =>
            (1 to 7).foreach(_ => batches.next())
            disk.readOnly()
            val why = batches.failure(atMost = 1)
            assert(why.file.endsWith("8.changelog"), why.file)
            assert(why.getMessage.contains("ead-only file system"), why)
            assert(why.getMessage.contains("writable"), why)
            batches.requireRight()
            batches.restart()
            batches.requireRight()
            assert(batches.failure(atMost = 1).file.endsWith("8.changelog"))

            disk.writable()
            (1 to 5).foreach(_ => batches.next())
            batches.restart()
            batches.requireRight()
            requireNoWriteIsLeft(files)
          }
          // Hadoop's streams with checksums leave their file to the collector when they cannot be closed.
          if (name == "nio") assert(LeftOvers.openFiles(disk.folder).isEmpty)
        }
      }
    }

  private val breakages = Seq[(String, String, SmallDisk => Unit, SmallDisk => Unit)](
    ("full", "No space left on device", _.fill(), _.empty()),
    ("read-only", "Read-only file system", _.readOnly(), _.writable())
  )

  for {
    engine <- engines
    (name, words, breaks, mends) <- breakages
  }
    test(s"the local disk is $name when a query restarts: $engine") {
      assume(SmallDisk.isAvailable)
      SmallDisk.use("16m") { disk =>
        val settings =
          Seq("engine" -> engine, "snapshot.mode" -> "sync", "snapshot.maxVersions" -> "3")
        // Not a local checkpoint: its files are copied.
        withBatches(new MemoryFileStore, disk.folder, settings: _*) { batches =>
          (1 to 7).foreach(_ => batches.next())
          batches.restart()
          breaks(disk)
          val told = batches.failure(atMost = 1)
          assert(told.getMessage.contains(words), told)
          assert(told.getMessage.contains(ConfigKey.LocalDir.key), told)
          mends(disk)
          (1 to 5).foreach(_ => batches.next())
          batches.requireRight()
        }
      }
    }
}
