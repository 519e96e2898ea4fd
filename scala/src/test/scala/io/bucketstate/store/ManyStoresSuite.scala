package io.bucketstate.store

import java.nio.file.{Files, Path}

import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.Engine
import io.bucketstate.rocksdb.ExecutorNative
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{MemoryFileStore, StoreHarness, TempFolder}

/** The stores of 200 partitions with three operators, in one executor: what they share does not grow with them. */
class ManyStoresSuite extends AnyFunSuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(120, Seconds), interval = Span(50, Millis))

  private val stores = 600
  private val batches = 4

  /** Of this process, those of native code included. */
  private def threads: Int =
    Using.resource(Files.list(Path.of("/proc/self/task")))(_.count.toInt)

  for (engine <- Seq(Engine.Heap.name, Engine.RocksDb.name))
    test(s"$stores stores share the threads, and each gets its snapshot: $engine") {
      assume(Files.isDirectory(Path.of("/proc/self/task")))
      TempFolder.use { folder =>
        val before = ExecutorNative.stores
        val made = Seq.fill(stores)(new MemoryFileStore)
        val harnesses = made.map(new StoreHarness(_, folder, retained = 2))
        def opened(): Seq[OpenStore] =
          harnesses.map(
            _.open(withIds = false, "engine" -> engine, "snapshot.maxVersions" -> "2")
          )
        def run(all: Seq[OpenStore], from: Int): Unit =
          for (version <- from until from + batches; (store, n) <- all.zipWithIndex)
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
          assert(threads - few <= Runtime.getRuntime.availableProcessors + 4)
          if (engine == Engine.RocksDb.name) assert(ExecutorNative.stores - before > stores / 2)
          eventually {
            assert(made.count(_.list("").exists(_.name.endsWith(".manifest"))) == stores)
          }
          all.foreach(_.maintain())
          all.foreach(_.close())
          assert(ExecutorNative.stores == before)

          val again = opened()
          run(again, batches)
          again.zipWithIndex.foreach { case (store, n) =>
            val expected = (0 until 2 * batches).map(v => s"k$v" -> n.toString).toMap
            assert(read(store, 2L * batches) == expected)
          }
          assert(threads - few <= Runtime.getRuntime.availableProcessors + 4)
        } finally harnesses.foreach(_.close())
        assert(ExecutorNative.stores == before)
      }
    }
}
