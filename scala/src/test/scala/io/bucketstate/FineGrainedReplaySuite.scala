package io.bucketstate

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** What the state reader asks for: a state by way of an older one, and the changes of some batches. */
class FineGrainedReplaySuite extends TidySuite {

  /** Kind of change, key, value, batch. */
  private type Row = (RecordType.Value, (Long, String), Option[(Long, String)], Long)

  private val (a, b, c) = ((1L, "a"), (2L, "b"), (3L, "c"))

  private def condition(error: Throwable): String = error.asInstanceOf[SparkThrowable].getCondition

  private def putOf(key: (Long, String), text: String, batch: Long): Row =
    (RecordType.PUT_RECORD, key, Some((batch, text)), batch)

  private def removalOf(key: (Long, String), batch: Long): Row =
    (RecordType.DELETE_RECORD, key, None, batch)

  private val rows = Seq(
    Set(putOf(a, "one", 0), putOf(b, "two", 0)),
    Set(putOf(a, "ten", 1), putOf(c, "three", 1)),
    Set(removalOf(b, 2))
  )

  /** Three versions, with a losing attempt at the second where there are ids; the ids by version. */
  private def withVersions(keys: KeyStateEncoderSpec, settings: (String, String)*)(
      body: (ProviderHarness, BucketedStateStoreProvider, Seq[Option[String]]) => Unit
  ): Unit = withFolder { folder =>
    val harness = new ProviderHarness(folder, keys)
    val writer = harness.provider(settings: _*)
    val first = attempt(writer, 0, None)(a -> (0L, "one"), b -> (0L, "two"))().stateStoreCkptId
    if (first.isDefined) attempt(writer, 1, first)(a -> (9L, "lost"))()
    val second =
      attempt(writer, 1, first)(a -> (1L, "ten"), c -> (1L, "three"))().stateStoreCkptId
    val third = attempt(writer, 2, second)()(b).stateStoreCkptId
    writer.close()
    val provider = harness.provider(settings: _*)
    try
      body(
        harness,
        ours(provider),
        Seq(None, first, second, third)
      )
    finally provider.close()
  }

  private def feed(
      provider: BucketedStateStoreProvider,
      from: Long,
      to: Long,
      id: Option[String],
      columnFamily: Option[String] = None
  ): Seq[Row] = {
    val records = provider.getStateStoreChangeDataReader(from, to, columnFamily, id)
    val found = records.map { case (kind, key, value, batch) =>
      (kind, keyOf(key), Option(value).map(valueOf), batch)
    }.toList
    records.closeIfNeeded()
    found
  }

  private val states = Seq(
    Map.empty,
    Map(a -> (0L, "one"), b -> (0L, "two")),
    Map(a -> (1L, "ten"), b -> (0L, "two"), c -> (1L, "three")),
    Map(a -> (1L, "ten"), c -> (1L, "three"))
  )

  for {
    (format, settings) <- Seq("1" -> Nil, "2" -> Seq(Format2))
    (name, keys) <- Seq("plain" -> plainKeys, "prefix" -> prefixKeys)
  } {
    test(s"the changes of any span of versions, format $format, $name keys") {
      withVersions(keys, settings: _*) { (_, provider, ids) =>
        for {
          from <- 1 to 3
          to <- from to 3
        } {
          val found = feed(provider, from.toLong, to.toLong, ids(to))
          assert(found.map(_._4) == found.map(_._4).sorted, "batch by batch")
          assert(
            found.groupBy(_._4).map { case (n, r) => n.toInt -> r.toSet } ==
              (from to to).map(v => v - 1 -> rows(v - 1)).toMap
          )
        }
        assert(feed(provider, 1, 1, ids(1), Some("default")).toSet == rows.head)
      }
    }

    test(s"a state by way of any older one, format $format, $name keys") {
      withVersions(keys, settings: _*) { (_, provider, ids) =>
        for {
          from <- 1 to 3
          to <- from to 3
        } {
          val reader =
            provider.replayReadStateFromSnapshot(from.toLong, to.toLong, ids(from), ids(to))
          assert(reader.version == to)
          assert(contents(reader) == states(to))
          ours(reader).release()
        }
      }
    }
  }

  test("a replayed store can be written to, but not committed") {
    withVersions(plainKeys) { (harness, provider, _) =>
      val store = provider.replayStateFromSnapshot(1, 2, readOnly = true, None, None)
      assert(contents(store) == states(2))
      store.put(key(7, "z"), value(7, "z"))
      assert(ours(store).keyExists(key(7, "z"), Default))
      val refused = intercept[Exception](store.commit())
      assert(condition(refused.getCause) == "STATE_STORE_UNSUPPORTED_OPERATION")
      store.abort()
      assert(store.metrics.numKeys == 3)
      assert(!java.nio.file.Files.exists(harness.file("4.changelog")))
      assert(contents(provider.replayReadStateFromSnapshot(1, 2)) == states(2))
    }
  }

  test("a snapshot of another lineage than the end's is an error that names both") {
    withVersions(plainKeys, Format2) { (harness, provider, ids) =>
      val rival = harness.provider(Format2)
      val other = attempt(rival, 0, None)(a -> (0L, "other"))().stateStoreCkptId
      rival.close()
      val error =
        intercept[Exception](provider.replayReadStateFromSnapshot(1, 3, other, ids(3)))
      assert(condition(error) == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE")
      Seq(other, ids(1)).foreach(id => assert(error.getCause.getMessage.contains(id.get)))
    }
  }

  test("versions out of order, versions that are not there, and other column families") {
    withVersions(plainKeys) { (_, provider, _) =>
      val calls: Seq[() => Any] = Seq(
        () => provider.replayStateFromSnapshot(0, 2),
        () => provider.replayStateFromSnapshot(3, 2),
        () => feed(provider, 0, 2, None),
        () => feed(provider, 3, 2, None)
      )
      calls.foreach { call =>
        val error = intercept[Exception](call())
        assert(condition(error) == "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION")
      }
      val missing = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
      val late: Seq[() => Any] = Seq(
        () => feed(provider, 2, 9, None),
        () => provider.replayReadStateFromSnapshot(2, 9)
      )
      late.foreach(call => assert(condition(intercept[Exception](call())) == missing))
      val family = intercept[Exception](feed(provider, 1, 2, None, Some("other")))
      assert(
        condition(family) == "STATE_STORE_UNSUPPORTED_OPERATION_ON_MISSING_COLUMN_FAMILY"
      )
    }
  }
}
