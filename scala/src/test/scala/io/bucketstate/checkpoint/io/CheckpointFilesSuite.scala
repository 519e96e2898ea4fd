package io.bucketstate.checkpoint.io

import java.util.UUID

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.checkpoint.io.CheckpointFiles._
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class CheckpointFilesSuite extends TidySuite with ScalaCheckPropertyChecks {
  private val id = UUID.fromString("01234567-89ab-cdef-0123-456789abcdef")
  private val versions = Gen.oneOf(Gen.choose(0L, Long.MaxValue), Gen.choose(0L, 20L))
  private val checkpointIds = Gen.option(Gen.uuid.map(_.toString))
  private val finished: Gen[CheckpointFile] = Gen.oneOf(
    Gen.zip(versions, checkpointIds).map { case (v, c) => ChangelogName(Attempt(v, c)) },
    Gen.zip(versions, checkpointIds).map { case (v, c) => ManifestName(Attempt(v, c)) },
    Gen.zip(versions, Gen.choose(0, Int.MaxValue), Gen.uuid).map { case (v, n, u) =>
      RunName(v, n, u)
    }
  )
  private val files: Gen[CheckpointFile] = Gen.oneOf(
    finished,
    Gen.zip(finished, Gen.uuid, Gen.option(Gen.choose(0L, Long.MaxValue))).map {
      case (file, u, task) => TemporaryName(file.name, u, task)
    }
  )

  test("every file's name parses back to the file") {
    forAll(files)(file => assert(parse(file.name).contains(file)))
  }

  test("whatever parses has exactly the name it was parsed from") {
    val alphabet = Gen.oneOf(
      "0",
      "1",
      "9",
      "_",
      "-",
      ".",
      "/",
      "changelog",
      "manifest",
      "runs",
      "sst",
      "tmp",
      "TID",
      "+",
      id.toString
    )
    forAll(Gen.listOf(alphabet).map(_.mkString))(n => assert(parse(n).forall(_.name == n)))
  }

  test("names are the documented ones") {
    assert(ChangelogName(Attempt(7)).name == "7.changelog")
    assert(ChangelogName(Attempt(7, Some("a-1"))).name == "7_a-1.changelog")
    assert(ManifestName(Attempt(10)).name == "10.manifest")
    assert(RunName(10, 2, id).name == s"runs/10-2-$id.sst")
    assert(TemporaryName("7.changelog", id).name == s".7.changelog.$id.tmp")
    assert(TemporaryName(s"runs/1-0-$id.sst", id).name == s"runs/.1-0-$id.sst.$id.tmp")
  }

  test("leftovers of Spark's own file manager are recognised") {
    assert(
      parse(s".7.changelog.$id.TID42.tmp").contains(TemporaryName("7.changelog", id, Some(42)))
    )
  }

  test("names that are not ours parse to nothing") {
    val foreign = Seq(
      "",
      "changelog",
      ".changelog",
      "-1.changelog",
      "+1.changelog",
      "007.changelog",
      "1.delta",
      "1.changelog.bak",
      "1_.changelog",
      "1_a/b.changelog",
      "99999999999999999999.changelog",
      "x/1.changelog",
      s"1-0-$id.sst",
      s"runs/1-99999999999-$id.sst",
      "runs/1-0-x.sst",
      s".7.changelog.$id",
      ".7.changelog.x.tmp",
      ".7.changelog.crc",
      "_metadata",
      "1.changelog\n"
    )
    foreign.foreach(name => assert(parse(name).isEmpty, s"'$name'"))
  }

  test("what cannot be a name cannot be made") {
    assertThrows[InvalidException](ChangelogName(Attempt(-1)))
    assertThrows[InvalidException](ManifestName(Attempt(1, Some("a/b"))))
    assertThrows[InvalidException](ChangelogName(Attempt(1, Some(""))))
    assertThrows[InvalidException](RunName(1, -1, id))
  }
}
