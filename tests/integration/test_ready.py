"""Ready-made functions beside Spark's own operators over the same stream, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import expr

from bucketstate import stateful
from bucketstate.testing import compare
from tests.integration.streams import DELAY, SCHEMA, events, run_with_restart
from tests.kit.cases import cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

HOUR = timedelta(hours=1)
HALF = timedelta(minutes=30)
GAP = timedelta(minutes=7)

Query = Callable[["DataFrame"], "DataFrame"]
Case = tuple[str, Query, Query]
"""An output mode, a query of ours, and Spark's own that puts out the same."""


def in_time(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", f"{DELAY // timedelta(minutes=1)} minutes")


def ready(recipe: stateful.Recipe, by: Any = "key") -> Query:
    return lambda rows: in_time(rows).transform(stateful.apply, by=by, fn=recipe)


TOTALS: dict[str, stateful.Aggregate] = {
    "n": stateful.count(),
    "total": stateful.sum("value"),
    "least": stateful.min("value"),
    "most": stateful.max("at"),
    "mean": stateful.mean("value"),
    "newest": stateful.last("value", by="at"),
    "oldest": stateful.first("value", by="at"),
}
SPARKS = [
    "count(*) as n",
    "sum(value) as total",
    "min(value) as least",
    "max(at) as most",
    "avg(value) as mean",
    "max_by(value, at) as newest",
    "min_by(value, at) as oldest",
]
COLUMNS = ["n", "total", "least", "most", "mean", "newest", "oldest"]


def of_spark(by: str = "") -> Query:
    def query(rows: DataFrame) -> DataFrame:
        made = [expr(text) for text in SPARKS]
        return in_time(rows).groupBy("key", *([expr(by)] if by else ())).agg(*made)

    return query


def spanned(mode: str, recipe: stateful.Recipe, of: str, name: str = "window") -> Case:
    """Both queries, of what `of` says in Spark's words."""
    return mode, by_spans(name, ready(recipe)), by_spans(name, of_spark(of))


def by_spans(name: str, query: Query) -> Query:
    """The start and the end of windows as columns, in one order."""
    names = ["key", f"{name}.start", f"{name}.end", *COLUMNS]
    return lambda rows: query(rows).select(*names)


def estimated(rows: DataFrame) -> DataFrame:
    sketch = expr("hll_sketch_estimate(hll_sketch_agg(value)) as values")
    return rows.groupBy("key").agg(sketch)


def within(rows: DataFrame) -> DataFrame:
    return in_time(rows).dropDuplicatesWithinWatermark(["key", "at", "value"])


CASES: dict[str, Case] = {
    "reduce": ("update", ready(stateful.reduce(TOTALS)), of_spark()),
    "distinct": (
        "update",
        ready(stateful.reduce(values=stateful.approx_distinct("value"))),
        estimated,
    ),
    "tumbling": spanned("append", stateful.windows("at", HALF, TOTALS), "window(at, '30 minutes')"),
    "sliding": spanned(
        "append",
        stateful.windows("at", HOUR, TOTALS, slide=HALF),
        "window(at, '1 hour', '30 minutes')",
    ),
    "sliding unevenly, with changes": spanned(
        "update",
        stateful.windows("at", HALF, TOTALS, slide=4 * GAP, start=GAP, emit="changes"),
        "window(at, '30 minutes', '28 minutes', '7 minutes')",
    ),
    "sessions": spanned(
        "append",
        stateful.sessions("at", GAP, TOTALS),
        "session_window(at, '7 minutes') as session",
        "session",
    ),
    "duplicates": (
        "append",
        ready(stateful.dedup(ttl=DELAY, at="at"), ["key", "at", "value"]),
        within,
    ),
}

FEW = ["sliding unevenly, with changes", "sessions"]


@pytest.mark.parametrize("case", cases(FEW, list(CASES)))
def test_beside_sparks_own(spark: SparkSession, tmp_path: Path, case: str) -> None:
    mode, ours, theirs = CASES[case]
    batches = events(batches=6)
    made = []
    for name, query in (("ours", ours), ("theirs", theirs)):
        folder = tmp_path / name
        folder.mkdir()
        streamed = run_with_restart(spark, folder, query, batches, mode=mode)
        # Spark runs more batches without rows for some operators than for others.
        answers = [sorted(map(repr, rows)) for _, rows in sorted(streamed.batches.items())]
        made.append([rows for rows in answers if rows])
    assert made[0]
    assert made[0] == made[1]


COMPARED = {
    "reduce": stateful.reduce(TOTALS | {"best": stateful.top(3, "value", by="at")}),
    "reduce, forgetting": stateful.reduce(TOTALS, ttl=HALF, at="at"),
    "windows": stateful.windows("at", HOUR, TOTALS, slide=HALF),
    "sessions": stateful.sessions("at", GAP, TOTALS),
    "latest": stateful.latest("at", ttl=HALF, clock="event"),
    "dedup": stateful.dedup(),
    "rate_limit": stateful.rate_limit(3, HALF, at="at"),
}


@pytest.mark.parametrize("name", COMPARED)
def test_beside_the_harness(spark: SparkSession, name: str) -> None:
    recipe = COMPARED[name]
    batches = events(batches=4, rows=30)
    answers = compare(
        spark,
        recipe,
        batches,
        by="key",
        schema=SCHEMA,
        output_mode=recipe.output_mode,
        # A recipe of event time says it itself.
        event_time=None if recipe.event_time else "at",
        delay=DELAY,
        restart_after={1: recipe},
    )
    assert any(answers)


def test_without_the_operator_for_many_keys(spark: SparkSession) -> None:
    recipe = stateful.windows("at", HOUR, TOTALS)
    options: Any = {"by": "key", "schema": SCHEMA, "event_time": "at", "delay": DELAY}
    given = events(batches=3, rows=20)
    alone = compare(spark, recipe, given, many_keys=False, output_mode="append", **options)
    assert alone == compare(spark, recipe, given, output_mode="append", **options)


def test_rows_without_a_watermark(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load()
    for recipe in (
        stateful.windows("timestamp", HOUR, n=stateful.count()),
        stateful.sessions("timestamp", HOUR, n=stateful.count()),
        stateful.dedup(ttl=HOUR, at="timestamp"),
    ):
        with pytest.raises(stateful.DefinitionError, match=r"has no watermark: call df\.with"):
            stateful.apply(rows, by="value", fn=recipe)


def test_another_clock(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load()
    with pytest.raises(stateful.DefinitionError, match="needs no clock"):
        stateful.apply(rows, by="value", fn=stateful.dedup(), timeout="event")
