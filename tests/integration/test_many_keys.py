"""Functions over many keys in a call, in real queries: which way runs, and that both are alike."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from bucketstate import stateful
from bucketstate.stateful import State
from bucketstate.stateful.codec.kept import SCHEMA as STORED
from bucketstate.testing import compare
from tests.integration.streams import EVENTS, SCHEMA, Streamed, events, start, write_batches
from tests.kit import columns
from tests.kit.cases import cases
from tests.kit.session_settings import settings
from tests.kit.sparks import MANY_KEYS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.skipif(not MANY_KEYS, reason="Spark 4.0 calls with one key.")

METRIC = "manyKeys"
PROVIDER = "streaming.stateStore.providerClass"
PACKAGE = "org.apache.spark.sql.execution.streaming.state"


@dataclass
class Sum:
    n: int = 0
    total: int = 0


@dataclass
class Seen:
    key: str
    n: int
    total: int


def summed(key: Any, rows: list[dict[str, Any]], state: State[Sum]) -> Seen:
    state.value.n += len(rows)
    state.value.total += sum(row["value"] for row in rows)
    return Seen(key.key, state.value.n, state.value.total)


def failing(key: Any, rows: list[dict[str, Any]], state: State[Sum]) -> Seen:
    if key.key == "k7" and any(row["at"] > datetime(2024, 3, 1, 1, tzinfo=UTC) for row in rows):
        raise ZeroDivisionError("enough")
    return summed(key, rows, state)


def by_chunk(key: Any, chunks: Iterator[list[dict[str, Any]]], state: State[Sum]) -> Iterator[Seen]:
    """One row for each chunk of a key."""
    for rows in chunks:
        state.value.n += len(rows)
        state.value.total += sum(row["value"] for row in rows)
        yield Seen(key.key, state.value.n, state.value.total)


def as_spark_calls_it(key: Any, chunks: Any, group: Any) -> Any:
    """A function of Spark's own interface, on the columns that `stateful` stores."""
    version, timeout, text = group.getOption or (1, -1, '{"n":0,"total":0}')
    kept = json.loads(text)
    for chunk in chunks:
        kept["n"] += len(chunk)
        kept["total"] += int(chunk["value"].sum())
    group.update((version, timeout, json.dumps(kept, separators=(",", ":"))))
    yield pd.DataFrame({"key": [key[0]], "n": [kept["n"]], "total": [kept["total"]]})


def applied(rows: DataFrame, fn: Any = summed, **options: Any) -> DataFrame:
    return rows.transform(stateful.apply, by="key", fn=fn, output_mode="update", **options)


def ran(
    spark: SparkSession, folder: Path, batches: list[list[dict[str, Any]]], query: Any = applied
) -> Streamed:
    """These batches, on top of the folder's checkpoint."""
    folder.mkdir(exist_ok=True)
    write_batches(folder / "input", EVENTS, batches)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    streamed = Streamed()
    rows = query(source.parquet(str(folder / "input")))
    started = start(rows, folder / "checkpoint", streamed, "update")
    assert started.awaitTermination(150)
    streamed.progress = [json.loads(p.json) for p in started.recentProgress]
    return streamed


def keys_of(streamed: Streamed) -> list[int | None]:
    """How many keys of each batch went the new way; None where Spark's own operator ran."""
    return [
        progress["stateOperators"][0]["customMetrics"].get(METRIC)
        for progress in streamed.progress
        if progress["numInputRows"]
    ]


def set_to(spark: SparkSession, values: dict[str, str]) -> AbstractContextManager[None]:
    """Settings of Spark SQL, by what follows `spark.sql.`, for a while."""
    return settings(spark, {f"spark.sql.{name}": value for name, value in values.items()})


def totals(batches: list[list[dict[str, Any]]]) -> dict[str, tuple[int, int]]:
    made: dict[str, tuple[int, int]] = {}
    for event in (e for batch in batches for e in batch):
        n, total = made.get(event["key"], (0, 0))
        made[event["key"]] = (n + 1, total + event["value"])
    return made


def stored(spark: SparkSession, folder: Path) -> dict[str, str]:
    rows = spark.read.format("statestore").load(str(folder / "checkpoint"))
    return dict(rows.selectExpr("key.key", "value.groupState.state").collect())


def documents(batches: list[list[dict[str, Any]]]) -> dict[str, str]:
    return {k: f'{{"n":{n},"total":{total}}}' for k, (n, total) in totals(batches).items()}


