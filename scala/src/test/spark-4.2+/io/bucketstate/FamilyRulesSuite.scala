package io.bucketstate

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.testkit.FamilyRows._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{FamilyRows, TidySuite}

/** What is refused of column families, with the exceptions of Spark's RocksDB provider. */
class FamilyRulesSuite extends TidySuite with FamilyRows {

  private def condition(call: => Any): String =
    intercept[Exception](call) match {
      case e: org.apache.spark.SparkThrowable => e.getCondition
      case other                              => other.getClass.getSimpleName
    }

  test("names are checked as Spark's RocksDB provider checks them") {
    withFamilies { (_, store) =>
      def make(name: String, isInternal: Boolean = false): Unit = store.createColFamilyIfAbsent(
        name,
        keySchema,
        valueSchema,
        NoPrefixKeyStateEncoderSpec(keySchema),
        isInternal = isInternal
      )
      val invalid = "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME"
      Seq("", " ", " a", "a ", "default").foreach(name => assert(condition(make(name)) == invalid))
      val reserved = "STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS"
      assert(condition(make("$own")) == reserved)
      make("$own", isInternal = true)
      make("default", isInternal = true)
      assert(store.allColumnFamilyNames("$own"))
      assert(condition(store.removeColFamilyIfExists("$own")) == reserved)
      Seq("", " a", "default").foreach { name =>
        assert(condition(store.removeColFamilyIfExists(name)) == invalid)
      }
      assert(!store.removeColFamilyIfExists("never made"))
      Seq("", "a ").foreach(name =>
        assert(condition(store.get(keyRow(keys.head), name)) == invalid)
      )
      val missing = "STATE_STORE_UNSUPPORTED_OPERATION_ON_MISSING_COLUMN_FAMILY"
      val calls: Seq[String => Any] = Seq(
        store.get(keyRow(keys.head), _),
        store.put(keyRow(keys.head), valueRow(1), _),
        store.remove(keyRow(keys.head), _),
        store.iterator,
        store.merge(keyRow(keys.head), valueRow(1), _),
        store.rangeScan(None, None, _)
      )
      calls.foreach(call => assert(condition(call("never made")) == missing))
    }
  }

  test("without column families, every other name is refused") {
    withHarness { harness =>
      val provider = harness.provider()
      val store = provider.getStore(0)
      val refused = "STATE_STORE_UNSUPPORTED_OPERATION"
      assert(condition(store.get(key(1, "a"), "other")) == refused)
      assert(condition(store.removeColFamilyIfExists("other")) == refused)
      assert(condition(Family(Plain, lists = false).make(store)) == refused)
      store.abort()
      provider.close()
      assertThrows[IllegalArgumentException] {
        new BucketedStateStoreProvider().init(
          StateStoreId(harness.folder.toString, 0, 1),
          KeySchema,
          ValueSchema,
          plainKeys,
          useColumnFamilies = false,
          StateStoreConf.empty,
          new org.apache.hadoop.conf.Configuration(false),
          useMultipleValuesPerKey = true,
          None
        )
      }
    }
  }

  test("what an encoder cannot do is refused with the exceptions of Spark's RocksDB provider") {
    withFamilies { (_, store) =>
      val key = keyRow(keys.head)
      val name = row(toName, "a")
      families.foreach { family =>
        val n = family.name
        val scansPrefixes = Set[Kind](Prefix, Range, Last)(family.kind)
        val scansRanges = Set[Kind](Range, First, Last)(family.kind)
        if (!scansPrefixes) {
          assertThrows[IllegalArgumentException](store.prefixScan(name, n))
          assertThrows[IllegalStateException](store.prefixScanWithMultiValues(name, n))
        }
        if (!scansRanges) {
          assertThrows[IllegalArgumentException](store.rangeScan(None, None, n))
          assertThrows[IllegalArgumentException](store.rangeScanWithMultiValues(None, None, n))
        }
        if (family.kind != Range) {
          assertThrows[IllegalStateException](store.deleteRange(key, key, n))
        }
        if (!family.lists) {
          assertThrows[IllegalStateException](store.merge(key, valueRow(1), n))
          assertThrows[IllegalStateException](store.mergeList(key, Array(valueRow(1)), n))
          assertThrows[IllegalStateException](store.putList(key, Array(valueRow(1)), n))
          assertThrows[IllegalStateException](store.valuesIterator(key, n))
          assertThrows[IllegalStateException](store.iteratorWithMultiValues(n))
        }
      }
      val lists = Family(Range, lists = true).name
      assertThrows[IllegalStateException](store.merge(null, valueRow(1), lists))
      assertThrows[IllegalArgumentException](store.merge(key, null, lists))
      assertThrows[IllegalArgumentException](store.putList(key, null, lists))
      assertThrows[IllegalArgumentException](store.mergeList(key, Array(valueRow(1), null), lists))
      assertThrows[IllegalStateException](store.multiGet(Array(key, null), lists))
      assertThrows[IllegalStateException](store.keyExists(null, lists))
      assertThrows[IllegalStateException](store.deleteRange(null, key, lists))
      assertThrows[IllegalStateException](store.deleteRange(key, null, lists))
      assert(store.iterator(lists).isEmpty, "nothing of that was written")
    }
  }

  test("a family that comes back with another encoder is an error that names both") {
    withFamilies { (_, store) =>
      val error = intercept[Exception] {
        store.createColFamilyIfAbsent(
          "last-values",
          keySchema,
          valueSchema,
          NoPrefixKeyStateEncoderSpec(keySchema)
        )
      }
      assert(error.getMessage.contains("spark-timestamp-postfix"))
      assert(error.getMessage.contains("compact-row/1"))
    }
  }
}
