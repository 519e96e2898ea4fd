"""A stateful function groups by windows of time, also where these have a watermark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import stateful
from tests.integration.comparing import named
from tests.integration.streams import run_with_restart
from tests.kit.cases import cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTES = (10, 20, 70)


WINDOWS: list[Any] = [
    (lambda: F.window("at", "1 hour"), "window"),
    (lambda: F.window("at", "1 hour").alias("hour"), "hour"),
    (lambda: F.window("at", "1 hour")["start"].alias("hour"), "hour"),
]


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
@pytest.mark.parametrize(("window", "name"), cases(WINDOWS[:1], WINDOWS))
@pytest.mark.parametrize("watermark", [True, False])
def test_groups_of_a_window(
    spark: SparkSession, tmp_path: Path, operator: Any, window: Any, name: str, watermark: bool
) -> None:
    rows = [("a", NOON + timedelta(minutes=n)) for n in MINUTES]
    made = spark.createDataFrame(rows, "key string, at timestamp")
    made.coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(made.schema).parquet(str(tmp_path / "rows"))
    if watermark:
        stream = stream.withWatermark("at", "1 hour")
    out: list[Any] = []
    query = (
        stateful.apply(
            stream,
            by=[window(), "key"],
            fn=named,
            operator=operator,
            output_mode="update",
            timeout="event" if watermark else None,
        )
        .writeStream.outputMode("update")
        .foreachBatch(lambda batch, _: out.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    columns = sorted(["at", "key", name])
    assert sorted(row.rows for row in out) == [f"1 of {columns}", f"2 of {columns}"]
    assert all(row.key.startswith(f"Key({name}=") for row in out)


def test_spark_reckons_no_watermark_from_a_window(spark: SparkSession, tmp_path: Path) -> None:
    """It takes one, and for its time the place where it lies in the row: the harness refuses it."""
    batches = [[{"key": "a", "at": NOON, "value": n}] for n in range(2)]

    def query(rows: DataFrame) -> DataFrame:
        windows = rows.select("key", F.window("at", "1 hour").alias("w"))
        marked = windows.withWatermark("w", "0 seconds")
        return stateful.apply(marked, by="key", fn=named, output_mode="update", timeout="event")

    streamed = run_with_restart(spark, tmp_path, query, batches, mode="update")
    assert [len(rows) for _, rows in sorted(streamed.batches.items()) if rows] == [1, 1]
    assert streamed.progress[-1]["eventTime"]["watermark"].startswith("1970-01-01T19:")
