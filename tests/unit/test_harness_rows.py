"""What a test gives as rows comes to the function as it was given, or is refused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

from bucketstate.stateful import DefinitionError, State, StateUsageError, WrongTypeError, define
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total

OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]


def seen(*batches: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows that the function got, as dicts."""
    made: list[dict[str, Any]] = []

    def fn(_key: Any, rows: list[dict], _state: State[Total]) -> None:  # type: ignore[type-arg]
        made.extend(rows)

    running = Harness(fn, by="key", operator="transformWithState", **options)
    for batch in batches:
        running.run(batch)
    return made


def keyed(*values: Any) -> list[dict[str, Any]]:
    return [{"key": "a", "v": v} for v in values]


@dataclass
class Typo:
    key: str
    vv: int


NAMELESS = Row("a", 1)  # type: ignore[call-overload]


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("batches", "told"),
    [
        ([keyed(1), keyed(2.5)], "Row 0 of the batch has float 2.5 for the column 'v', which is b"),
        ([keyed(1), keyed(2, 2.5)], "Row 1 of the batch has float 2.5"),
        ([keyed(1), keyed(math.nan)], "Row 0 of the batch has float nan"),
        ([keyed(1), keyed("2")], "Row 0 of the batch has str '2' for the column 'v', which is big"),
        ([keyed("x"), keyed(2)], "has int 2 for the column 'v', which is string"),
        ([keyed(1), keyed(True)], "has bool True"),
        ([keyed(1, "x")], "has values of several types, such as int, str"),
        ([keyed(2**70)], "has int 1180591620717411303424"),
        ([keyed(2**60 + 1, 0.5)], "has values of several types, such as float, int"),
        ([keyed({"a": None}), keyed({"a": 1})], "which is struct<a:void>"),
        ([keyed(pd.Timedelta(1))], "has Timedelta Timedelta('0 days 00:00:00.000000001')"),
        ([keyed(datetime(2024, 1, 1)), keyed(date(2024, 1, 1))], "has date datetime.date(2024"),
        ([keyed(Decimal("1e-19"))], "has Decimal Decimal('1E-19')"),
        ([keyed(pd.Timestamp(1))], "has Timestamp Timestamp('1970-01-01 00:00:00.000000001') for "),
        ([keyed([1]), keyed([1.5])], "has list [1.5] for the column 'v', which is array<bigint>"),
        ([keyed({"a": 1}), keyed({"b": 1})], "has dict {'b': 1} for the column 'v', which is stru"),
        ([keyed(object())], "has object <object"),
        ([keyed({1, 2})], "has set {1, 2}"),
        ([keyed(1), [{"key": "a", "w": 1}]], "Row 0 of the batch has a column 'w', and the rows h"),
        ([keyed(1), [{"key": "a"}]], "Row 0 of the batch has no column 'v', and the rows have key"),
        ([[*keyed(1), {"key": "a", "v": 1, "more": 2}]], "Row 1 of the batch has a column 'more'"),
        ([keyed(1), pd.DataFrame({"key": ["a"], "V": [1]})], "has a column 'V', and the rows have"),
        ([keyed(1), [Typo("a", 1)]], "Row 0 of the batch has a column 'vv', and the rows have key"),
        ([keyed(1), [Typo("a", "1")]], "Row 0 of the batch, field vv, is str '1', expected an int"),  # type: ignore[arg-type]
        ([{"key": "a"}], "The batch is dict {'key': 'a'}, expected a DataFrame, an Arrow table or"),
        ([Row(key="a")], "The batch is Row Row(key='a'), expected a DataFrame"),
        ([Typo("a", 1)], "The batch is Typo Typo(key='a', vv=1), expected a DataFrame"),
        (["abc"], "The batch is str 'abc', expected a DataFrame"),
        ([5], "The batch is int 5, expected a DataFrame"),
        ([[("a", 1)]], "Row 0 of the batch is tuple ('a', 1), expected a dict, a Row with names"),
        ([[NAMELESS]], "Row 0 of the batch is Row <Row('a', 1)>, expected a dict, a Row with"),
        ([["a"]], "Row 0 of the batch is str 'a', expected a dict"),
    ],
)
def test_rows_that_would_have_come_as_others_are_refused(batches: list[Any], told: str) -> None:
    with pytest.raises(WrongTypeError) as refusal:
        seen(*batches)
    assert told in str(refusal.value)


