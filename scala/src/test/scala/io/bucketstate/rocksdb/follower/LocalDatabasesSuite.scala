package io.bucketstate.rocksdb.follower

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._

import io.bucketstate.checkpoint.io.WorkFolder
import io.bucketstate.config.RocksDbConfig
import io.bucketstate.rocksdb.state.ExecutorNative
import io.bucketstate.rocksdb.{CopyingFactory, Databases => NativeDatabases}
import io.bucketstate.testkit.{TempFolder, TidySuite}

/** What a store's databases take of the machine, and that it is given back however they end. */
class LocalDatabasesSuite extends TidySuite {

  private def databases(
      newFolder: () => WorkFolder,
      others: Path => Seq[Path] = _ => Nil,
      newId: () => UUID = () => UUID.randomUUID(),
      config: RocksDbConfig = NativeDatabases.Plain
  ) = new LocalDatabases(
    newFolder,
    others,
    None,
    config,
    ExecutorNative.Limits(16L << 20, 1L << 30),
    newId
  )

  private def made(in: Path) =
    () => WorkFolder(Files.createTempDirectory(in, "work"), temporary = true)

  private def namesIn(folder: Path): Seq[String] =
    Files.list(folder).iterator.asScala.map(_.getFileName.toString).toSeq

  for (failing <- Seq("what lies beside it", "the first database"))
    test(s"a folder of its own goes when it cannot begin: $failing") {
      TempFolder.use { folder =>
        val before = ExecutorNative.stores
        def fails = throw new IllegalStateException("no")
        val all =
          if (failing == "the first database") databases(made(folder), newId = () => fails)
          else databases(made(folder), others = _ => fails)
        intercept[IllegalStateException](all.create())
        all.close()
        assert(namesIn(folder).isEmpty && ExecutorNative.stores == before)
      }
    }

  test("a factory of options is one of the jars that the task had, whichever thread makes it") {
    TempFolder.use { folder =>
      val config =
        NativeDatabases.Plain.copy(optionsFactory = Some(classOf[CopyingFactory].getName))
      val all = databases(made(folder), config = config)
      val (thread, before) = (Thread.currentThread, Thread.currentThread.getContextClassLoader)
      // As of a thread that the process makes for itself.
      thread.setContextClassLoader(ClassLoader.getPlatformClassLoader)
      try all.discard(all.create())
      finally thread.setContextClassLoader(before)
      all.close()
    }
  }

  test(
    "with the last database goes what it shares with others, although the store was closed before"
  ) {
    TempFolder.use { folder =>
      val before = ExecutorNative.stores
      val all = databases(made(folder))
      val (one, other) = (all.create(), all.create())
      assert(namesIn(folder).size == 1 && ExecutorNative.stores == before + 1)
      all.discard(one)
      all.close()
      assert(namesIn(folder).size == 1)
      all.discard(other)
      assert(namesIn(folder).isEmpty && ExecutorNative.stores == before)
      intercept[IllegalStateException](all.create())
    }
  }
}
