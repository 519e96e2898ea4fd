package io.bucketstate.hdfs

import java.nio.file.Path
import java.time.Duration

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io._
import io.bucketstate.error._
import io.bucketstate.testkit.{ChildJvm, FileStoreContract, StoreKind, TempFolder}

/** The guarantees of `FileStore` on HDFS, with datanodes that are lost and writers that die. */
class HdfsFileStoreSuite extends FileStoreContract with BeforeAndAfterAll with Eventually {
  private lazy val hdfs = MiniHdfs.start(dataNodes = 2)

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(200, Millis))

  override def afterAll(): Unit = hdfs.close()

  // A file that was replaced is deleted: its blocks go with the datanode's next heartbeat, and who reads it may fail.
  private val onHdfs =
    StoreKind("hdfs", hdfs.store, keepsReplaced = false, failsWhileReplaced = true)

  contract(onHdfs, onHdfs)
  neverHalf(onHdfs, writes = 100)

  private def withStore(body: (FileStore, Path) => Any): Unit =
    TempFolder.use { folder =>
      Using.resource(hdfs.store(folder)) { store =>
        store.createFolder()
        body(store, folder)
      }
      ()
    }

  private def temporary(store: FileStore): Seq[String] = store.list().map(_.name).filter {
    CheckpointFiles.parse(_).exists(_.isInstanceOf[TemporaryName])
  }

  test("a manager that does not replace files is refused") {
    TempFolder.use { folder =>
      val conf = new Configuration(hdfs.conf)
      conf.set(
        FileManagers.Setting,
        classOf[FileSystemBasedCheckpointFileManager].getName
      )
      val e = intercept[InvalidException] {
        Using.resource(FileStores.forFolder(hdfs.path(folder), conf))(_.write("1")(_.write(1)))
      }
      assert(e.getMessage.contains(hdfs.path(folder).toString))
      assert(e.getMessage.contains(FileManagers.Setting))
    }
  }

  test("a datanode is lost in the middle of a write: the file is whole") {
    withStore { (store, _) =>
      val content = bytes(600_000)
      store.write("1.changelog") { out =>
        content.grouped(50_000).zipWithIndex.foreach { case (part, i) =>
          out.write(part)
          out.flush()
          if (i == 5) hdfs.stopDataNode()
        }
      }
      assert(store.read("1.changelog").sameElements(content))
      hdfs.startDataNodes()
      assert(store.read("1.changelog").sameElements(content))
    }
  }

  test("all datanodes are lost in the middle of a write: it fails, and the name is as it was") {
    withStore { (store, _) =>
      store.write("1.changelog")(_.write(bytes(10)))
      for (name <- Seq("1.changelog", "2.changelog")) {
        val e = intercept[UnavailableException](store.write(name) { out =>
          out.write(bytes(100_000))
          out.flush()
          hdfs.stopDataNode()
          hdfs.stopDataNode()
          out.write(bytes(100_000))
        })
        assert(e.getMessage.contains(s"$name: could not be written"))
        hdfs.startDataNodes()
        assert(store.read("1.changelog").sameElements(bytes(10)))
        assert(!store.exists("2.changelog"))
      }
      store.write("2.changelog")(_.write(bytes(100_000, 2)))
      assert(store.read("2.changelog").sameElements(bytes(100_000, 2)))
    }
  }

  test("in safe mode a write fails and says so, and reads go on") {
    withStore { (store, _) =>
      store.write("1.changelog")(_.write(bytes(100_000)))
      hdfs.safeMode(on = true)
      try {
        for (name <- Seq("1.changelog", "2.changelog", "runs/x")) {
          val e = intercept[UnavailableException](store.write(name)(_.write(bytes(10))))
          assert(e.getMessage.contains("safe mode"))
        }
        assert(
          intercept[UnavailableException](store.delete("1.changelog")).getMessage
            .contains("safe mode")
        )
        assert(store.read("1.changelog").sameElements(bytes(100_000)))
        assert(store.list().map(_.name) == Seq("1.changelog"))
      } finally hdfs.safeMode(on = false)
      store.write("runs/x")(_.write(bytes(10)))
      assert(store.list("runs").map(_.name) == Seq("runs/x"))
    }
  }

  test("a writer that dies leaves an open temporary file, which is in nobody's way") {
    withStore { (store, folder) =>
      val died = ChildJvm.run(DyingWriter, hdfs.uri, folder.toString, "1.changelog")
      assert(died.exitCode == DyingWriter.ExitCode, died.output)
      assert(!store.exists("1.changelog"))
      assertThrows[MissingException](store.read("1.changelog"))
      val left = temporary(store)
      assert(left.size == 1)
      // Its lease is the dead writer's for twenty minutes yet.
      assert(!hdfs.fileSystem.isFileClosed(hdfs.path(folder.resolve(left.head))))
      store.write("1.changelog")(_.write(bytes(100_000, 1)))
      assert(store.read("1.changelog").sameElements(bytes(100_000, 1)))
      store.delete(left.head)
      assert(store.list().map(_.name) == Seq("1.changelog"))
    }
  }

  test(
    "the lease of a writer that died is recovered: what it left is closed, and is still nobody's"
  ) {
    withStore { (store, folder) =>
      val died = ChildJvm.run(DyingWriter, hdfs.uri, folder.toString, "1.changelog")
      assert(died.exitCode == DyingWriter.ExitCode, died.output)
      val left = temporary(store)
      val leftAt = hdfs.path(folder.resolve(left.head))
      hdfs.leasesEnd(after = Duration.ofMillis(100))
      try eventually(assert(hdfs.fileSystem.isFileClosed(leftAt)))
      finally hdfs.leasesEnd(after = Duration.ofMinutes(20))
      assert(temporary(store) == left && !store.exists("1.changelog"))
      store.write("1.changelog")(_.write(bytes(100_000, 1)))
      assert(store.read("1.changelog").sameElements(bytes(100_000, 1)))
      store.delete(left.head)
      assert(store.list().map(_.name) == Seq("1.changelog"))
    }
  }
}