def test_a_refused_batch_leaves_the_columns_and_the_state_as_they_were() -> None:
    def fn(_key: Any, rows: pd.DataFrame, state: State[Total]) -> None:
        state.value.n += int(rows["v"].sum())

    running = Harness(fn, by="key")
    with pytest.raises(WrongTypeError):
        running.run(keyed("x", 1))
    running.run(keyed(1))
    with pytest.raises(WrongTypeError, match=r"Did you mean 'v'\? All rows of all batches have"):
        running.run([{"key": "a", "vv": 1}])
    running.run(keyed(2))
    assert running.state("a") == Total(3)


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([keyed(None), keyed(2), keyed(None)], [None, 2, None]),
        ([keyed(None, 2)], [None, 2]),
        ([keyed(1), keyed(2.0)], [1, 2]),
        ([keyed(1, 2.5), keyed(3)], [1.0, 2.5, 3.0]),
        ([pd.DataFrame(keyed(1, 2)), pd.DataFrame(keyed(3, None))], [1, 2, 3, None]),
        ([keyed(1), pd.DataFrame(keyed(2, None))], [1, 2, None]),
        ([keyed("a"), keyed(None)], ["a", None]),
        ([keyed(Decimal("1.5")), keyed(Decimal("12.25"))], [Decimal("1.5"), Decimal("12.25")]),
        ([keyed((1, 2), np.array([3])), keyed([])], [[1, 2], [3], []]),
        ([keyed(Colour.RED, "x")], ["red", "x"]),
        ([keyed(UUID(int=1))], ["00000000-0000-0000-0000-000000000001"]),
        ([keyed(np.int32(3)), keyed(np.int64(4))], [3, 4]),
        ([keyed(b"x", bytearray(b"y"))], [b"x", b"y"]),
        ([keyed(timedelta(1)), keyed(pd.Timedelta(2, "h"))], [timedelta(1), timedelta(hours=2)]),
        ([pd.DataFrame(keyed("x", "y")).astype("category")], ["x", "y"]),
        ([[Row(key="a", v=1)], [Row(v=2, key="a")]], [1, 2]),
        ([keyed(1), lambda: iter(keyed(2)), ()], [1, 2]),
    ],
)
def test_rows_come_as_they_were_given(batches: list[Any], expected: list[Any]) -> None:
    found = [row["v"] for row in seen(*(b() if callable(b) else b for b in batches))]
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "+05:30"])
def test_naive_and_aware_datetimes_are_the_same_instants(zone: str) -> None:
    noon = datetime(2024, 7, 1, 12)
    aware = datetime(2024, 7, 1, 12 if zone == "UTC" else 6, 0 if zone == "UTC" else 30, tzinfo=UTC)
    for batches in ([keyed(noon), keyed(aware)], [keyed(aware), keyed(noon)]):
        found = [r["v"] for r in seen(*batches, time_zone=zone)]
        assert found == [aware, aware]
        assert [v.replace(tzinfo=None) for v in found] == [noon, noon]
    frames = [pd.DataFrame(keyed(noon)), pd.DataFrame(keyed(aware))]
    assert [r["v"] for r in seen(*frames, time_zone=zone)] == [aware, aware]


def test_with_a_schema_a_row_may_leave_out_what_may_be_null() -> None:
    schema = "key string, v long, w string"
    assert seen([{"key": "a", "v": 1}], schema=schema) == [{"key": "a", "v": 1, "w": None}]
    with pytest.raises(WrongTypeError, match="Row 0 of the batch has a column 'vv'"):
        seen([{"key": "a", "vv": 1}], schema=schema)
    with pytest.raises(WrongTypeError, match="Row 0 of the batch has no column 'vv'"):
        seen([{"key": "a"}], schema=Typo)
    with pytest.raises(WrongTypeError, match=r"field v, is float 2.5, expected an int of 64 bits"):
        seen(keyed(2.5), schema=schema)


def test_a_nan_is_a_nan_and_a_null_is_a_null() -> None:
    given = keyed(math.nan, None, 1.5)
    for schema in (None, "key string, v double"):
        found = [r["v"] for r in seen(given, schema=schema)]
        assert math.isnan(found[0])
        assert found[1:] == [None, 1.5]
    assert [r["v"] for r in seen(pd.DataFrame(given))] == [None, None, 1.5]


