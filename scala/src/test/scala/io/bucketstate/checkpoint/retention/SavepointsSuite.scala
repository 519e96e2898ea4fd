package io.bucketstate.checkpoint.retention

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import io.bucketstate.checkpoint.io.{Attempt, FileStore, NioFileStore}
import io.bucketstate.error.{CorruptException, UnavailableException}
import io.bucketstate.testkit.{Fault, FaultyFileStore, MemoryFileStore, TidySuite}

/** What Python writes is read here: the golden files are the same for both. */
class SavepointsSuite extends TidySuite {
  private val golden: Path = Paths.get("tests/golden/v1/savepoints")
  private val withIds = "before-release.0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d.json"
  private val without = "nightly.2026.11.5d6e7f80-9a1b-4c2d-8e3f-4a5b6c7d8e9f.json"

  private def all(files: FileStore): Map[String, Savepoint] =
    new Savepoints(() => 0L).asOf(0L)(files).map(s => s.name -> s).toMap

  private def bytes(name: String): Array[Byte] = Files.readAllBytes(golden.resolve(name))

  test("the golden files") {
    val found = all(new NioFileStore(golden))
    assert(found.keySet == Set("before-release", "nightly.2026.11"))
    val first = found("before-release")
    assert(first.batch == 41)
    assert(
      first.of(StoreOfQuery(0, 1, "default")) ==
        Attempt(42, Some("7d0c1f5e-3a2b-4c6d-9e8f-102132435465"))
    )
    assert(
      first.of(StoreOfQuery(1, 0, "left-keyToNumValues")) ==
        Attempt(42, Some("1f2e3d4c-5b6a-4978-8695-a4b3c2d1e0f1"))
    )
    assert(first.of(StoreOfQuery(7, 0, "default")) == Attempt(42), "it is not listed")
    assert(found("nightly.2026.11").of(StoreOfQuery(0, 0, "default")) == Attempt(1))
  }

  test("no folder is no savepoint, and other files are none") {
    val files = new MemoryFileStore
    assert(all(files).isEmpty)
    files.put(s".$withIds.tmp", Array(1))
    files.put(s".$withIds", Array(1))
    files.put("README", Array(1))
    assert(all(files).isEmpty)
  }

  test("what is damaged, or may be one, is an error that names it and says what to do") {
    val sound = bytes(withIds)
    val damaged = Seq(
      withIds -> sound.take(sound.length - 1),
      withIds -> Array.emptyByteArray,
      withIds -> sound.map(b => if (b == 'o'.toByte) 'p'.toByte else b),
      withIds.replace("before", "after") -> sound,
      "other.json" -> sound,
      without -> sound
    )
    damaged.foreach { case (name, content) =>
      val files = new MemoryFileStore
      files.put(name, content)
      val e = intercept[CorruptException](all(files))
      assert(e.getMessage.contains(s"memory:/$name") && e.getMessage.contains("savepoint drop"))
    }
  }

  test("whatever byte is another, no savepoint is read with other content") {
    val sound = bytes(withIds)
    val expected = all(new NioFileStore(golden))("before-release")
    for (at <- sound.indices by 7) {
      val files = new MemoryFileStore
      files.put(withIds, sound.updated(at, (sound(at) ^ 1).toByte))
      assertThrows[CorruptException](assert(all(files).values.toSeq == Seq(expected)))
    }
  }

  test("one of a newer format is not passed over") {
    val files = new MemoryFileStore
    val newer = new String(bytes(without), UTF_8)
      .replace("\"formatVersion\": 1", "\"formatVersion\": 2")
    files.put(without, newer.getBytes(UTF_8))
    val e = intercept[CorruptException](all(files))
    assert(e.isNewer && e.getMessage.contains("Upgrade"))
  }

  test("all stores share a listing that is new enough, and no file is read twice") {
    var now = 10L
    val inner = new MemoryFileStore
    inner.put(withIds, bytes(withIds))
    val files = new FaultyFileStore(inner)
    val savepoints = new Savepoints(() => now)
    def names(since: Long) = savepoints.asOf(since)(files).map(_.name).toSet
    assert(names(since = 9) == Set("before-release"))
    inner.put(without, bytes(without))
    assert(names(since = 10) == Set("before-release"), "it was listed at that moment")
    assert(files.log == Seq("list ", s"read $withIds"))
    now = 20
    assert(names(since = 11) == Set("before-release", "nightly.2026.11"))
    assert(files.log.drop(2) == Seq("list ", s"read $without"))
    inner.delete(withIds)
    now = 30
    assert(names(since = 30) == Set("nightly.2026.11"))
  }

  test("a listing or a read that fails is an error, and is made anew the next time") {
    val inner = new MemoryFileStore
    inner.put(withIds, bytes(withIds))
    val files = new FaultyFileStore(inner)
    val savepoints = new Savepoints(() => 0L)
    for (call <- 1 to 2) {
      files.failAt(files.calls + call, Fault.Before)
      assertThrows[UnavailableException](savepoints.asOf(0L)(files))
    }
    assert(savepoints.asOf(0L)(files).size == 1)
  }

  test("one that is dropped between the listing and the read is none") {
    val inner = new MemoryFileStore
    inner.put(withIds, bytes(withIds))
    val files = new FaultyFileStore(
      inner,
      watch = call => if (call.startsWith("after list")) inner.delete(withIds)
    )
    assert(new Savepoints(() => 0L).asOf(0L)(files).isEmpty)
  }
}
