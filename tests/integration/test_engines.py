"""The second engine from Python: the same results, and files that are read like any others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from tests.integration.streams import SCHEMA, events, run_with_restart
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    conf = Conf(
        snapshot_max_versions=2,
        engine="rocksdb",
        rocksdb_preset="small-memory",
        rocksdb_options={"cf.write_buffer_size": "64K"},
    )
    with settings(spark, conf.to_spark()):
        yield


def sums(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("sum"))


@pytest.mark.usefixtures("rocksdb")
def test_a_query_with_the_second_engine(spark: SparkSession, tmp_path: Path) -> None:
    streamed = run_with_restart(spark, tmp_path, sums, events(batches=8), mode="update")
    streamed.assert_on_bucketstate()
    written = spark.read.schema(SCHEMA).parquet(str(tmp_path / "input"))
    expected = {row["key"]: (row["n"], row["sum"]) for row in sums(written).collect()}
    # A key's last row is its newest: batches come one after another.
    assert {row[0]: (row[1], row[2]) for row in streamed.rows()} == expected
    found = Checkpoint(tmp_path / "checkpoint")
    assert found.scan().to_arrow().num_rows == len(expected)
    report = found.verify()
    assert report.ok, report.findings
    metrics = streamed.progress[-1]["stateOperators"][0]["customMetrics"]
    assert metrics["bucketedDbMemoryBytes"] > 0
