package io.bucketstate.move

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{StateStoreColFamilySchema, StateStoreConf}
import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.config.ConfigKey
import io.bucketstate.move.place.Deciding
import io.bucketstate.move.read.{
  OwnFamily,
  OwnRecords,
  OwnRows,
  SourceFamily,
  SourceStore,
  StateRow
}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** What files say at a version, bucket by bucket and key by key, is what a store says that was opened at it. */
class OwnRecordsSuite extends TidySuite with ScalaCheckPropertyChecks {
  private val config = OwnRecords.configOf(StateStoreConf.empty)

  private def source(ids: Option[Seq[String]]): SourceStore = {
    val schema = StateStoreColFamilySchema(Default, 0, KeySchema, 0, ValueSchema)
    val family = SourceFamily(schema, plainKeys, false, false, Deciding.Whole)
    SourceStore(0, "stateStoreSave", "default", Seq(family), family, Nil, ids)
  }

  /** The harness's folder, which is what Spark calls the root of the states. */
  private def root(harness: ProviderHarness): Path = {
    val link = harness.folder.resolve("state")
    if (!java.nio.file.Files.exists(link))
      java.nio.file.Files.createSymbolicLink(link, harness.folder)
    new Path(s"file:${harness.folder}")
  }

  private def pair(row: StateRow) = keyOf(row.key) -> valueOf(row.values.next())

  private def rows(harness: ProviderHarness, version: Long, id: Option[String]) = {
    val store = source(id.map(Seq(_)))
    val all = new OwnRows(store, root(harness), 0, version, config, new Configuration(false))
    try all.map(pair).toSeq
    finally all.close()
  }

  /** What is found of keys that are looked up one by one, and then in each bucket. */
  private def lookedUp(harness: ProviderHarness, version: Long, id: Option[String]) = {
    val store = source(id.map(Seq(_)))
    val records =
      new OwnRecords(store, root(harness), 0, version, config, new Configuration(false))
    try {
      val families = records.state.families
        .map(new OwnFamily(store, store.families.head, _, records.state, evolving = None))
      val found = for {
        family <- families
        k <- 0L to 41L
        row <- family.of(key(k, "k"))
      } yield pair(row)
      val buckets = families.flatMap { family =>
        family.inBuckets(Iterator.range(0, records.numBuckets)).map(pair)
      }
      (found, buckets)
    } finally records.close()
  }

  private val batches = Gen.listOfN(
    12,
    Gen.zip(
      Gen.listOf(Gen.zip(Gen.choose(0L, 40L), Gen.choose(0L, 1000L))),
      Gen.listOf(Gen.choose(0L, 40L)),
      Gen.oneOf(true, false)
    )
  )

  for (format <- Seq(1, 2))
    test(s"any history, at each version, in checkpoint format $format") {
      forAll(batches, minSuccessful(8)) { history =>
        val settings = Seq(
          ConfigKey.SnapshotMaxVersions.key -> "3",
          ConfigKey.SnapshotMode.key -> "sync"
        ) ++ Option.when(format == 2)(Format2)
        withHarness(settings) { harness =>
          val provider = harness.provider()
          val expected = history.zipWithIndex.scanLeft(
            (Map.empty[(Long, String), (Long, String)], Option.empty[String])
          ) { case ((state, id), ((puts, removes, _), version)) =>
            val put = puts.map { case (k, v) => (k, "k") -> (v, s"v$v") }
            val gone = removes.map(k => (k, "k"))
            val made = attempt(provider, version.toLong, id)(put: _*)(gone: _*)
            ((state ++ put) -- gone, made.stateStoreCkptId)
          }
          for (((state, id), version) <- expected.zipWithIndex.drop(1)) {
            val found = rows(harness, version.toLong, id)
            assert(found.size == state.size && found.toMap == state, s"version $version")
            val (keys, buckets) = lookedUp(harness, version.toLong, id)
            assert(keys.size == state.size && keys.toMap == state, s"version $version")
            assert(buckets.size == state.size && buckets.toMap == state, s"version $version")
          }
        }
      }
    }
}
