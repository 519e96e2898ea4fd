"""A PySpark query whose checkpoint is on HDFS, and what the checkpoint reader says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from tests.integration.streams import EVENTS, SCHEMA, events, write_batches

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.hdfs.conftest import Hdfs


@pytest.fixture(params=[1, 2], ids=["format 1", "format 2"])
def checkpoint(
    request: pytest.FixtureRequest, spark: SparkSession, hdfs: Hdfs, tmp_path: Path
) -> str:
    """Of a query that was started three times; its path on the file system."""
    path = f"/user/tests/counts-{request.param}"
    key = "spark.sql.streaming.stateStore.checkpointFormatVersion"
    spark.conf.set(key, str(request.param))
    batches = events(batches=6)
    for part in range(3):
        write_batches(tmp_path / "input", EVENTS, batches[2 * part : 2 * part + 2])
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        counts = source.parquet(str(tmp_path / "input")).groupBy("key").agg(F.sum("value"))
        writer = counts.writeStream.outputMode("update").format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", hdfs.uri + path).start()
        assert query.awaitTermination(150)
    spark.conf.unset(key)
    return path


def expected() -> dict[str, int]:
    sums: dict[str, int] = {}
    for batch in events(batches=6):
        for event in batch:
            sums[event["key"]] = sums.get(event["key"], 0) + event["value"]
    return sums


def test_the_state_is_right_and_every_reader_says_so(
    spark: SparkSession, hdfs: Hdfs, checkpoint: str
) -> None:
    by_spark = spark.read.format("statestore").load(hdfs.uri + checkpoint).collect()
    assert {row.key.key: row.value[0] for row in by_spark} == expected()

    web: Any = fsspec.filesystem("webhdfs", host="127.0.0.1", port=hdfs.web, user="tests")
    found = Checkpoint(checkpoint, web)
    assert found.restart_version == 6
    read = found.scan().to_arrow().to_pylist()
    assert {r["key"]["key"]: next(iter(r["value"].values())) for r in read} == expected()
    report = found.verify()
    assert report.ok, report.findings
