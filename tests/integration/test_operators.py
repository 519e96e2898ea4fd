"""Every stateful operator of the DataFrame API, restarted half-way, against one batch query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import PROVIDER_CLASS
from bucketstate.checkpoint import Checkpoint
from tests.integration.streams import (
    DELAY,
    SCHEMA,
    START,
    Event,
    Streamed,
    events,
    run_with_restart,
)
from tests.kit.cases import cases
from tests.kit.session_settings import settings
from tests.kit.sparks import JOIN_FORMATS, MINOR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Query = Callable[[DataFrame], DataFrame]

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
WATERMARK = f"{int(DELAY.total_seconds())} seconds"
LATER = START + timedelta(days=30)
"""Long behind all events: brings the watermark past everything that waits for it."""


def run(
    spark: SparkSession,
    folder: Path,
    query: Query,
    mode: str = "append",
    provider: str = PROVIDER_CLASS,
) -> Streamed:
    """Small batches of events and, last, one that ends everything."""
    last: list[Event] = [{"at": LATER, "key": key, "value": 2} for key in ("left", "right")]
    streamed = run_with_restart(
        spark, folder, query, [*events(batches=5, rows=40), last], mode=mode
    )
    if provider == PROVIDER_CLASS:
        streamed.assert_on_bucketstate()
    return streamed


def expected(spark: SparkSession, folder: Path, query: Query) -> list[tuple[Any, ...]]:
    source = spark.read.schema(SCHEMA).parquet(str(folder / "input"))
    return in_order(tuple(row) for row in query(source).collect())


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [(v is None, v) for v in row])


def sums(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("sum"))


def windows(source: DataFrame) -> DataFrame:
    counted = source.groupBy(F.window("at", "10 minutes").alias("w"), "key")
    return counted.agg(F.count("*").alias("n")).select("w.start", "key", "n")


def watermarked(query: Query) -> Query:
    return lambda source: query(source.withWatermark("at", WATERMARK))


def test_aggregation_in_complete_mode(spark: SparkSession, tmp_path: Path) -> None:
    streamed = run(spark, tmp_path, sums, "complete")
    last = streamed.batches[max(streamed.batches)]
    assert in_order(last) == expected(spark, tmp_path, sums)


@pytest.mark.parametrize(("query", "keys"), [(sums, 1), (windows, 2)])
def test_aggregation_in_update_mode(
    spark: SparkSession, tmp_path: Path, query: Query, keys: int
) -> None:
    streamed = run(spark, tmp_path, watermarked(query), "update")
    latest = {row[:keys]: row for row in streamed.rows()}
    assert in_order(latest.values()) == expected(spark, tmp_path, query)


def test_drop_duplicates_within_watermark(spark: SparkSession, tmp_path: Path) -> None:
    def distinct(source: DataFrame) -> DataFrame:
        return source.withWatermark("at", WATERMARK).dropDuplicatesWithinWatermark(
            ["at", "key", "value"]
        )

    streamed = run(spark, tmp_path, distinct)
    everything = expected(spark, tmp_path, lambda source: source)
    assert in_order(streamed.rows()) == in_order(set(everything))
    assert len(streamed.rows()) < len(everything)


def test_global_limit(spark: SparkSession, tmp_path: Path) -> None:
    streamed = run(spark, tmp_path, lambda source: source.limit(110))
    everything = expected(spark, tmp_path, lambda source: source)
    assert len(streamed.rows()) == 110
    assert set(streamed.rows()) <= set(everything)
    assert [len(rows) > 0 for rows in streamed.batches.values()].count(True) == 3


def joined(kind: str) -> Query:
    """Events of two kinds and one key, at most ten minutes apart."""

    def query(source: DataFrame) -> DataFrame:
        left = source.where("value % 3 != 0").select("at", "key", F.col("value").alias("v"))
        right = source.where("value % 2 = 0").select(
            F.col("at").alias("rat"), F.col("key").alias("rkey"), F.col("value").alias("rv")
        )
        if source.isStreaming:
            left, right = left.withWatermark("at", WATERMARK), right.withWatermark("rat", WATERMARK)
        apart = F.expr("interval 10 minutes")
        near = (F.col("rat") >= F.col("at") - apart) & (F.col("rat") <= F.col("at") + apart)
        return left.join(right, (F.col("key") == F.col("rkey")) & near, kind)

    return query


KINDS = ("inner", "left_outer", "right_outer", "full_outer", "left_semi")


@pytest.mark.parametrize(
    ("kind", "state_format"),
    cases(
        list(zip(("inner", "full_outer"), JOIN_FORMATS, strict=False)),
        list(product(KINDS, JOIN_FORMATS)),
    ),
)
def test_stream_stream_join(
    spark: SparkSession, tmp_path: Path, kind: str, state_format: int
) -> None:
    chosen = {
        "spark.sql.streaming.join.stateFormatVersion": str(state_format),
        "spark.sql.streaming.join.stateFormatV4.enabled": "true",
    }
    with settings(spark, chosen):
        streamed = run(spark, tmp_path, joined(kind))
    found = [row for row in streamed.rows() if ended(row)]
    wanted = [row for row in expected(spark, tmp_path, joined(kind)) if ended(row)]
    assert in_order(found) == wanted
    assert len(found) > 20
    checkpoint = Checkpoint(str(tmp_path / "checkpoint"))
    assert checkpoint.verify().ok
    if (kind, state_format) == ("inner", 4):
        left = (
            checkpoint.scan(column_family="left-keyWithTsToValues").to_arrow()["value"].to_pylist()
        )
        assert [[value["v"] for value in values] for values in left] == [[2], [2]]


def ended(row: tuple[Any, ...]) -> bool:
    """Whether none of its events is of the last batch: those wait for a watermark of their own."""
    return all(v.astimezone(UTC) < LATER for v in row if isinstance(v, datetime))


def test_operators_in_a_row(spark: SparkSession, tmp_path: Path) -> None:
    """Duplicates go, windows are counted, and the windows' counts are summed up by the hour."""

    def chained(source: DataFrame) -> DataFrame:
        distinct = source.dropDuplicates(["at", "key", "value"])
        short = distinct.groupBy(F.window("at", "10 minutes").alias("w"), "key")
        counted = short.agg(F.count("*").alias("n"))
        hours = counted.groupBy(F.window("w", "1 hour").alias("h"))
        return hours.agg(F.sum("n").alias("events"), F.count("*").alias("windows")).select(
            "h.start", "events", "windows"
        )

    streamed = run(spark, tmp_path, watermarked(chained))
    found = [row for row in streamed.rows() if ended(row)]
    wanted = [row for row in expected(spark, tmp_path, chained) if ended(row)]
    assert in_order(found) == wanted
    assert {len(p["stateOperators"]) for p in streamed.progress} == {3}


