package io.bucketstate.plugin.doctor

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.bucketstate.config.{ConfigKey, MetricKey}
import io.bucketstate.plugin.queries._
import io.bucketstate.testkit.TidySuite

/** What the page advises: the rules that Python reads, evaluated to the same. */
class DoctorSuite extends TidySuite {
  import DoctorSuite._

  for (c <- golden.required("cases").elements.asScala)
    test(s"the golden case '${c.required("name").asText}' says the same as in Python") {
      val said = Doctor.of(query(c))
      val expected = c
        .required("says")
        .properties
        .asScala
        .map { e =>
          e.getKey -> e.getValue.properties.asScala.map(f => f.getKey -> f.getValue.asDouble).toMap
        }
        .toMap
      assert(said.advice.map(one => one.rule -> one.figures.toMap).toMap == expected)
      assert(said.notes.isEmpty)
    }

  test("every rule was tried") {
    val tried = golden
      .required("cases")
      .elements
      .asScala
      .flatMap(_.required("says").properties.asScala.map(_.getKey))
    assert(tried.toSet == Rules.all.operators.map(_.name).toSet)
  }

  test("settings that help are real") {
    val named = (Rules.all.operators ++ Rules.all.stores).flatMap(_.settings)
    assert(
      named.filter(_.startsWith(ConfigKey.Prefix)).toSet.subsetOf(ConfigKey.all.map(_.key).toSet)
    )
  }

  test("a query whose state is elsewhere, and one with few batches, get a note") {
    val none = golden.required("cases").get(0)
    val few = query(none).copy(batches = query(none).batches.take(5))
    assert(
      Doctor.of(few).notes == Seq(
        "operator 0 (dedupe): 4 batches after the first say too little, 5 are needed."
      )
    )
    val others = query(none).batches.map { batch =>
      batch.copy(operators = batch.operators.map(_.copy(isOurs = false)))
    }
    assert(
      Doctor.of(query(none).copy(batches = others)).notes == Seq(
        "operator 0 (dedupe): its state is not in bucketstate."
      )
    )
  }

  test("stores far behind, and a partition with more than the others") {
    val even = (0 until 8).map(p => Boards.store(p, keys = 9000L, lag = 3L))
    def said(stores: Seq[PlacedStore]) =
      Doctor.of(Boards.query(stores = stores)).advice.map(a => (a.rule, a.about, a.figures.toMap))
    assert(said(even).isEmpty)
    assert(
      said(even.updated(5, Boards.store(5, keys = 36000L, lag = 3L))) ==
        Seq(
          (
            "skewed",
            "operator 0 (dedupe), partition 5, default",
            Map("keys" -> 36000.0, "keys of others, median" -> 9000.0)
          )
        )
    )
    assert(said(even.updated(5, Boards.store(5, keys = 35999L, lag = 3L))).isEmpty)
    val behind = Boards.store(2, keys = 9000L, lag = 100L)
    assert(
      said(even.updated(2, behind)) ==
        Seq(
          (
            "long_replay",
            "operator 0 (dedupe), partition 2, default",
            Map("changelogs" -> 100.0, "bytes read" -> 102000.0)
          )
        )
    )
    val uncounted = even.map { one =>
      one.copy(status = one.status.copy(gauges = one.status.gauges + (MetricKey.Uncounted -> 1L)))
    }
    assert(said(uncounted.updated(0, Boards.store(0, keys = 1000000L, lag = 1L))).isEmpty)
  }

  test("a restart takes what the executor with most of the state takes") {
    val stores = Seq(
      Boards.store(0, keys = 1000000L, lag = 10L, executor = "1"),
      Boards.store(1, keys = 2000000L, lag = 0L, executor = "2")
    )
    val cost = Restart.of(stores)
    // Each commit of partition 0 changed ten keys and wrote a thousand bytes.
    assert(cost.changelogs == 10 && cost.updates == 100 && cost.bytes == 2000 + 2000 + 10000)
    val times = Rules.all.restart
    assert(times.secondsPerKey > 0)
    assert(math.abs(cost.seconds - (times.seconds + 2e6 * times.secondsPerKey)) < 1e-9)
    assert(Restart.of(Nil) == Restart(0, 0, 0, 0.0))
  }
}

private object DoctorSuite {
  private val golden: JsonNode =
    new ObjectMapper().readTree(Files.readAllBytes(Path.of("tests/golden/doctor/cases.json")))

  private def query(c: JsonNode): QueryView = {
    def numbers(name: String, n: Int): Map[String, Long] =
      Seq(golden, c)
        .flatMap(_.path(name).properties.asScala)
        .map { e =>
          val value = e.getValue
          e.getKey -> (if (value.isArray) value.get(0).asLong + n * value.get(1).asLong
                       else value.asLong)
        }
        .toMap
    val batches = (0 until golden.required("batches").asInt).map { n =>
      Batch(
        n.toLong,
        "2026-03-01T00:00:00.000Z",
        numbers("phases", n),
        c.path("watermarked").asBoolean(false),
        isFirst = n == 0,
        Vector(OperatorBatch("dedupe", isOurs = true, numbers("values", n)))
      )
    }
    Boards.query(batches = batches)
  }
}
