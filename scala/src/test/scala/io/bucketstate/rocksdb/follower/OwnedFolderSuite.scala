package io.bucketstate.rocksdb.follower

import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.bucketstate.testkit.{TempFolder, TidySuite}

/** Folders of processes that died are told from those in use, and in use they stay. */
class OwnedFolderSuite extends TidySuite {
  private val locks = Path.of("/proc/locks")
  private val newId = () => UUID.randomUUID()

  /** Whether some process has a lock on the folder's file. */
  private def isLocked(folder: OwnedFolder): Boolean = {
    val inode = Files.getAttribute(folder.path.resolve("bucketstate.owner"), "unix:ino")
    Files.readAllLines(locks).asScala.exists(_.contains(s":$inode "))
  }

  private def dead(in: Path, name: String, hasOwner: Boolean = true): Path = {
    val path = Files.createDirectories(in.resolve(name))
    Files.createFile(path.resolve("1.sst"))
    if (hasOwner) Files.createFile(path.resolve("bucketstate.owner"))
    path
  }

  test("what nobody has locked goes, what is being made and what is no such folder stay") {
    TempFolder.use { folder =>
      val gone = Seq("db-1-2-x", "db-x").map(dead(folder, _))
      val kept = Seq(dead(folder, "db-3-4-x", hasOwner = false), dead(folder, "other"))
      val own = OwnedFolder.make(folder, newId)
      assert(OwnedFolder.deleteDead(folder) == 2)
      assert(
        gone.forall(!Files.exists(_)) && kept.forall(Files.exists(_)) && Files.exists(own.path)
      )
      own.delete()
      assert(!Files.exists(own.path))
      assert(OwnedFolder.deleteDead(folder.resolve("none")) == 0)
    }
  }

  test("one without anything in it goes, and is made anew if it was just being made") {
    TempFolder.use { folder =>
      Files.createDirectories(folder.resolve("db-1-2-x"))
      assert(OwnedFolder.deleteDead(folder) == 1)
      assert(Files.list(folder).iterator.asScala.isEmpty)
      val isOver = new AtomicBoolean
      val others = new Thread(() =>
        while (!isOver.get)
          Using.resource(Files.list(folder)) {
            _.iterator.asScala.foreach(path => Try(Files.delete(path)))
          }
      )
      others.start()
      val own =
        try Seq.fill(300)(OwnedFolder.make(folder, newId))
        finally {
          isOver.set(true)
          others.join()
        }
      assert(own.forall(one => Files.exists(one.path.resolve("bucketstate.owner"))))
      own.foreach(_.delete())
    }
  }

  test("one that is found dead between its making and its lock is made anew") {
    TempFolder.use { folder =>
      var tries = 0
      val own = OwnedFolder.make(
        folder,
        newId,
        channel => {
          tries += 1
          if (tries == 1) {
            val made = Files.list(folder).iterator.asScala.toSeq
            assert(made.count(OwnedFolder.deleteIfDead) == 1)
          }
          channel.lock()
        }
      )
      assert(tries == 2 && Files.list(folder).iterator.asScala.toSeq == Seq(own.path))
      assume(Files.isReadable(locks))
      assert(isLocked(own))
      own.delete()
    }
  }

  test(
    "one whose lock is refused leaves nothing, and who comes too late for a dead one passes it by"
  ) {
    TempFolder.use { folder =>
      intercept[IOException] {
        OwnedFolder.make(folder, newId, _ => throw new IOException("no locks left"))
      }
      assert(Files.list(folder).iterator.asScala.isEmpty)
      assert(!OwnedFolder.deleteIfDead(folder.resolve("db-gone")))
    }
  }

  test("a process that looks for the dead does not lose the locks on its own") {
    assume(Files.isReadable(locks))
    TempFolder.use { folder =>
      val own = Seq.fill(2)(OwnedFolder.make(folder, newId))
      assume(own.forall(isLocked))
      assert(OwnedFolder.deleteDead(folder) == 0)
      assert(own.forall(isLocked))
      own.foreach(_.delete())
    }
  }
}