@pytest.mark.parametrize(
    "provider",
    [None, f"{PACKAGE}.HDFSBackedStateStoreProvider", f"{PACKAGE}.RocksDBStateStoreProvider"],
)
def test_the_metric_says_which_way_runs_with_every_provider(
    spark: SparkSession, tmp_path: Path, provider: str | None
) -> None:
    batches = events(batches=2)
    with set_to(spark, {} if provider is None else {PROVIDER: provider}):
        streamed = ran(spark, tmp_path / "new", batches)
        alone = ran(spark, tmp_path / "old", batches, lambda r: applied(r, many_keys=False))
    assert keys_of(streamed) == [len({e["key"] for e in batch}) for batch in batches]
    assert keys_of(alone) == [None, None]
    assert sorted(streamed.rows()) == sorted(alone.rows())
    assert stored(spark, tmp_path / "new") == stored(spark, tmp_path / "old")


def test_a_checkpoint_goes_to_and_fro_between_all_ways(spark: SparkSession, tmp_path: Path) -> None:
    def spark_alone(rows: DataFrame) -> DataFrame:
        return rows.groupBy("key").applyInPandasWithState(
            as_spark_calls_it, "key string, n long, total long", STORED, "update", "NoTimeout"
        )

    batches = events(batches=5)
    ways = [
        applied,
        lambda r: applied(r, many_keys=False),
        spark_alone,
        applied,
        lambda r: applied(r, many_keys=False),
    ]
    taken = []
    for batch, way in zip(batches, ways, strict=True):
        taken += keys_of(ran(spark, tmp_path, [batch], way))
    assert [count is not None for count in taken] == [True, False, False, True, False]
    assert stored(spark, tmp_path) == documents(batches)


@pytest.mark.parametrize(
    "settings",
    [
        {"execution.arrow.maxRecordsPerBatch": "3"},
        {"execution.arrow.maxRecordsPerBatch": "1"},
        {"execution.arrow.maxBytesPerBatch": "500b"},
        {"execution.arrow.maxRecordsPerOutputBatch": "5"},
        {"execution.arrow.useLargeVarTypes": "true"},
        {"execution.arrow.compression.codec": "zstd"},
        {"pyspark.udf.profiler": "perf"},
    ],
    ids=str,
)
def test_settings_of_the_way_to_python_change_nothing(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str]
) -> None:
    batches = events(batches=3)
    with set_to(spark, settings):
        streamed = ran(spark, tmp_path, batches)
    assert None not in keys_of(streamed)
    assert stored(spark, tmp_path) == documents(batches)
    assert len(streamed.rows()) == sum(len({e["key"] for e in batch}) for batch in batches)


def test_a_key_of_many_batches_comes_in_chunks_or_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    large = [{"at": e["at"], "key": "k0", "value": 1} for e in events(batches=1, rows=500)[0]]
    batches = [large + events(batches=1)[0]]
    with set_to(spark, {"execution.arrow.maxRecordsPerBatch": "64"}):
        whole = ran(spark, tmp_path / "whole", batches)
        chunks = ran(spark, tmp_path / "chunks", batches, lambda r: applied(r, by_chunk))
    expected = totals(batches)
    assert {key: (n, total) for key, n, total in whole.rows()} == expected
    assert len([row for row in chunks.rows() if row[0] == "k0"]) > 5
    assert stored(spark, tmp_path / "chunks") == documents(batches)
    assert stored(spark, tmp_path / "whole") == documents(batches)


def test_a_failure_leaves_nothing_of_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=4)
    with pytest.raises(StreamingQueryException, match="in failing for Key\\(key='k7'\\)"):
        ran(spark, tmp_path, batches, lambda r: applied(r, failing))
    first = [b for b in batches if not _fails(b)]
    assert stored(spark, tmp_path) == documents(batches[: batches.index(first[-1]) + 1])
    streamed = ran(spark, tmp_path, [])
    assert None not in keys_of(streamed)
    assert stored(spark, tmp_path) == documents(batches)


def _fails(batch: list[dict[str, Any]]) -> bool:
    late = datetime(2024, 3, 1, 1, tzinfo=UTC)
    return any(e["key"] == "k7" and e["at"] > late for e in batch)


FUNCTIONS = [columns.Alone, *columns.EVERY]


