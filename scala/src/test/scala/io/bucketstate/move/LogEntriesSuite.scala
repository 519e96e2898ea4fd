package io.bucketstate.move

import java.nio.charset.StandardCharsets.UTF_8

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.CorruptException
import io.bucketstate.move.log.{CommitEntry, LogText, OffsetEntry, OperatorEntry}
import io.bucketstate.testkit.TidySuite

class LogEntriesSuite extends TidySuite {
  private val damage = new Damage("offsets/3", "offset log of batch 3")

  private def parsed(text: String): LogText = LogText.parse(text.getBytes(UTF_8), damage)

  private def lines(text: LogText): Seq[String] = new String(text.bytes, UTF_8).split("\n").toSeq

  private val offsets =
    """v1
      |{"batchWatermarkMs":5,"batchTimestampMs":7,"conf":{"a":"1","spark.sql.shuffle.partitions":"3"},"new":[1]}
      |{"logOffset":2}
      |-""".stripMargin

  test("what is not changed stays, also what no version knows") {
    val entry = OffsetEntry(3, parsed(offsets))
    assert(new String(entry.text.bytes, UTF_8) == offsets)
    val changed = entry.withSettings(Map("spark.sql.shuffle.partitions" -> "9"))
    assert(changed.settings == Map("a" -> "1", "spark.sql.shuffle.partitions" -> "9"))
    assert(lines(changed.text).drop(2) == lines(entry.text).drop(2))
    assert(lines(changed.text)(1).contains("\"new\":[1]"))
    assert(entry.settings("spark.sql.shuffle.partitions") == "3")
    assert(entry.watermarkMs == 5 && entry.plannedMs == 7)
  }

  test("sources begin anew, each by its place or by its name") {
    assert(OffsetEntry(3, parsed(offsets)).withoutOffsets.offsets == Seq("-", "-"))
    val named = parsed("v2\n{}\nfirst:{\"logOffset\":2}\nsecond:-")
    assert(OffsetEntry(3, named).withoutOffsets.offsets == Seq("first:-", "second:-"))
  }

  test("checkpoint ids come and go with the version of the entry; a later one keeps its own") {
    val ids = Map(0L -> Seq(Seq("a"), Seq("b")), 12L -> Seq(Seq("c", "d")))
    val plain = CommitEntry(3, parsed("v1\n{\"nextBatchWatermarkMs\":9}"))
    assert(plain.ids.isEmpty)
    val named = plain.withIds(Some(ids))
    assert(named.text.version == "v2" && named.ids.contains(ids))
    assert(CommitEntry(3, LogText.parse(named.text.bytes, damage)).ids.contains(ids))
    assert(named.withIds(None).text.bytes.toSeq == plain.text.bytes.toSeq)
    val sinks =
      CommitEntry(3, parsed("v3\n{\"nextBatchWatermarkMs\":9,\"sinkMetadataMap\":{\"s\":1}}"))
    assert(lines(sinks.withIds(Some(ids)).text).head == "v3")
    assert(lines(sinks.withIds(None).text)(1).contains("sinkMetadataMap"))
  }

  test("an operator's metadata, with partitions and schema files of another folder") {
    val body =
      """{"operatorInfo":{"operatorId":4,"operatorName":"transformWithStateExec"},
        |"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":3,
        |"stateSchemaFilePaths":["file:/a/state/4/_stateSchema/default/0_x"]}],
        |"operatorPropertiesJson":"{\"stateVariables\":[{\"stateName\":\"m\",\"stateVariableType\":\"MapState\"}]}"}"""
    val text = parsed(s"v2\n${body.stripMargin.replace("\n", "")}")
    val operator = OperatorEntry.of("v2/0", text, damage)
    assert(operator.variables.map(v => v.name -> v.kind) == Seq("m" -> "MapState"))
    val moved = OperatorEntry.of("v2/0", operator.moved(7, _.replace("/a/", "/b/")).text, damage)
    assert(moved.stores.map(_.partitions) == Seq(7))
    assert(moved.stores.head.schemaFiles == Seq("file:/b/state/4/_stateSchema/default/0_x"))
    assert(operator.stores.map(_.partitions) == Seq(3))
  }

  for (
    (what, text) <- Seq(
      "nothing" -> "",
      "no version" -> "{}\n{}",
      "no JSON" -> "v1\n{broken",
      "no object" -> "v1\n[1]"
    )
  ) test(s"$what is an error that names the file") {
    val error = intercept[CorruptException](parsed(text))
    assert(error.getMessage.contains("offsets/3"))
  }
}
