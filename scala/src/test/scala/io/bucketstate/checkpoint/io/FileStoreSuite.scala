package io.bucketstate.checkpoint.io

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.checkpointing.{
  FileContextBasedCheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}
import org.scalatest.tags.Slow

import io.bucketstate.error._
import io.bucketstate.testkit.{
  Fault,
  FaultyFileStore,
  FileStoreContract,
  KeepingFileSystem,
  ManagedStores,
  MemoryFileStore,
  ObjectFileSystem,
  Seeds,
  StoreKind,
  TempFolder
}

/** The guarantees of [[FileStore]], of every implementation, each reading what the others wrote. */
@Slow
class FileStoreSuite extends FileStoreContract {
  private val nio = StoreKind(
    "nio",
    f => FileStores.forFolder(new HadoopPath(f.toUri), new Configuration),
    isLocal = true
  )
  // Hadoop's local file systems delete a file before they rename another to its name.
  private val hadoop = StoreKind(
    "hadoop",
    ManagedStores(classOf[FileContextBasedCheckpointFileManager]),
    replacesAtOnce = false
  )
  // The one of the two that makes `.crc` companions, apart from their files, and opens a file anew for each read.
  private val hadoopWithCrc = StoreKind(
    "hadoop+crc",
    ManagedStores(classOf[FileSystemBasedCheckpointFileManager]),
    keepsReplaced = false,
    replacesAtOnce = false,
    failsWhileReplaced = true
  )
  private val objects = {
    def make(folder: Path) = {
      val conf = new Configuration
      ObjectFileSystem.configure(conf)
      val path = new HadoopPath(ObjectFileSystem.Scheme, null, folder.toString)
      FileStores.forFolder(path, conf, Set(ObjectFileSystem.Scheme))
    }
    StoreKind("objects", make, refusesToReplace = true)
  }
  private val memory = {
    val stores = scala.collection.concurrent.TrieMap.empty[Path, FileStore]
    val make = (folder: Path) => stores.getOrElseUpdate(folder, new MemoryFileStore)
    StoreKind("memory", make, tellsCauses = false)
  }

  private val onDisk = Seq(nio, hadoop, hadoopWithCrc, objects)
  for {
    writes <- onDisk
    reads <- onDisk
    // Nobody reaches an object store by way of checksums beside its files.
    if Set(writes, reads) != Set(objects, hadoopWithCrc)
  } contract(writes, reads)
  contract(memory, memory)
  onDisk.foreach(neverHalf(_, writes = Seeds.of(30, 100)))

  test("the store is chosen by scheme, default file system, and the user's own file manager") {
    val conf = new Configuration
    def made(path: String) =
      Using.resource(FileStores.forFolder(new HadoopPath(path), conf))(_.getClass)
    assert(made("file:/a/b") == classOf[NioFileStore])
    assert(made("/a/b") == classOf[NioFileStore])
    conf.set("fs.defaultFS", "viewfs://elsewhere/")
    assert(made("file:/a/b") == classOf[NioFileStore])
    conf.set(FileManagers.Setting, classOf[FileContextBasedCheckpointFileManager].getName)
    assert(made("file:/a/b") == classOf[HadoopFileStore])
  }

  test(
    "an object store is reached directly if its client can abort, unless a file manager is named"
  ) {
    val conf = new Configuration
    ObjectFileSystem.configure(conf)
    def made(schemes: Set[String]) = {
      val folder = new HadoopPath(s"${ObjectFileSystem.Scheme}:/a/b")
      Using.resource(FileStores.forFolder(folder, conf, schemes))(_.getClass)
    }
    val named = Set("s3a", ObjectFileSystem.Scheme)
    assert(made(named) == classOf[ObjectFileStore])
    assert(made(Set("s3a")) == classOf[HadoopFileStore])
    conf.setBoolean(ObjectFileSystem.CannotAbort, true)
    assert(made(named) == classOf[HadoopFileStore])
    conf.unset(ObjectFileSystem.CannotAbort)
    conf.set(FileManagers.Setting, classOf[FileSystemBasedCheckpointFileManager].getName)
    assert(made(named) == classOf[HadoopFileStore])
  }

