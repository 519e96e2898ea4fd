package io.bucketstate

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.testkit.FamilyRows._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{EngineUnderTest, FamilyRows, ProviderHarness, TidySuite}

/** Spark's own writer of whole partitions, which its offline tools write state with. */
class SparkWriterSuite extends TidySuite with FamilyRows {
  private val batch = 41L

  private def confOf(settings: Seq[(String, String)]): StateStoreConf = {
    val conf = new SQLConf
    conf.setConfString("spark.sql.streaming.stateStore.providerClass", ProviderClass)
    (EngineUnderTest.settings ++ settings).foreach { case (k, v) => conf.setConfString(k, v) }
    StateStoreConf(conf)
  }

  /** As Spark hands it: the partition's key, which nobody looks at, and what is to be written. */
  private def record(key: UnsafeRow, value: UnsafeRow, family: String): InternalRow =
    new GenericInternalRow(
      Array[Any](null, key.getBytes, value.getBytes, UTF8String.fromString(family))
    )

  private def info(
      name: String,
      key: StructType,
      value: StructType,
      spec: KeyStateEncoderSpec,
      lists: Boolean
  ) = name -> StatePartitionWriterColumnFamilyInfo(
    StateStoreColFamilySchema(name, 0, key, 0, value, Some(spec)),
    useMultipleValuesPerKey = lists
  )

  private def write(
      harness: ProviderHarness,
      settings: Seq[(String, String)],
      infos: Map[String, StatePartitionWriterColumnFamilyInfo],
      records: Seq[InternalRow]
  ): StateStoreCheckpointInfo = new StatePartitionAllColumnFamiliesWriter(
    confOf(settings),
    new Configuration(false),
    partitionId = 0,
    targetCpLocation = s"file:${harness.folder.getParent}",
    operatorId = 0,
    StateStoreId.DEFAULT_STORE_NAME,
    batch,
    infos,
    None
  ).write(records.iterator)

  for ((kind, settings) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2))) {
    test(s"one column family, $kind") {
      withFolder { root =>
        val harness = new ProviderHarness(root.resolve("state"))
        val rows = (1 to 300).map(n => ((n % 9).toLong, s"k$n") -> (n.toLong, s"v$n")).toMap
        val records = rows.toSeq.map { case ((a, b), (c, d)) =>
          record(key(a, b), value(c, d), Default)
        }
        val infos = Map(info(Default, KeySchema, ValueSchema, plainKeys, lists = false))
        val made = write(harness, settings, infos, records)
        assert(made.batchVersion == batch + 1 && made.baseStateStoreCkptId.isEmpty)
        assert(made.stateStoreCkptId.isDefined == settings.nonEmpty)
        val provider = harness.provider(settings: _*)
        val read = provider.getReadStore(batch + 1, made.stateStoreCkptId)
        assert(contents(read) == rows)
        ours(read).release()
        attempt(provider, batch + 1, made.stateStoreCkptId)((1L, "next") -> (1L, "n"))()
        provider.close()
      }
    }

    test(s"column families with every key encoder, and lists in their order, $kind") {
      withFolder { root =>
        val harness = new ProviderHarness(root.resolve("state"), families = true)
        val infos = families
          .map(f => info(f.name, keySchema, valueSchema, f.kind.spec, f.lists))
          .toMap
        val model = families.map { family =>
          family.name -> keys.zipWithIndex.map { case (key, n) =>
            key -> (if (family.lists) Seq(n, n + 1, n) else Seq(n))
          }.toMap
        }.toMap
        val records = for {
          (family, pairs) <- model.toSeq
          (key, values) <- pairs.toSeq
          n <- values
        } yield record(keyRow(key), valueRow(n), family)
        val made = write(harness, settings, infos, records)
        val provider = harness.provider(settings: _*)
        val store = provider.getStore(batch + 1, made.stateStoreCkptId)
        families.foreach { family =>
          family.make(store)
          val found = store.iterator(family.name)
          val first = found.map(p => keyOf(p.key) -> valueOf(p.value)).toMap
          found.close()
          assert(first == model(family.name).map { case (k, all) => k -> all.head })
          if (family.lists)
            keys.foreach { key =>
              val all = store.valuesIterator(keyRow(key), family.name).map(valueOf).toSeq
              assert(all == model(family.name)(key))
            }
        }
        assert(store.commit() == batch + 2)
        provider.close()
      }
    }
  }
}
