package io.bucketstate.store

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.Expiry
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{MemoryFileStore, SetClock, StoreHarness, TempFolder}

/**
 * Without checkpoint ids, an attempt that was given up for lost replaces a version after the next one was built on it. By
 * processing time its records have other times than the ones that were counted.
 */
class ReplacedAttemptSuite extends AnyFunSuite {

  private def second(n: Int): Instant = Instant.ofEpochSecond(n.toLong)

  for (late <- Seq(false, true))
    test(s"keys are counted by the times that the files have, replaced by a later attempt: $late") {
      TempFolder.use { folder =>
        val clock = new SetClock(Instant.ofEpochSecond(1000))
        val expiry = Expiry(10L, Some(100L), byProcessingTime = true)
        val files = new MemoryFileStore
        val harness = new StoreHarness(files, folder, Some(expiry), clock)
        val first = harness.open(withIds = false)
        batch(first, 0)("a" -> Some("1"))
        clock.set(second(1050))
        batch(first, 1)("b" -> Some("1"), "c" -> Some("1"))
        batch(first, 2)("d" -> Some("1"))
        first.close()
        clock.set(second(if (late) 1070 else 1010))
        val zombie = harness.open(withIds = false)
        batch(zombie, 1)("b" -> Some("1"), "c" -> Some("1"))
        zombie.close()

        clock.set(second(1130))
        val restarted = harness.open(withIds = false)
        for (version <- 3 until 8) {
          clock.set(clock.instant().plusSeconds(10))
          val keys = Seq("e", "f").map(k => s"$k$version")
          val session = batch(restarted, version.toLong)(keys.map(_ -> Some("2")): _*)
          val there = read(restarted, version + 1L)
          assert(
            session.table.families.head.keyCount == Some(there.size),
            s"after ${clock.instant()}"
          )
          assert(there.contains("b") == clock.instant().isBefore(second(if (late) 1180 else 1120)))
        }
        restarted.close()
        val again = harness.open(withIds = false)
        val reader = again.openForRead(Attempt(8))
        assert(reader.table.families.head.keyCount == Some(contents(reader.table, 8).size))
        reader.end()
        again.close()
      }
    }
}
