"""Functions on `transformWithState` over many keys in a call: which way runs; both agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 (PySpark's own name)

from bucketstate import stateful
from bucketstate.errors import SessionError
from bucketstate.stateful import ListState, State, Timer, ValueState
from tests.integration.streams import (
    DELAY,
    EVENTS,
    SCHEMA,
    Streamed,
    events,
    start,
    write_batches,
)
from tests.integration.test_many_keys import (
    PACKAGE,
    PROVIDER,
    Seen,
    Sum,
    by_chunk,
    documents,
    failing,
    keys_of,
    ran,
    set_to,
    summed,
)
from tests.kit.cases import at_night, cases
from tests.kit.sparks import MINOR, NEEDS_EXTENSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.skipif(
    not NEEDS_EXTENSION, reason="There is no operator of the extension's before Spark 4.2."
)

BATCHES = events(batches=6)


def applied(rows: DataFrame, fn: Any = summed, **options: Any) -> DataFrame:
    return rows.transform(
        stateful.apply,
        by=options.pop("by", "key"),
        fn=fn,
        operator="transformWithState",
        output_mode="update",
        **options,
    )


def alone(rows: DataFrame, fn: Any = summed, **options: Any) -> DataFrame:
    return applied(rows, fn, many_keys=False, **options)


def stored(spark: SparkSession, folder: Path, name: str = "state") -> list[str]:
    """What the state reader has of a variable, with its times to live, or of the timers."""
    read = spark.read.format("statestore")
    if name == "timers":
        read = read.option("readRegisteredTimers", True)
    else:
        read = read.option("stateVarName", name)
    rows = read.load(str(folder / "checkpoint")).collect()
    return sorted(json.dumps(row.asDict(recursive=True)) for row in rows)


def texts(spark: SparkSession, folder: Path) -> dict[str, str]:
    rows = map(json.loads, stored(spark, folder))
    return {row["key"]["key"]: row["value"]["state"] for row in rows}


@at_night
def test_the_metric_says_which_way_runs(spark: SparkSession, tmp_path: Path) -> None:
    many = ran(spark, tmp_path / "many", BATCHES, applied)
    one = ran(spark, tmp_path / "one", BATCHES, alone)
    assert keys_of(many) == [len({e["key"] for e in batch}) for batch in BATCHES]
    assert keys_of(one) == [None] * len(BATCHES)
    assert sorted(many.rows()) == sorted(one.rows())
    assert texts(spark, tmp_path / "many") == documents(BATCHES)
    assert stored(spark, tmp_path / "many") == stored(spark, tmp_path / "one")


def test_the_plan_says_which_way_runs(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_batches(tmp_path / "input", EVENTS, BATCHES[:1])
    for name, query in {"many": applied, "one": alone}.items():
        rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
        started = start(query(rows), tmp_path / name, Streamed(), "update")
        assert started.awaitTermination(150)
        started.explain()
        plan = capsys.readouterr().out
        assert ("ManyKeysTransformWithState" in plan) == (name == "many")
        assert ("BucketedTransformWithStateInPySpark" in plan) == (name == "one")


@dataclass
class Held:
    """Two parts of one value; one has a time to live where the query's clock allows it."""

    last: ValueState[int]
    other: ValueState[list[int]]
    n: int = 0
    fired: list[str] = field(default_factory=list)


@dataclass
class HeldFor(Held):
    other: ValueState[list[int]] = stateful.value_state(ttl=timedelta(days=1))


@dataclass
class Report:
    key: str | None
    why: str
    n: int
    last: int | None
    other: list[int]
    timers: int


class Timed:
    """Writes and clears parts, and sets timers, several of a key for one moment among them."""

    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], state: State[Any]
    ) -> Iterator[Report]:
        value = state.value
        value.n += len(rows)
        highest = max(row["value"] for row in rows)
        if highest % 5:
            value.last.update(highest)
        else:
            value.last.clear()
        if highest % 3 == 0:
            value.other.update([*(value.other.get() or []), highest])
        for number, at in enumerate(self.moments(rows, state)):
            state.registerTimer(at)
            state.registerTimer(at, name=f"n{number % 2}")
        if highest % 4 == 0:
            state.deleteTimer("n1")
        self.time_out(rows, state)
        if highest % 7 == 0:
            state.clear()
        yield self.report(key, "rows", state)

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Any]) -> Iterator[Report]:
        value = state.value
        value.fired.append(timer.name or "")
        if value.n % 5 == 0:
            state.deleteTimer("n0")
        if len(value.fired) % 4 == 0:
            state.clear()
        yield self.report(key, f"timer {timer.name}", state)

    def report(self, key: Any, why: str, state: State[Any]) -> Report:
        value = state.value
        other = value.other.get() or []
        timers = len(list(state.listTimers()))
        return Report(key.key, why, value.n, value.last.get(), other, timers)

    def moments(self, rows: list[dict[str, Any]], _state: State[Any]) -> list[datetime]:
        latest = max(row["at"] for row in rows)
        return [latest + timedelta(minutes=n) for n in (1, 1, 30)]

    def time_out(self, rows: list[dict[str, Any]], state: State[Any]) -> None:
        if len(rows) % 2:
            state.timeout_at(max(row["at"] for row in rows) + timedelta(minutes=10))


