package io.bucketstate.checkpoint.snapshot

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.checkpoint.run.{Run, RunFile, VersionSpan}
import io.bucketstate.testkit.TidySuite

/** What every recipe keeps to, whatever there is to make a snapshot of. */
class SnapshotRecipeSuite extends TidySuite with ScalaCheckPropertyChecks {

  /** Runs newest first that lead from version 1 to the last. */
  private def runs(sizes: Seq[(Int, Long)]): Seq[Run] =
    sizes
      .scanLeft((0L, Option.empty[Run])) { case ((last, _), (versions, bytes)) =>
        val file = RunFile(s"runs/$last.sst", bytes, bytes / 100, 0, Nil, 0)
        val files = if (bytes == 0) Nil else Seq(file)
        (last + versions, Some(Run(VersionSpan(last + 1, last + versions), files)))
      }
      .flatMap(_._2)
      .reverse

  private val materials = for {
    sizes <- Gen
      .choose(0, 12)
      .flatMap(Gen.listOfN(_, Gen.zip(Gen.choose(1, 20), Gen.choose(0L, 10000L))))
    versions <- Gen.choose(1, 50)
    incoming <- Gen.choose(1L, 10000L)
    keys <- Gen.choose(0L, 300L)
    hasMemory <- Gen.oneOf(true, false)
    doubtsFiles <- Gen.frequency(4 -> false, 1 -> true)
  } yield {
    val older = runs(sizes)
    val base = older.headOption.fold(0L)(_.versions.last)
    SnapshotMaterial(base + versions, incoming, keys, base, older, hasMemory, doubtsFiles)
  }

  private val cases = Gen.zip(materials, Gen.choose(1, 10))

  private def recipeTest(what: String)(
      body: (SnapshotMaterial, Int, SnapshotRecipe) => Any
  ): Unit = test(what) {
    forAll(cases, minSuccessful(500)) { case (material, maxRuns) =>
      body(material, maxRuns, SnapshotRecipe(material, maxRuns))
    }
  }

  recipeTest(
    "the new run starts behind the newest kept one, or at version 1, and ends at the version"
  ) { (material, _, recipe) =>
    assert(recipe.span.last == material.version)
    assert(recipe.span.first == recipe.kept.headOption.fold(1L)(_.versions.last + 1))
  }

  recipeTest("every run is kept, or goes into the new one, or all of them are in memory") {
    (material, _, recipe) =>
      recipe.from match {
        case RecordsFrom.Memory        => assert(recipe.kept.isEmpty && material.hasMemory)
        case RecordsFrom.Files(merged) => assert(merged ++ recipe.kept == material.older)
      }
  }

  recipeTest("there are never more runs than allowed") { (_, maxRuns, recipe) =>
    assert(recipe.kept.size + 1 <= maxRuns)
  }

  recipeTest("memory is used for whole snapshots alone, and for those wherever it can be") {
    (material, _, recipe) =>
      assert((recipe.from == RecordsFrom.Memory) == (recipe.isWhole && material.hasMemory))
      if (material.hasMemory && material.doubtsFiles) assert(recipe.isWhole)
  }

  recipeTest("a run that holds no version again is an append") { (material, _, recipe) =>
    val again = recipe.span.first <= material.base || recipe.isWhole
    assert(recipe.rewrites == again)
  }

  private val beside = Gen.oneOf(
    Gen.const(Beside.Nothing),
    Gen.const(Beside.Compaction),
    Gen.choose(0, 12).map(Beside.UnderWay)
  )

  test("what may be left to a compaction is, and the runs do not pile up all the same") {
    forAll(Gen.zip(cases, beside), minSuccessful(1000)) { case ((material, maxRuns), given) =>
      val newest = given match {
        case Beside.UnderWay(newer) => Beside.UnderWay(math.min(newer, material.older.size))
        case other                  => other
      }
      val alone = SnapshotRecipe(material, maxRuns)
      val recipe = SnapshotRecipe(material, maxRuns, newest)
      assert(recipe.span.first == recipe.kept.headOption.fold(1L)(_.versions.last + 1))
      assert(material.older.endsWith(recipe.kept))
      // Memory is read by who is asked for the whole alone.
      if (recipe.from == RecordsFrom.Memory) assert(recipe == alone)
      recipe.compact match {
        case Some(count) =>
          assert(newest == Beside.Compaction)
          assert(recipe.kept == material.older && recipe.from == RecordsFrom.Files(Nil))
          assert(recipe.kept.drop(count - 1) == alone.kept)
        case None if newest == Beside.Compaction => assert(recipe == alone)
        case None                                => ()
      }
      newest match {
        // Of what a compaction merges nothing is merged otherwise, unless all is.
        case Beside.UnderWay(newer) if !recipe.isWhole =>
          assert(recipe.kept.size >= material.older.size - newer)
          if (newer > 0) {
            val most = math.max(2 * maxRuns, material.older.size - newer + 1)
            assert(recipe.kept.size + 1 <= most)
          }
        case Beside.UnderWay(_) => ()
        case _                  => assert(recipe.kept.size + 1 <= math.max(2 * maxRuns, 1))
      }
    }
  }
}
