package io.bucketstate.move

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{
  StateStoreColFamilySchema,
  StateStoreConf,
  StateStoreProvider,
  StateStoreProviderId
}
import org.apache.spark.sql.internal.SQLConf
import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.error.{BucketstateException, MissingException}
import io.bucketstate.move.place.Deciding
import io.bucketstate.move.read.{HdfsFiles, HdfsRows, KeyStamps, SourceFamily, SourceStore}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Queries, TidySuite}

/** Files of Spark's provider, read as that reads them. */
class HdfsRowsSuite extends TidySuite with ScalaCheckPropertyChecks with Queries {
  private val schema = StateStoreColFamilySchema(Default, 0, KeySchema, 0, ValueSchema)
  private val family = SourceFamily(schema, plainKeys, false, false, Deciding.Whole)
  private val source =
    SourceStore(0, "stateStoreSave", "default", Seq(family), family, Nil, None)

  private def confOf(settings: (String, String)*): StateStoreConf = {
    val conf = new SQLConf
    conf.setConfString(
      "spark.sql.streaming.stateStore.providerClass",
      CountsToMove.Providers("hdfs")
    )
    conf.setConfString("spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag", "false")
    settings.foreach { case (key, value) => conf.setConfString(key, value) }
    new StateStoreConf(conf)
  }

  private def providerOf(root: Path, conf: StateStoreConf): StateStoreProvider =
    StateStoreProvider.createAndInit(
      StateStoreProviderId(source.id(root, 0), java.util.UUID.randomUUID()),
      KeySchema,
      ValueSchema,
      plainKeys,
      useColumnFamilies = false,
      conf,
      new Configuration(false),
      useMultipleValuesPerKey = false,
      None
    )

  private val writes = Gen.zip(Gen.choose(0L, 25L), Gen.option(Gen.choose(0L, 1000L)))
  private val batches = Gen.listOfN(8, Gen.listOf(writes))

  for (checksums <- Seq(false, true))
    test(s"any history, at each version, snapshots or not, checksums: $checksums") {
      withSession() { (_, _) =>
        forAll(batches, Gen.choose(1, 9), minSuccessful(6)) { (history, every) =>
          withFolder { folder =>
            val conf = confOf(
              "spark.sql.streaming.stateStore.rowChecksum.enabled" -> checksums.toString,
              "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "1"
            )
            val root = new Path(s"file:$folder")
            val provider = providerOf(root, conf)
            try {
              var expected = Map.empty[(Long, String), (Long, String)]
              for ((batch, version) <- history.zipWithIndex) {
                val store = provider.getStore(version.toLong, None)
                batch.foreach {
                  case (k, Some(v)) =>
                    store.put(key(k, "k"), value(v, s"v$v"))
                    expected += (k, "k") -> ((v, s"v$v"))
                  case (k, None) =>
                    store.remove(key(k, "k"))
                    expected -= ((k, "k"))
                }
                store.commit()
                if (version % every == 0) provider.doMaintenance()
                val rows =
                  new HdfsRows(source, root, 0, version + 1L, conf, new Configuration(false))
                val found =
                  try rows.map(row => keyOf(row.key) -> valueOf(row.values.next())).toSeq
                  finally rows.close()
                assert(found.size == expected.size && found.toMap == expected, version)
              }
            } finally provider.close()
          }
        }
      }
    }

  test("which files lead to a version") {
    val names =
      Seq("1.delta", "2.delta", "2.snapshot", "3.delta", "4.delta", ".5.delta.tmp", "x.snapshot")
    val folder = new Path("/state")
    assert(
      HdfsFiles.leadingTo(4, names, folder) == HdfsFiles(
        Some("2.snapshot"),
        Seq("3.delta", "4.delta")
      )
    )
    assert(HdfsFiles.leadingTo(1, names, folder) == HdfsFiles(None, Seq("1.delta")))
    val error = intercept[MissingException](HdfsFiles.leadingTo(5, names, folder))
    assert(error.getMessage.contains("/state/5.delta"))
  }

  test(
    "a file that is damaged, at each of its bytes, is an error in the project's words or reads as it was"
  ) {
    withSession() { (_, _) =>
      withFolder { folder =>
        val conf = confOf("spark.sql.streaming.stateStore.rowChecksum.enabled" -> "true")
        val root = new Path(s"file:$folder")
        val file = folder.resolve("state/0/0/1.delta")
        val provider = providerOf(root, conf)
        val store = provider.getStore(0L, None)
        (0L until 5L).foreach(k => store.put(key(k, "k"), value(k, s"v$k")))
        store.commit()
        provider.close()
        val bytes = Files.readAllBytes(file)
        Files.deleteIfExists(file.resolveSibling(".1.delta.crc"))
        for (at <- bytes.indices) {
          val changed = bytes.clone()
          changed(at) = (changed(at) ^ 0x21).toByte
          Files.write(file, changed)
          try {
            val rows = new HdfsRows(source, root, 0, 1L, conf, new Configuration(false))
            try assert(rows.map(row => keyOf(row.key)._1).toSeq.sorted == (0L until 5L))
            finally rows.close()
          } catch { case _: BucketstateException => () }
        }
      }
    }
  }

  test("a stamp for each key, however many there are") {
    val stamps = new KeyStamps
    def bytes(n: Int) = s"key-$n".getBytes
    for (n <- 1 to 5000) stamps.put(bytes(n), n.toLong)
    for (n <- 1 to 5000 by 3) stamps.put(bytes(n), -n.toLong)
    for (n <- 1 to 5000) assert(stamps.get(bytes(n)) == (if (n % 3 == 1) -n.toLong else n.toLong))
    assert(stamps.get(bytes(5001)) == 0L && !stamps.isEmpty && new KeyStamps().isEmpty)
  }
}