@pytest.mark.parametrize("operator", OPERATORS)
def test_null_and_nan_keys_have_states_of_their_own(operator: Operator) -> None:
    def fn(key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
        state.value.n += len(rows)
        return Out(str(key.v), state.value.n)

    running = Harness(fn, by="v", operator=operator)
    nan = float("nan")
    for _ in range(2):
        running.run([{"v": v} for v in (nan, None, 1.5, float("nan"))])
    assert running.state(float("nan")) == Total(4)
    assert running.state(None) == Total(2)
    assert running.state(1.5) == Total(2)
    assert len(running.states()) == 3
    # To the function both are None, as pandas cannot tell them apart.
    assert sorted(r["key"] for r in running.run([{"v": nan}, {"v": None}])) == ["None", "None"]


def test_names_that_no_field_can_have_are_numbered() -> None:
    keys: list[Any] = []

    def fn(key: Any, _rows: Any, _state: State[Total]) -> None:
        keys.append(key)

    by = ["from", "event type", "_x", "plain"]
    Harness(fn, by=by).run([dict(zip(by, range(4), strict=True))])
    assert keys[0]._fields == ("_0", "_1", "_2", "plain")
    assert keys[0] == (0, 1, 2, 3)


def total(key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
    state.value.n += len(rows)
    return Out(str(key[0]), state.value.n)


def test_a_row_whose_key_is_a_nan_is_alone_whatever_numbers_are_keys() -> None:
    running = Harness(total, by="v", operator="transformWithState")
    found = running.run([{"v": v} for v in (1.0, math.nan, 0.0, math.nan)])
    assert sorted((r["key"], r["n"]) for r in found) == [
        ("0.0", 1),
        ("1.0", 1),
        ("None", 1),
        ("None", 2),
    ]


NOON = datetime(2024, 7, 1, 12)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamp_ntz", NOON),
        ("date", NOON.date()),
    ],
)
def test_an_event_time_that_spark_has_no_watermark_of_is_refused(kind: str, value: Any) -> None:
    running = Harness(total, by="key", schema=f"key string, t {kind}", event_time="t")
    told = re.escape(f"event_time='t' is {kind}: it must be a timestamp, since")
    with pytest.raises(DefinitionError, match=told):
        running.run([{"key": "a", "t": value}])


WINDOW = {"start": NOON - timedelta(hours=1), "end": NOON}


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        ([{"key": "a", "t": WINDOW}], "key string, t struct<start:timestamp,end:timestamp>"),
        ([{"key": "a", "t": WINDOW}], None),
        ([{"key": "a", "t": {"start": NOON}}], None),
        (pa.table({"key": ["a"], "t": [{"end": NOON}]}), None),
    ],
    ids=["schema", "dicts", "no end", "Arrow"],
)
def test_a_struct_is_refused_as_an_event_time(rows: Any, schema: str | None) -> None:
    """Its watermark in a query is shown by tests/integration/test_stateful_windows.py."""
    running = Harness(total, by="key", schema=schema, event_time="t")
    with pytest.raises(DefinitionError, match="Spark reckons no watermark from a struct"):
        running.run(rows)


@pytest.mark.parametrize(
    "rows",
    [
        [{"key": "a", "t": NOON}],
        pd.DataFrame({"key": ["a"], "t": [NOON]}),
        pa.table({"key": ["a"], "t": [NOON]}),
    ],
    ids=["dicts", "pandas", "Arrow"],
)
def test_naive_event_times_without_a_schema_are_points_in_time(rows: Any) -> None:
    running = Harness(total, by="key", event_time="t", time_zone="Asia/Kolkata")
    running.run(rows)
    assert running.watermark == datetime(2024, 7, 1, 6, 30, tzinfo=UTC)


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"delay": "5 minutes"}, "delay='5 minutes': give a timedelta of 0 or more"),
    ({"delay": timedelta(-1)}, "give a timedelta of 0 or more"),
    ({"by": []}, "by=[]: give the name of a column"),
    ({"by": ["a", 1]}, "by=['a', 1]: give the name of a column"),
    ({"by": None}, "by=None: give the name of a column"),
    ({"rows_per_chunk": 0}, "rows_per_chunk=0: give a whole number from 1"),
    ({"rows_per_chunk": 1.5}, "rows_per_chunk=1.5: give a whole number from 1"),
]


@pytest.mark.parametrize(("options", "told"), ARGUMENTS)
def test_an_argument_that_cannot_be_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        Harness(total, **{"by": "key", **options})
    assert told in str(refusal.value)
    with pytest.raises(StateUsageError, match="advance"):
        Harness(total, by="key").advance("5 minutes")  # type: ignore[arg-type]


def test_a_key_has_as_many_values_as_columns() -> None:
    running = Harness(total, by=["a", "b"])
    running.run([{"a": 1, "b": 2}])
    assert running.state(1, 2) == Total(1)
    assert running.state(1, 3) is None
    for ask in (running.state, running.timeout, running.timers):
        with pytest.raises(StateUsageError, match=r"is \(1,\), but the rows are grouped by a, b"):
            ask(1)
    with pytest.raises(StateUsageError, match="give 2 values, in this order"):
        running.set_state(Total(1), 1)


def test_a_restart_may_say_what_the_function_does_not() -> None:
    def untyped(key, rows, state):  # type: ignore[no-untyped-def]
        chunks = sum(1 for _ in rows)
        state.value.n = (state.value.n or 0) + chunks
        return {"key": key.key, "n": state.value.n}

    running = Harness(total, by="key", rows_per_chunk=1)
    running.run([{"key": "a"}])
    later = running.restarted(untyped, state="n long", output=Out, chunked=True)
    assert later.run([{"key": "a"}, {"key": "a"}]) == [{"key": "a", "n": 3}]
    again = later.restarted(chunked=True)
    assert again.run([{"key": "a"}]) == [{"key": "a", "n": 4}]
    assert define(total).chunked is False
