"""A state as a table of Spark's, from Python: what `Live` says of it, whatever is set."""

from __future__ import annotations

from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from bucketstate import Live
from bucketstate.config import PARTITIONS_KEY, PROVIDER_KEY
from tests.integration.streams import EVENTS, SCHEMA, Streamed, events, start, write_batches
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def plan_of(frame: DataFrame) -> str:
    with redirect_stdout(StringIO()) as plan:
        frame.explain()
    return plan.getvalue()


def test_the_state_in_sql(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=3, rows=40)
    write_batches(tmp_path / "input", EVENTS, batches)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    counted = source.parquet(str(tmp_path / "input")).groupBy("key").count()
    path = tmp_path / "checkpoint"
    assert start(counted, path, Streamed(), "update").awaitTermination(150)
    model = [
        dict(Counter(event["key"] for batch in batches[: n + 1] for event in batch))
        for n in range(3)
    ]

    with settings(spark, {PROVIDER_KEY: ROCKSDB, PARTITIONS_KEY: "7"}):
        state = spark.read.format("bucketstate").load(str(path))
        rows = state.select("key.key", "value.count", "_batch_id").collect()
        assert {key: count for key, count, _ in rows} == model[2]
        assert {batch for *_, batch in rows} == {2}

        kept = f"SELECT key.key, value.count FROM bucketstate.`{path}`"
        found = spark.sql(f"{kept} WITH (batchId = 0) WHERE key.key IN ('k1', 'k2', 'none')")
        counts = {row["key"]: row["count"] for row in found.collect()}
        assert counts == {key: model[0][key] for key in ("k1", "k2")}
        assert "reads 3 keys of" in plan_of(found)
        spark.sql(f"CREATE TEMPORARY VIEW kept USING bucketstate OPTIONS (path '{path}')")
        try:
            one = spark.table("kept").where("key.key = 'k3'")
            assert [row.value["count"] for row in one.collect()] == [model[2]["k3"]]
            assert one.rdd.getNumPartitions() == 1
        finally:
            spark.catalog.dropTempView("kept")

        with Live(path) as live:
            keys = list(model[2])
            assert [value["count"] for value in live.get_many(keys).values] == [
                model[2][key] for key in keys
            ]
        with pytest.raises(IllegalArgumentException, match=r"^Option batchId is 9, and .*leave it"):
            spark.read.format("bucketstate").option("batchId", 9).load(str(path))
