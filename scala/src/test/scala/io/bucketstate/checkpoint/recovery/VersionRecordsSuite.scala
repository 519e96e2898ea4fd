package io.bucketstate.checkpoint.recovery

import scala.util.Using

import io.bucketstate.checkpoint.manifest.RepairRules
import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, TempFolder, TextRecords, TidySuite}

/** A whole state that is taken once, as moves take it. */
class VersionRecordsSuite extends TidySuite {

  for (isReplaced <- Seq(false, true))
    test(s"a state that should have no keys is empty, or an error where it has some: $isReplaced") {
      TempFolder.use { folder =>
        Using.resource(new SnapshotRoom(new MemoryFileStore, folder)) { room =>
          room.commit("a" -> Some("1"))
          room.commit("a" -> None)
          if (isReplaced) room.replace(1, "a" -> Some("1"), "b" -> Some("1"))
          def records = {
            val checkpoint = room.newCheckpoint()
            val recovered =
              new Recovery(checkpoint, RepairRules(enabled = true, 1, 10)).load(2, None)
            new VersionRecords(recovered, checkpoint.assigner)
          }
          def all = {
            val taken = records
            taken.families.flatMap(taken.of(_)).map(TextRecords.keyOf)
          }
          if (isReplaced) {
            val error = intercept[CorruptException](all)
            assert(error.getMessage.contains("keys"))
            val taken = records
            val inBuckets = for {
              family <- taken.families
              bucket <- 0 until 4
              record <- taken.of(family, bucket)
            } yield TextRecords.keyOf(record)
            assert(inBuckets == Seq("b"))
          } else assert(all.isEmpty)
        }
      }
    }
}