class TimedByClock(Timed):
    def moments(self, _rows: list[dict[str, Any]], state: State[Any]) -> list[datetime]:
        return [state.now + timedelta(milliseconds=1)]

    def time_out(self, rows: list[dict[str, Any]], state: State[Any]) -> None:
        if len(rows) % 2:
            state.timeout_after(timedelta(milliseconds=1))


def by_event_time(rows: DataFrame, **options: Any) -> DataFrame:
    marked = rows.withWatermark("at", f"{DELAY.seconds} seconds")
    return applied(marked, Timed(), state=Held, timeout="event", **options)


def by_clock(rows: DataFrame, **options: Any) -> DataFrame:
    return applied(rows, TimedByClock(), state=HeldFor, timeout="processing", **options)


QUERIES = {"event": by_event_time, "processing": by_clock}
VARIABLES = ("state", "last", "other", "timers")


def by_batch(streamed: Streamed) -> list[list[tuple[Any, ...]]]:
    return [sorted(rows, key=repr) for _, rows in sorted(streamed.batches.items())]


@at_night
@pytest.mark.parametrize("timeout", ["event", "processing"])
def test_a_checkpoint_goes_to_and_fro_with_timers_and_parts(
    spark: SparkSession, tmp_path: Path, timeout: Literal["event", "processing"]
) -> None:
    query = QUERIES[timeout]
    ways = {"turns": [True, False, True, True, False, True], "one": [False] * 6}
    found = {}
    idle = str(timeout == "event").lower()
    with set_to(spark, {"streaming.noDataMicroBatches.enabled": idle}):
        for name, many in ways.items():
            answers = []
            for batch, many_keys in zip(BATCHES, many, strict=True):
                streamed = ran(
                    spark, tmp_path / name, [batch], lambda r, m=many_keys: query(r, many_keys=m)
                )
                assert (None not in keys_of(streamed)) == many_keys
                answers.append(by_batch(streamed))
            found[name] = answers
    assert found["turns"] == found["one"]
    assert any(row[1] != "rows" for run in found["one"] for batch in run for row in batch)
    for name in VARIABLES:
        states = [stored(spark, tmp_path / way, name) for way in ways]
        assert len(states[0]) == len(states[1])
        assert states[0] or name == "timers"
        if timeout == "event":
            assert states[0] == states[1], name


@pytest.mark.parametrize(
    "settings",
    cases(
        [{"execution.arrow.maxRecordsPerBatch": "3"}],
        [
            {"streaming.stateStore.encodingFormat": "avro"},
            {"execution.arrow.maxBytesPerBatch": "500b"},
            {"execution.arrow.maxRecordsPerOutputBatch": "5"},
            {"execution.arrow.useLargeVarTypes": "true"},
            {"pyspark.udf.profiler": "perf"},
        ],
    ),
    ids=str,
)
def test_settings_change_nothing(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str]
) -> None:
    with set_to(spark, settings):
        many = ran(spark, tmp_path / "many", BATCHES, by_event_time)
    one = ran(spark, tmp_path / "one", BATCHES, lambda r: by_event_time(r, many_keys=False))
    assert None not in keys_of(many)
    assert by_batch(many) == by_batch(one)


def test_a_key_of_many_batches_comes_in_chunks(spark: SparkSession, tmp_path: Path) -> None:
    large = [{"at": e["at"], "key": "k0", "value": 1} for e in events(batches=1, rows=500)[0]]
    batches = [large + BATCHES[0]]
    with set_to(spark, {"execution.arrow.maxRecordsPerBatch": "64"}):
        chunks = ran(spark, tmp_path, batches, lambda r: applied(r, by_chunk))
    assert len([row for row in chunks.rows() if row[0] == "k0"]) > 5
    assert None not in keys_of(chunks)
    assert texts(spark, tmp_path) == documents(batches)


