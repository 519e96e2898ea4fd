"""A state that is moved from a local disk to HDFS, there, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate.move import plan
from tests.integration.moved_queries import HDFS, OURS, PARTITIONS, PROVIDER
from tests.integration.streams import EVENTS, SCHEMA, events, write_batches

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.hdfs.conftest import Hdfs


def test_to_hdfs_there_and_back(spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> None:
    batches = events(batches=6)
    told: dict[str, int] = {}

    def run(checkpoint: str, provider: str, upto: int) -> None:
        write_batches(tmp_path / "input", EVENTS, batches[upto - 2 : upto])
        spark.conf.set(PROVIDER, provider)
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        totals = source.parquet(str(tmp_path / "input")).groupBy("key")
        writer = totals.agg(F.sum("value").alias("n")).writeStream.outputMode("update")
        writer = writer.foreachBatch(
            lambda rows, _: told.update({row.key: row.n for row in rows.collect()})
        )
        query = writer.trigger(availableNow=True).option("checkpointLocation", checkpoint).start()
        assert query.awaitTermination(150)

    places = [str(tmp_path / "local"), f"{hdfs.uri}/user/moves/one", f"{hdfs.uri}/user/moves/two"]
    spark.conf.set(PARTITIONS, "3")
    try:
        run(places[0], HDFS, 2)
        plan(spark, places[0], places[1], "import", partitions=4).run()
        run(places[1], OURS, 4)
        keys = plan(spark, places[1], places[2], "rewrite", partitions=2, checkpoint_format=2).run()
        back = plan(spark, places[2], str(tmp_path / "back"), "export", to="hdfs").run()
        assert back.keys == keys.keys
        run(str(tmp_path / "back"), HDFS, 6)
    finally:
        spark.conf.unset(PROVIDER)
        spark.conf.unset(PARTITIONS)
    expected: dict[str, int] = {}
    for event in (event for batch in batches for event in batch):
        expected[event["key"]] = expected.get(event["key"], 0) + event["value"]
    assert told == expected
