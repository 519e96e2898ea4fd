package io.bucketstate.checkpoint.recovery

import scala.util.Using

import io.bucketstate.checkpoint.manifest.RepairRules
import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Scans}
import io.bucketstate.testkit.{
  Changes,
  MemoryFileStore,
  SnapshotRoom,
  TempFolder,
  TextRecords,
  TidySuite
}

/** Families that are removed before their buckets were loaded, or made after a restart. */
class RemovedFamilySuite extends TidySuite {

  for (isAborted <- Seq(false, true))
    test(
      s"the changelogs of a restart are let go with a family that was removed, aborted once: $isAborted"
    ) {
      TempFolder.use { folder =>
        Using.resource(new SnapshotRoom(new MemoryFileStore, folder, familyCount = 2)) { room =>
          room.commit("a" -> Some("1"), "1/b" -> Some("1"))
          room.commit("c" -> Some("2"), "1/d" -> Some("2"))
          val rules = RepairRules(enabled = true, 1, 10)
          val recovered = new Recovery(room.newCheckpoint(), rules).load(2, None)
          val table = recovered.table
          assert(recovered.loader.heldBytes > 0)
          def removing(): Unit = {
            table.begin(keepFrom = table.newest - 1, now = 0L)
            table.removeFamily(1)
          }
          if (isAborted) {
            removing()
            table.abort()
            assert(table.families.size == 2)
          }
          removing()
          table.requireVerified()
          table.commit()
          assert(table.families.map(_.records(table.newest).size) == Seq(2))
          assert(recovered.loader.heldBytes > 0)
          (1 to 3).foreach { _ =>
            table.begin(keepFrom = table.newest - 1, now = 0L)
            table.commit()
          }
          assert(table.isLoaded)
          assert(recovered.loader.heldBytes == 0)
          // A helper of a task may ask for a key of the family only now.
          val late = TextRecords.key("b", new BucketAssigner(4))
          assert(recovered.loader.find(1, late) == null)
          assert(table.families.map(_.records(table.newest).size) == Seq(2))
        }
      }
    }

  test("a family that comes after a restart has nothing to load, also over a replaced changelog") {
    TempFolder.use { folder =>
      Using.resource(new SnapshotRoom(new MemoryFileStore, folder)) { room =>
        room.commit("a" -> Some("1"))
        room.commit("b" -> Some("2"))
        room.replace(1, "a" -> Some("1"))
        val rules = RepairRules(enabled = true, 1, 10)
        val recovered = new Recovery(room.newCheckpoint(), rules).load(2, None)
        val table = recovered.table
        assert(recovered.replaced == Seq(1L))
        assert(table.families.map(_.records(2).size) == Seq(2))
        assert(table.isLoaded)
        table.begin(keepFrom = 2, now = 0L)
        val made = table.family(FamilySpec(Changes.descriptor(1), BucketKey.Whole, Scans.Nothing))
        assert(made.keyCount == Some(0L) && table.isLoaded && table.isResident)
      }
    }
  }
}