def test_commits_are_validated(spark: SparkSession, tmp_path: Path) -> None:
    """Spark asks every store for its commit before a batch of `foreachBatch` counts as done."""
    with settings(spark, {"spark.sql.streaming.stateStore.commitValidation.enabled": "true"}):
        streamed = run(spark, tmp_path, sums, "update")
    latest = {row[0]: row for row in streamed.rows()}
    assert in_order(latest.values()) == expected(spark, tmp_path, sums)


def distinct_events(source: DataFrame) -> DataFrame:
    return source.dropDuplicates(["at", "key", "value"])


@pytest.mark.skipif(MINOR != "4.3", reason="Spark 4.3 evicts beside the rows, the others do not")
@pytest.mark.parametrize(
    ("query", "mode"), cases([(windows, "update")], [(distinct_events, "append")])
)
def test_eviction_beside_the_rows(
    spark: SparkSession, tmp_path: Path, query: Query, mode: str
) -> None:
    """The scan for what has expired is open while rows are read, written and removed."""
    answers: list[tuple[Any, ...]] = []
    for provider, factor in ((PROVIDER_CLASS, 1), (PROVIDER_CLASS, 50), (ROCKSDB, 1)):
        folder = tmp_path / f"{len(answers)}"
        folder.mkdir()
        chosen = {
            "spark.sql.streaming.stateStore.providerClass": provider,
            "spark.sql.streaming.statefulOperator.incrementalCleanupFactor": str(factor),
            "spark.sql.streaming.useStreamlineAggregator": "true",
        }
        with settings(spark, chosen):
            streamed = run(spark, folder, watermarked(query), mode, provider)
        operators = [p["stateOperators"][0] for p in streamed.progress]
        removed = [o["numRowsRemoved"] for o in operators if o["numRowsRemoved"]]
        beside = sum(o["customMetrics"]["numRowsIncrementallyRemoved"] for o in operators)
        assert 0 < beside < sum(removed)
        if mode == "append":
            assert in_order(streamed.rows()) == in_order(set(expected(spark, folder, query)))
        if provider == PROVIDER_CLASS:
            checkpoint = Checkpoint(str(folder / "checkpoint"))
            assert checkpoint.verify().ok
            assert checkpoint.scan().to_arrow().num_rows == operators[-1]["numRowsTotal"]
        # In update mode each row that is read puts out its group.
        answers.append(([in_order(set(rows)) for rows in streamed.batches.values()], removed))
    assert answers[0] == answers[1] == answers[2]