  test(
    "a file manager that renames, on a file system that replaces no files, is refused when it would write"
  ) {
    val make = ManagedStores(
      classOf[FileSystemBasedCheckpointFileManager],
      classOf[KeepingFileSystem]
    ) _
    TempFolder.use { folder =>
      Using.resource(make(folder)) { store =>
        for (_ <- 1 to 2) {
          val e = intercept[InvalidException](store.write("1.changelog")(_.write(1)))
          for (
            part <- Seq(folder.toString, FileManagers.Setting, classOf[KeepingFileSystem].getName)
          )
            assert(e.getMessage.contains(part))
        }
        assert(store.list().isEmpty)
        Files.write(folder.resolve("1.changelog"), bytes(10))
        assert(store.read("1.changelog").sameElements(bytes(10)))
      }
    }
  }

  test("where the client makes no conditional creates, a file that is to be new replaces") {
    TempFolder.use { folder =>
      val conf = new Configuration
      ObjectFileSystem.configure(conf)
      conf.setBoolean(ObjectFileSystem.CannotRefuse, true)
      val path = new HadoopPath(ObjectFileSystem.Scheme, null, folder.toString)
      Using.resource(FileStores.forFolder(path, conf, Set(ObjectFileSystem.Scheme))) { store =>
        for (n <- 1 to 2) assert(store.writeNew("1.changelog")(_.write(n)))
        assert(store.read("1.changelog").sameElements(Array(2.toByte)))
      }
    }
  }

  test("nio removes the checksum that Hadoop left beside a file it replaces or deletes") {
    TempFolder.use { folder =>
      Using.resources(nio.make(folder), hadoopWithCrc.make(folder)) { (nioStore, hadoopStore) =>
        hadoopStore.write("1.changelog")(_.write(bytes(10)))
        val crc = folder.resolve(".1.changelog.crc")
        assert(Files.exists(crc))
        nioStore.write("1.changelog")(_.write(bytes(20, 1)))
        assert(!Files.exists(crc))
        hadoopStore.write("1.changelog")(_.write(bytes(10)))
        nioStore.delete("1.changelog")
        assert(!Files.exists(crc))
      }
    }
  }

  test("nio moves files in, also over one with a checksum of Hadoop's, and fails as a write does") {
    TempFolder.use { folder =>
      Using.resources(hadoopWithCrc.make(folder), nio.make(folder)) { (hadoop, local) =>
        hadoop.write("a.sst")(_.write(bytes(1000)))
        val work = Files.write(folder.resolve("work"), bytes(2000))
        assert(local.moveIn("a.sst", work))
        assert(hadoop.read("a.sst").sameElements(bytes(2000)))
        assertThrows[UnavailableException](local.moveIn("a.sst", work))
        assert(local.read("a.sst").sameElements(bytes(2000)))
      }
    }
  }

  test("an interrupted thread can still write and read locally") {
    TempFolder.use { folder =>
      Using.resource(nio.make(folder)) { store =>
        Thread.currentThread.interrupt()
        store.write("1.changelog")(_.write(bytes(100_000)))
        val read = store.read("1.changelog")
        assert(Thread.interrupted() && read.length == 100_000)
      }
    }
  }

  test("nio takes no file for a missing one that the disk cannot tell of") {
    TempFolder.use { folder =>
      Using.resource(nio.make(folder)) { store =>
        // A link to itself leads nowhere, whoever asks: a folder that may not be searched would let root in.
        val loop = folder.resolve("loop")
        Files.createSymbolicLink(loop, loop)
        for (name <- Seq("loop/1.changelog", "a" * 300)) {
          assertThrows[UnavailableException](store.exists(name))
          assertThrows[UnavailableException](store.open(name))
        }
        store.write("1.changelog")(_.write(1))
        for (name <- Seq("2.changelog", "runs/x", "1.changelog/x", "1.changelog/x/y")) {
          assert(!store.exists(name))
          assertThrows[MissingException](store.open(name))
        }
      }
    }
  }

  test("a faulty store fails the chosen calls in the chosen way") {
    val inner = new MemoryFileStore
    val store = new FaultyFileStore(inner)
    store.failAt(2, Fault.Before)
    store.failAt(3, Fault.After)
    store.failAt(4, Fault.Crash)
    store.write("1.changelog")(_.write(1))
    for (v <- 2 to 4)
      assertThrows[UnavailableException](store.write(s"$v.changelog")(_.write(bytes(100))))
    val (temporary, finished) = inner.list().map(_.name).sorted.partition(_.startsWith("."))
    assert(finished == Seq("1.changelog", "3.changelog"))
    assert(temporary.flatMap(CheckpointFiles.parse).collect { case TemporaryName(target, _, _) =>
      target
    } == Seq("4.changelog"))
    assert(inner.read(temporary.head).length == 50)
    assert(store.calls == 4 && store.log.last == "write 4.changelog")
  }
}