@pytest.mark.parametrize(
    ("fn", "many_keys"),
    cases(
        list(zip(FUNCTIONS, cycle([True, False]), strict=False)),
        list(product(FUNCTIONS, [True, False])),
    ),
)
def test_functions_over_columns_answer_as_the_harness(
    spark: SparkSession, fn: Any, many_keys: bool
) -> None:
    chance = random.Random(7)
    begun = datetime(2024, 3, 31, tzinfo=UTC)
    batches = [
        [
            {
                "k": chance.choice([None, *"abcdefgh"]),
                "x": chance.choice([None, *map(float, range(9))]),
                "n": chance.choice([None, 2**53 - 1, -5, 0]),
                "at": begun + timedelta(minutes=4 * number, seconds=chance.randrange(300)),
            }
            for _ in range(40)
        ]
        for number in range(5)
    ]
    compare(
        spark,
        stateful.define(fn, output=columns.Report),
        batches,
        by="k",
        schema=columns.SCHEMA,
        timeout="event",
        event_time="at",
        restart_after=2,
        many_keys=many_keys,
    )


@dataclass
class Measured:
    key: str
    xs: list[float]
    of: dict[str, float]


def measured(key: Any, _rows: list[dict[str, Any]], state: State[Sum]) -> Measured:
    state.value.n += 1
    return Measured(key.key, [1.0, math.nan], {"a": math.nan, "b": 2.0})


def measured_over_columns(keys: stateful.Keys[Sum], _rows: pa.RecordBatch) -> pa.RecordBatch:
    keys.update({"n": pa.array([1] * len(keys)), "total": pa.array([0] * len(keys))})
    of = [[("a", math.nan), ("b", 2.0)]] * len(keys)
    return pa.RecordBatch.from_pydict(
        {
            "key": keys.frame.column("key"),
            "xs": pa.array([[1.0, math.nan]] * len(keys)),
            "of": pa.array(of, pa.map_(pa.string(), pa.float64())),
        }
    )


@pytest.mark.parametrize("fn", [measured, measured_over_columns], ids=lambda f: f.__name__)
def test_a_nan_within_a_list_or_a_map_is_null_on_both_ways(
    spark: SparkSession, fn: Any, tmp_path: Path
) -> None:
    found = []
    for many_keys in (True, False):
        declared = stateful.define(fn, output=Measured)

        def query(rows: DataFrame, fn: Any = declared, many_keys: bool = many_keys) -> DataFrame:
            return applied(rows, fn, many_keys=many_keys)

        streamed = ran(spark, tmp_path / str(many_keys), events(batches=1), query)
        assert (keys_of(streamed)[0] is None) != many_keys
        found.append(sorted(streamed.rows()))
    assert found[0] == found[1]
    assert {(tuple(xs), tuple(of.items())) for _, xs, of in found[0]} == {
        ((1.0, None), (("a", None), ("b", 2.0)))
    }


TYPES = (
    "k string, i int, l long, s smallint, f float, d double, b boolean, t timestamp, "
    "tn timestamp_ntz, dt date, de decimal(10,2), bi binary, al array<int>, ad array<double>, "
    "at array<timestamp>, st struct<a:int,t:timestamp>, m map<string,int>, "
    "ma map<string,array<double>>, iv interval day to second"
)


@pytest.mark.parametrize(
    "fn", [columns.echo_batches, columns.echo_pandas, columns.echo_polars], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("many_keys", [True, False], ids=["many", "alone"])
def test_every_type_comes_and_goes_over_columns(
    spark: SparkSession, fn: Any, many_keys: bool
) -> None:
    # Of the hour that the change of clocks repeats.
    first, second = (datetime(2025, 10, 26, h, m, tzinfo=UTC) for h, m in ((0, 50), (1, 20)))
    whole: dict[str, Any] = {
        "k": "a", "i": 1, "l": 2**53 + 1, "s": 3, "f": 1.5, "d": 2.5, "b": True, "t": first,
        "tn": datetime(2025, 10, 26, 2, 30), "dt": first.date(), "de": Decimal("1.25"), "bi": b"x",
        # Spark 4.1 makes floats of whole numbers beside a null in an array.
        "al": [1, None], "ad": [1.0, None], "at": [second, None],
        "st": {"a": 1, "t": second}, "m": {"x": 1, "y": None},
        "ma": {"x": [1.0, None], "y": None}, "iv": timedelta(days=1, seconds=2),
    }  # fmt: skip
    empty = dict.fromkeys(whole) | {"k": "b"}
    with set_to(spark, {"session.timeZone": "Europe/Berlin"}):
        answers = compare(
            spark,
            stateful.define(fn, output=TYPES),
            [[whole, empty], [empty, whole, whole]],
            by="k",
            schema=TYPES,
            many_keys=many_keys,
        )
    assert [sorted(row["k"] for row in rows) for rows in answers] == [["a", "b"], ["a", "a", "b"]]