def test_a_failure_leaves_nothing_of_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StreamingQueryException, match="in failing for Key\\(key='k7'\\)"):
        ran(spark, tmp_path, BATCHES, lambda r: applied(r, failing))
    streamed = ran(spark, tmp_path, [], applied)
    assert None not in keys_of(streamed)
    assert texts(spark, tmp_path) == documents(BATCHES)


@dataclass
class Floats:
    total: float | None
    nothing: float | None


@pytest.mark.parametrize("many_keys", [True, False], ids=["many", "alone"])
def test_nan_and_null_of_the_output_are_two(
    spark: SparkSession, tmp_path: Path, many_keys: bool
) -> None:
    def floats(_key: Any, _rows: list[dict[str, Any]], state: State[Sum]) -> Floats:
        state.value.n += 1
        return Floats(float("nan"), None)

    streamed = ran(spark, tmp_path, BATCHES[:1], lambda r: applied(r, floats, many_keys=many_keys))
    assert {(repr(total), nothing) for total, nothing in streamed.rows()} == {("nan", None)}


def framed(key: Any, rows: pd.DataFrame, state: State[Sum]) -> pd.DataFrame:
    state.value.n += len(rows)
    state.value.total += int(rows["value"].sum())
    return pd.DataFrame({"key": [key.key], "n": [state.value.n], "total": [state.value.total]})


def test_frames(spark: SparkSession, tmp_path: Path) -> None:
    streamed = ran(spark, tmp_path, BATCHES, lambda r: applied(r, framed, output=Seen))
    assert None not in keys_of(streamed)
    assert texts(spark, tmp_path) == documents(BATCHES)


@dataclass
class Listed:
    all: ListState[int]


def listed(key: Any, rows: list[dict[str, Any]], state: State[Listed]) -> Seen:
    for row in rows:
        state.value.all.appendValue(row["value"])
    return Seen(key.key, len(state.value.all), 0)


def test_what_goes_sparks_own_way(spark: SparkSession, tmp_path: Path) -> None:
    """Lists, of which a call may touch little; and keys that Python has other ideas of."""
    lists = ran(spark, tmp_path / "lists", BATCHES[:2], lambda r: applied(r, listed))
    assert keys_of(lists) == [None, None]

    def counted(_key: Any, rows: list[dict[str, Any]], state: State[Sum]) -> Seen:
        state.value.n += len(rows)
        return Seen("", state.value.n, 0)

    def by_a_float(rows: DataFrame) -> DataFrame:
        keyed = rows.withColumn("of", F.col("value").cast("double"))
        return applied(keyed, counted, by="of")

    floats = ran(spark, tmp_path / "floats", BATCHES[:2], by_a_float)
    assert keys_of(floats) == [None, None]


def test_where_rows_would_be_put_out_twice_spark_s_own_way_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with set_to(spark, {"execution.arrow.maxRecordsPerOutputBatch": "5"}):
        applied(rows)
        applied(rows, by=F.date_trunc("hour", "at").alias("hour"))
        for own_way in (
            alone,
            lambda r: applied(r, listed),
            lambda r: applied(r, by=F.col("value").cast("double").alias("of")),
            lambda _: applied(spark.read.schema(SCHEMA).parquet(str(tmp_path))),
        ):
            if MINOR != "4.2":
                own_way(rows)
                continue
            with pytest.raises(SessionError, match=r"is 5, .* Spark 4\.2.* puts out rows twice"):
                own_way(rows)


def test_so_it_is_where_the_checkpoint_names_another_provider(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark goes on with the one that a query began with, whatever the session says."""
    with set_to(spark, {PROVIDER: f"{PACKAGE}.RocksDBStateStoreProvider"}):
        ran(spark, tmp_path, BATCHES[:1], applied)
    if MINOR == "4.2":
        with set_to(spark, {"execution.arrow.maxRecordsPerOutputBatch": "5"}):
            told = r"maxRecordsPerOutputBatch is 5, and with it transformWithState of Spark 4\.2"
            with pytest.raises(StreamingQueryException, match=told):
                ran(spark, tmp_path, BATCHES[1:2], applied)
    streamed = ran(spark, tmp_path, BATCHES[2:3], applied)
    assert set(keys_of(streamed)) == {None}
    assert len(streamed.rows()) == sum(
        len({e["key"] for e in batch}) for batch in BATCHES[2 - (MINOR == "4.2") : 3]
    )
