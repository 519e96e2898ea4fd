"""Tables of Arrow and frames of polars as batches of a harness."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from bucketstate.stateful import Keys, State, WrongTypeError, define
from bucketstate.testing import Harness
from tests.kit.stateful import Total

AT = datetime(2024, 3, 1, 12, tzinfo=UTC)


def seen(*batches: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows that the function got, as dicts."""
    made: list[dict[str, Any]] = []

    def fn(_key: Any, rows: list[dict], _state: State[Total]) -> None:  # type: ignore[type-arg]
        made.extend(rows)

    running = Harness(fn, by="key", **options)
    for batch in batches:
        running.run(batch)
    return made


ROWS: list[dict[str, Any]] = [
    {
        "key": "a",
        "small": 7,
        "real": 0.5,
        "raw": b"\x00",
        "at": AT,
        "span": timedelta(seconds=3),
        "price": Decimal("2.50"),
        "tags": ["x", None],
        "inner": {"n": 1, "at": AT},
        "by_name": {"x": 1, "y": 2},
    },
    {
        "key": "a",
        "small": None,
        "real": None,
        "raw": None,
        "at": None,
        "span": None,
        "price": None,
        "tags": None,
        "inner": None,
        "by_name": None,
    },
]
TYPES = {
    "key": pa.string(),
    "small": pa.int32(),
    "real": pa.float32(),
    "raw": pa.binary(),
    "at": pa.timestamp("us", "Europe/Berlin"),
    "span": pa.duration("us"),
    "price": pa.decimal128(10, 2),
    "tags": pa.list_(pa.string()),
    "inner": pa.struct([("n", pa.int64()), ("at", pa.timestamp("ms", "UTC"))]),
    "by_name": pa.map_(pa.string(), pa.int64()),
}
LARGE = TYPES | {
    "key": pa.dictionary(pa.int8(), pa.large_string()),
    "small": pa.uint16(),
    "raw": pa.large_binary(),
    "at": pa.timestamp("ns", "UTC"),
    "span": pa.duration("ns"),
    "tags": pa.large_list(pa.string()),
}


@pytest.mark.parametrize("types", [TYPES, LARGE], ids=["plain", "large"])
@pytest.mark.parametrize("form", [pa.table, lambda t: t.to_batches()[0], lambda t: t.to_reader()])
def test_arrow(types: dict[str, pa.DataType], form: Any) -> None:
    table = pa.Table.from_pylist(ROWS, pa.schema(list(types.items())))
    assert seen(form(table)) == ROWS
    # The types of the columns are those of the table, so what does not fit them is refused.
    with pytest.raises(WrongTypeError, match="column 'small', which is int"):
        seen(table, [ROWS[0] | {"small": 2**40}])


def test_polars() -> None:
    kept = [
        {n: v for n, v in row.items() if n in ("key", "at", "span", "tags", "inner")}
        for row in ROWS
    ]
    frame = pl.DataFrame(kept).with_columns(pl.col("key").cast(pl.Categorical), small=pl.lit(3))
    found = seen(frame, frame.head(1))
    assert found == [row | {"small": 3} for row in (*kept, kept[0])]


def test_with_a_schema() -> None:
    table = pa.table({"key": ["a"], "n": pa.array([5], pa.int8())})
    assert seen(table, schema="key string, n long, more string") == [
        {"key": "a", "n": 5, "more": None}
    ]
    with pytest.raises(WrongTypeError, match="field n, is int 5, expected"):
        seen(table, schema="key string, n string")


def test_naive_times_are_in_the_time_zone() -> None:
    table = pa.table({"key": ["a"], "at": pa.array([datetime(2024, 3, 1, 13)], "timestamp[us]")})
    (row,) = seen(table, time_zone="Europe/Berlin")
    assert row["at"] == AT


def test_nulls_and_nan_are_two() -> None:
    table = pa.table({"key": ["a", "a"], "v": [float("nan"), None]})
    first, second = seen(table)
    assert first["v"] != first["v"]
    assert second["v"] is None


def test_a_function_over_columns() -> None:
    def count(keys: Keys[Total], rows: pa.Table) -> None:
        numbers = pa.array([rows.num_rows // max(len(keys.exists), 1)] * len(keys.exists))
        keys.update(pa.table({"n": numbers}))

    harness = Harness(define(count), by="key")
    assert harness.run(pl.DataFrame({"key": ["a"], "v": [1]})) == []
    assert harness.state("a") == Total(1)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([None], pa.month_day_nano_interval()), "'v' of the batch is month_day_nano_int"),
        (pa.array([2**64 - 1], pa.uint64()), "'v' of the batch is uint64, and Spark would have it"),
        (pa.array([1], pa.timestamp("ns")), r"timestamp\[ns\], and Spark would have it as timesta"),
    ],
)
def test_what_spark_does_not_have(column: pa.Array, told: str) -> None:
    with pytest.raises(WrongTypeError, match=told):
        seen(pa.table({"key": ["a"], "v": column}))
