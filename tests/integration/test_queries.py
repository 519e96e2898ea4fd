"""Stateful queries, each restarted half-way, against the same figures from one batch query."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from flights import rotations
from tests.integration.streams import (
    DELAY,
    SCHEMA,
    events,
    final_watermark,
    run_with_restart,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.integration.streams import Event, Streamed

WATERMARK = f"{int(DELAY.total_seconds())} seconds"


def in_one_batch(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(str(folder / "input"))


def sorted_rows(rows: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows.collect())


def ended_by(watermark: datetime, windows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The windows that the watermark has passed.

    Not a filter of the batch query: Spark 4.2 pushes one on a session's end below the merging of
    sessions, where it drops events instead of sessions.
    """
    return [window for window in windows if window[1].astimezone(UTC) <= watermark]


def assert_state_was_dropped(streamed: Streamed, watermark: datetime) -> None:
    """The watermark really moved, and state behind it is gone."""
    last = streamed.progress[-1]
    assert last["eventTime"]["watermark"].startswith(watermark.strftime("%Y-%m-%dT%H:%M:%S"))
    assert sum(o["numRowsRemoved"] for p in streamed.progress for o in p["stateOperators"]) > 0


def test_windowed_aggregation(spark: SparkSession, tmp_path: Path) -> None:
    def counts(source: DataFrame) -> DataFrame:
        counted = source.groupBy(F.window("at", "10 minutes").alias("w"), "key")
        sums = counted.agg(F.count("*").alias("n"), F.sum("value").alias("sum"))
        return sums.select("w.start", "w.end", "key", "n", "sum")

    batches = events()
    watermark = final_watermark(batches)
    streamed = run_with_restart(spark, tmp_path, streaming(counts), batches)
    expected = sorted_rows(counts(in_one_batch(spark, tmp_path)))
    assert sorted(streamed.rows()) == ended_by(watermark, expected)
    assert len(streamed.rows()) > 50
    streamed.assert_on_bucketstate()
    assert_state_was_dropped(streamed, watermark)


def test_session_windows(spark: SparkSession, tmp_path: Path) -> None:
    def sessions(source: DataFrame) -> DataFrame:
        grouped = source.groupBy(F.session_window("at", "6 minutes").alias("s"), "key")
        sums = grouped.agg(F.count("*").alias("n"), F.sum("value").alias("sum"))
        return sums.select("s.start", "s.end", "key", "n", "sum")

    batches = events()
    watermark = final_watermark(batches)
    streamed = run_with_restart(spark, tmp_path, streaming(sessions), batches)
    expected = sorted_rows(sessions(in_one_batch(spark, tmp_path)))
    assert sorted(streamed.rows()) == ended_by(watermark, expected)
    assert max(n for _, _, _, n, _ in streamed.rows()) > 1
    streamed.assert_on_bucketstate()
    assert_state_was_dropped(streamed, watermark)


def test_drop_duplicates(spark: SparkSession, tmp_path: Path) -> None:
    def distinct(source: DataFrame) -> DataFrame:
        return source.dropDuplicates(["at", "key", "value"])

    batches = events()
    streamed = run_with_restart(spark, tmp_path, streaming(distinct), batches)
    expected = distinct(in_one_batch(spark, tmp_path))
    assert sorted(streamed.rows()) == sorted_rows(expected)
    assert len(streamed.rows()) < sum(map(len, batches))
    streamed.assert_on_bucketstate()
    assert_state_was_dropped(streamed, final_watermark(batches))


def test_apply_in_pandas_with_state_and_timeout(spark: SparkSession, tmp_path: Path) -> None:
    """The demo's rotations, on flights so sparse that most rotations end by their timeout."""
    schema = "scheduled timestamp, tailnum string, dep_delay int, arr_delay int"
    arrow = pa.schema(
        [
            ("scheduled", pa.timestamp("us", tz="UTC")),
            ("tailnum", pa.string()),
            ("dep_delay", pa.int32()),
            ("arr_delay", pa.int32()),
        ]
    )
    batches = sparse_flights()
    streamed = run_with_restart(
        spark,
        tmp_path,
        rotations.query,
        batches,
        mode="update",
        spark_schema=schema,
        arrow_schema=arrow,
    )
    latest = {row[:2]: row for row in streamed.rows()}
    answer = [(*row[:-1], row[-1] != rotations.OPEN) for row in latest.values()]
    year = spark.read.schema(schema).parquet(str(tmp_path / "input"))
    assert sorted(answer) == sorted_rows(rotations.batch(year))
    closed_by = [row[-1] for row in latest.values()]
    assert set(closed_by) == {rotations.OPEN, rotations.BY_GAP, rotations.BY_TIMEOUT}
    streamed.assert_on_bucketstate()


def streaming(query: Any) -> Any:
    """The batch query itself, as a stream: with a watermark before it."""
    return lambda source: query(source.withWatermark("at", WATERMARK))


def sparse_flights() -> list[list[Event]]:
    """Events stretched so that a batch spans days: keys are aircraft, some are cancelled."""
    first = events()[0][0]["at"]
    flights = [
        {
            "scheduled": first + (e["at"] - first) * 80,
            "tailnum": None if e["value"] == 0 else e["key"],
            "dep_delay": None if e["value"] % 9 == 1 else e["value"] - 20,
            "arr_delay": None if e["value"] % 9 == 2 else e["value"] - 30,
        }
        for e in sorted((e for batch in events() for e in batch), key=lambda e: e["at"])
    ]
    size = len(flights) // 6
    return [flights[n : n + size] for n in range(0, len(flights), size)]
