package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec}
import io.bucketstate.error.{CorruptException, InvalidException, MissingException}
import io.bucketstate.testkit.{Changes, MemoryFileStore, TidySuite}

class LineageSuite extends TidySuite {

  private def file(version: Long, id: String = ""): Attempt =
    Attempt(version, Option(id).filter(_.nonEmpty))

  /** A folder with these changelogs, each with what it is built on. */
  private def folder(built: (Attempt, String)*): MemoryFileStore = {
    val store = new MemoryFileStore()
    val writer = new ChangelogWriter()
    built.foreach { case (changelog, base) =>
      val header = Changes
        .header(changelog.version, 4, BlockCodec.Raw)
        .copy(
          checkpointId = changelog.checkpointId,
          baseId = Option(base).filter(_.nonEmpty)
        )
      store.write(changelog.changelog)(writer.encode(header, Changes.set(Nil)).writeTo)
    }
    store
  }

  private val two =
    folder(
      file(1, "a") -> "",
      file(1, "x") -> "",
      file(2, "b") -> "a",
      file(2, "y") -> "x",
      file(3, "c") -> "b"
    )

  test("without ids it is all numbers, and nothing is read") {
    val lineage = Lineage.of(folder(), file(3))(_ => false)
    assert(lineage == Lineage(file(0), Seq(file(3), file(2), file(1))))
    assert(Lineage.of(folder(), file(0))(_ => false) == Lineage(file(0), Nil))
    assert(Lineage.of(folder(), file(9))(_.version == 7) == Lineage(file(7), Seq(file(9), file(8))))
  }

  test("ids are followed from header to header, past other attempts") {
    val c = Seq(file(3, "c"), file(2, "b"), file(1, "a"))
    assert(Lineage.of(two, file(3, "c"))(_ => false) == Lineage(file(0), c))
    val y = Seq(file(2, "y"), file(1, "x"))
    assert(Lineage.of(two, file(2, "y"))(_ => false) == Lineage(file(0), y))
  }

  test("it ends where the state can be had otherwise, of that attempt only") {
    val snapshots = Set(file(2, "y"), file(1, "a"))
    assert(
      Lineage.of(two, file(3, "c"))(snapshots) ==
        Lineage(file(1, "a"), Seq(file(3, "c"), file(2, "b")))
    )
    assert(Lineage.of(two, file(2, "y"))(snapshots) == Lineage(file(2, "y"), Nil))
  }

  test("replay goes the other way, each file with what it applies to") {
    val order = Lineage.of(two, file(3, "c"))(_.version == 1).inOrder
    assert(order == Seq(file(2, "b") -> file(1, "a"), file(3, "c") -> file(2, "b")))
  }

  test("a checkpoint that went from no ids to ids") {
    val mixed = folder(file(2) -> "", file(3, "c") -> "", file(4, "d") -> "c")
    val expected = Seq(file(4, "d"), file(3, "c"), file(2), file(1))
    assert(Lineage.of(mixed, file(4, "d"))(_ => false) == Lineage(file(0), expected))
  }

  test("what cannot be a lineage is an error that says so") {
    val gap = folder(file(3, "c") -> "b", file(4, "d") -> "c")
    val missing = intercept[MissingException](Lineage.of(gap, file(4, "d"))(_ => false))
    assert(missing.getMessage.contains("version 4 with the checkpoint id d is built on version 2"))
    assert(missing.getMessage.contains("2_b.changelog"))
    val first = folder(file(1, "a") -> "nothing")
    val corrupt = intercept[CorruptException](Lineage.of(first, file(1, "a"))(_ => false))
    assert(corrupt.getMessage.contains("found nothing"))
    assertThrows[InvalidException](Lineage.of(folder(), file(0, "a"))(_ => false))
  }
}
