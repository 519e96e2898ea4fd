package io.bucketstate.store

import java.io.IOException
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.Assertion
import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.Engine
import io.bucketstate.rocksdb.state.ExecutorNative
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{MemoryFileStore, Seeds, StoreHarness, TempFolder, TidySuite}

/**
 * Stores of many partitions and operators in one executor: what they share does not grow with them, and each gets its
 * turn in the background.
 */
@Slow
class ManyStoresSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(120, Seconds), interval = Span(50, Millis))

  private val batches = 4
  private val nativeBytes = 64L << 20

  /** Of its two write buffers, a part of whose size is a filter that is there from the start. */
  private val ofEachDatabase = 4L << 20

  /** Of the JVM itself, which starts and ends them by its load: compilers, collectors. */
  private val ofTheJvm = Seq("C1 ", "C2 ", "G1 ", "GC ", "VM ")

  /** The names of this process's, those of native code included. */
  private def threads: Seq[String] = {
    val all = Using.resource(Files.list(Path.of("/proc/self/task")))(_.iterator.asScala.toSeq)
    val names = all.flatMap { thread =>
      try Some(Files.readString(thread.resolve("comm")).trim)
      catch { case _: IOException => None } // It has ended since.
    }
    names.filterNot(name => ofTheJvm.exists(prefix => name.startsWith(prefix)))
  }

  private def assertFew(before: Seq[String]): Assertion = {
    val now = threads
    val clue = s"more than before: ${now.diff(before).sorted.mkString(", ")}"
    assert(now.size - before.size <= Runtime.getRuntime.availableProcessors + 4, clue)
  }

  // Of 200 partitions with three operators, by day of 100; and as many as there are databases made of in a test's time.
  for {
    (engine, stores) <-
      Seq(Engine.Heap.name -> Seeds.of(300, 600), Engine.RocksDb.name -> Seeds.of(50, 120))
  }
    test(s"$stores stores share the threads, and each gets its snapshot: $engine") {
      assume(Files.isDirectory(Path.of("/proc/self/task")))
      TempFolder.use { folder =>
        val before = ExecutorNative.stores
        val made = Seq.fill(stores)(new MemoryFileStore)
        val harnesses = made.map(new StoreHarness(_, folder, retained = 2))
        def opened(): Seq[OpenStore] =
          harnesses.map(
            _.open(
              withIds = false,
              "engine" -> engine,
              "snapshot.maxVersions" -> "2",
              "memory.maxBytes" -> nativeBytes.toString
            )
          )
        def run(all: Seq[OpenStore], from: Int): Unit =
          for {
            version <- from until from + batches
            (store, n) <- all.zipWithIndex
          }
            batch(store, version.toLong)(s"k$version" -> Some(n.toString))
        try {
          // What the process has of them anyway is there after one.
          val first = opened().take(1)
          run(first, 0)
          first.foreach(_.close())
          made.head.list("").foreach(file => made.head.delete(file.name))
          val few = threads

          val all = opened()
          run(all, 0)
          assertFew(few)
          eventually {
            assert(made.count(_.list("").exists(_.name.endsWith(".manifest"))) == stores)
          }
          if (engine == Engine.RocksDb.name) eventually {
            assert(ExecutorNative.stores - before == stores)
          }
          assert(ExecutorNative.usedBytes <= nativeBytes + stores * ofEachDatabase)
          assertFew(few)
          all.foreach(_.maintain())
          all.foreach(_.close())
          assert(ExecutorNative.stores == before)

          val again = opened()
          run(again, batches)
          again.zipWithIndex.foreach { case (store, n) =>
            val expected = (0 until 2 * batches).map(v => s"k$v" -> n.toString).toMap
            assert(read(store, 2L * batches) == expected)
          }
          assertFew(few)
        } finally harnesses.foreach(_.close())
        assert(ExecutorNative.stores == before)
      }
    }
}
