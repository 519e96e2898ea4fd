"""What a function gets for rows and key, and what it may put out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from pyspark import worker
from pyspark.sql import Row
from pyspark.sql.types import StructType

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, State, WrongTypeError
from bucketstate.stateful.codec.ddl import parse_ddl
from bucketstate.stateful.run.chunks import columns_of
from bucketstate.stateful.run.inputs import Inputs
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total

ROWS = [{"key": "a", "value": 1}, {"key": "a", "value": 2}]
OUTPUT = "key string, n long"


def putting_out(result: Any, output: Any = OUTPUT, rows: Any = ROWS) -> list[dict[str, Any]]:
    def fn(_key: Any, _rows: Any, _state: Any) -> Any:
        return result

    return Harness(stateful.define(fn, state=Total, output=output), by="key").run(rows)


class Named(NamedTuple):
    key: str
    n: int


EXPECTED = [{"key": "x", "n": 1}, {"key": "y", "n": 2}]


@pytest.mark.parametrize(
    "result",
    [
        lambda: pd.DataFrame(EXPECTED),
        lambda: pd.DataFrame({"n": [1, 2], "key": ["x", "y"]}),
        lambda: EXPECTED,
        lambda: iter(EXPECTED),
        lambda: tuple(EXPECTED),
        lambda: [pd.DataFrame(EXPECTED[:1]), EXPECTED[1]],
        lambda: [EXPECTED[0], pd.DataFrame(EXPECTED[1:]), pd.DataFrame()],
        lambda: (dict(e) for e in EXPECTED),
        lambda: [Row(**e) for e in EXPECTED],
        lambda: (Row(**EXPECTED[0]), Named("y", 2)),
    ],
)
def test_output_comes_in_many_forms(result: Any) -> None:
    assert putting_out(result()) == EXPECTED


def test_output_as_dataclasses() -> None:
    outs = [Out("x", 1), Out("y", 2)]
    assert putting_out(outs, Out) == EXPECTED
    assert putting_out(outs[0], Out) == EXPECTED[:1]
    assert putting_out([outs[0], EXPECTED[1]], Out) == EXPECTED


@pytest.mark.parametrize("result", [Row(key="x", n=1), Named("x", 1)])
def test_a_row_with_names_is_one_row(result: Any) -> None:
    assert putting_out(result) == EXPECTED[:1]
    assert putting_out(result, Out) == EXPECTED[:1]
    nested = Row(key="x", in_=Row(n=1, m="a"))
    schema = "key string, in_ struct<n: long, m: string>"
    (row,) = putting_out(nested, schema)
    assert (row["in_"].n, row["in_"].m) == (1, "a")


@pytest.mark.parametrize("result", [None, [], (), pd.DataFrame(), iter(())])
def test_no_output(result: Any) -> None:
    assert putting_out(result) == []


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"key": "x", "n": "one"}, "field n is str 'one', expected an int of 64 bits"),
        ({"key": "x", "n": 1.5}, "field n is float 1.5"),
        ({"key": b"x", "n": 1}, "field key is bytes b'x', expected a str"),
        ({"key": "x", "m": 1}, "field m is str 'm', expected one of the fields key, n"),
        ({"key": "x", "n": 2**63}, "field n is int 9223372036854775808"),
        (5, ": is int 5, expected an instance of Output, a dict, a Row, a DataFrame or"),
        (("x", 1), "is tuple ('x', 1), expected an instance of Output, a dict, a Row"),
        (Row(key="x", n="one"), "field n is str 'one', expected an int"),
        ("text", "is str 'text', expected"),
        ([("x", 1)], "is tuple ('x', 1), expected an instance of Output"),
        (pd.DataFrame({"key": ["x"], "n": ["1"]}), "field n is str '1', expected an int"),
        (pd.DataFrame({"key": ["x"], "n": [1.5]}), "field n is float 1.5"),
        (pd.DataFrame({"key": [1], "n": [1]}), "field key is int 1, expected a str"),
        (pd.DataFrame({"key": ["x"]}), "has the columns key, expected key, n; missing: n."),
        (
            pd.DataFrame({"key": ["x"], "n": [1], "o": [2]}),
            "has the columns key, n, o, expected key, n; unknown: o.",
        ),
    ],
)
def test_output_that_does_not_fit_names_key_and_field(result: Any, told: str) -> None:
    with pytest.raises(WrongTypeError) as refusal:
        putting_out(result)
    assert "The output of fn for Key(key='a')" in str(refusal.value)
    assert told.removeprefix(": ") in str(refusal.value)


def test_a_field_that_is_not_optional_takes_no_none() -> None:
    with pytest.raises(WrongTypeError, match="field n is None, expected an int of 64 bits"):
        putting_out({"key": "x", "n": None}, Out)
    with pytest.raises(WrongTypeError, match="field n is nothing, expected an int of 64 bits"):
        putting_out({"key": "x"}, Out)


@dataclass
class Nested:
    outs: list[Out] = field(default_factory=list)


def test_a_mismatch_deep_inside_is_named_with_its_path() -> None:
    wrong: Any = Nested([Out("x", 1), Out("y", "z")])  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match=r"field outs\[1\]\.n is str 'z'"):
        putting_out(wrong, Nested)


def test_output_of_a_function_declared_without_any_is_refused() -> None:
    def quiet(_key: Any, _rows: Any, _state: State[Total]) -> None:
        return {"key": "x"}  # type: ignore[return-value]

    with pytest.raises(
        WrongTypeError, match="expected nothing: the function is declared to return"
    ):
        Harness(quiet, by="key").run(ROWS)


def test_an_exception_of_the_function_names_the_key() -> None:
    def failing(_key: Any, _rows: Any, _state: State[Total]) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError) as failure:
        Harness(failing, by="key").run(ROWS)
    assert failure.value.__notes__ == ["in failing for Key(key='a')"]


def seen_by(fn: Any, rows: Any, by: Any = "key", **options: Any) -> None:
    Harness(stateful.define(fn, state=Total, output=OUTPUT), by=by, **options).run(rows)


def test_the_key_is_a_named_tuple_of_python_values() -> None:
    keys: list[Any] = []

    def fn(key: Any, _rows: Any, _state: Any) -> None:
        keys.append(key)

    row = {
        "i": 3,
        "s": "x",
        "b": True,
        "f": 0.5,
        "d": date(2024, 1, 1),
        "t": datetime(2024, 7, 1, 12, tzinfo=UTC),
        "dec": Decimal("1.50"),
        "raw": b"x",
        "gap": timedelta(minutes=1),
        "null": None,
    }
    schema = (
        "i int, s string, b boolean, f double, d date, t timestamp, dec decimal(9,2), raw binary, "
        "gap interval day to second, null int"
    )
    seen_by(fn, [row], by=list(row), schema=schema, time_zone="Europe/Berlin")
    (key,) = keys
    expected = row
    assert key._asdict() == expected
    assert [type(v) for v in key] == [type(v) for v in expected.values()]


@dataclass
class Event:
    value: int
    at: datetime
    note: str | None = None
    tags: list[str] = field(default_factory=list)


EVENTS = [
    {
        "key": "a",
        "value": 1,
        "at": datetime(2024, 3, 1, tzinfo=UTC),
        "note": "x",
        "tags": ["t"],
        "more": 1,
    },
    {
        "key": "a",
        "value": 2,
        "at": datetime(2024, 3, 2, tzinfo=UTC),
        "note": None,
        "tags": [],
        "more": 2,
    },
]


def test_rows_as_dataclasses_or_dicts() -> None:
    seen: list[Any] = []

    def records(_key: Any, rows: list[Event], _state: Any) -> None:
        seen.append(rows)

    def dicts(_key: Any, rows: list[dict], _state: Any) -> None:  # type: ignore[type-arg]
        seen.append([r["value"] for r in rows])

    seen_by(stateful.define(records, state=Total, output=OUTPUT), EVENTS)
    seen_by(stateful.define(dicts, state=Total, output=OUTPUT), EVENTS)
    assert seen == [
        [
            Event(1, datetime(2024, 3, 1, tzinfo=UTC), "x", ["t"]),
            Event(2, datetime(2024, 3, 2, tzinfo=UTC), None, []),
        ],
        [1, 2],
    ]


def test_rows_that_do_not_fit_their_dataclass_are_refused() -> None:
    def records(_key: Any, rows: list[Event], _state: Any) -> None: ...

    with pytest.raises(
        WrongTypeError, match=r"A row has float 1\.5 for Event.value, expected an i"
    ):
        seen_by(records, [{**EVENTS[0], "value": 1.5}])
    with pytest.raises(DefinitionError) as refusal:
        seen_by(records, [{"key": "a", "value": 1, "att": datetime(2024, 3, 1, tzinfo=UTC)}])
    assert "Event.at has no column in the rows, which have key, value, att. Did you mean att?" in (
        str(refusal.value)
    )


@dataclass
class Everything:
    n: int = 0
    f: float = 0.0
    s: str | None = None
    at: datetime | None = None
    d: Decimal | None = None
    many: list[int] = field(default_factory=list)
    by: dict[str, Event | None] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("column", "fitting"),
    [
        ("n string", False),
        ("n boolean", False),
        ("n decimal(10,0)", False),
        ("n double", True),
        ("n tinyint", True),
        ("f int", True),
        ("s binary", False),
        ("at date", False),
        ("at timestamp_ntz", True),
        ("d double", False),
        ("d decimal(20,2)", True),
        ("many bigint", False),
        ("many array<string>", False),
        ("many array<int>", True),
        ("by map<int, struct<value: long>>", False),
        ("by map<string, struct<value: string>>", False),
        ("by map<string, struct<more: string>>", True),
    ],
)
def test_types_of_columns_are_held_against_those_of_a_dataclass(column: str, fitting: bool) -> None:
    def records(_key: Any, rows: list[Everything], _state: Any) -> None: ...

    definition = stateful.define(records, state=Total, output="key string")
    schema = parse_ddl(f"key string, {column}")
    inputs = Inputs(definition, schema, UTC, extension=False)
    if fitting:
        inputs.check()
        return
    name = column.partition(" ")[0]
    found = schema[name].dataType.simpleString()
    with pytest.raises(DefinitionError) as refusal:
        inputs.check()
    assert f"Everything.{name} takes " in str(refusal.value)
    assert f"column of the rows is {found}: change the field's type" in str(refusal.value)


def test_chunks_come_one_by_one_or_joined() -> None:
    seen: list[Any] = []
    rows = [{"key": "a", "value": n} for n in range(5)]

    def joined(_key: Any, rows: pd.DataFrame, _state: Any) -> None:
        seen.append(rows["value"].tolist())

    def chunked(_key: Any, rows: Iterator[pd.DataFrame], _state: Any) -> None:
        seen.append([chunk["value"].tolist() for chunk in rows])

    def chunked_dicts(_key: Any, rows: Iterator[list[dict[str, Any]]], _state: Any) -> None:
        seen.append([len(chunk) for chunk in rows])

    for fn in (joined, chunked, chunked_dicts):
        seen_by(stateful.define(fn, state=Total, output=OUTPUT), rows, rows_per_chunk=2)
    assert seen == [[0, 1, 2, 3, 4], [[0, 1], [2, 3], [4]], [2, 2, 1]]


def handing_over(fn: Any) -> Any:
    """The function in which Spark's worker calls ours; since 4.3 it lies within another one."""
    if wrap := vars(worker).get("wrap_grouped_map_pandas_udf_with_state"):
        return wrap(fn, StructType(), {})
    within: Any = vars(worker)["read_udfs"].__code__.co_consts
    code = next(c for c in within if getattr(c, "co_name", None) == "apply_udf_to_group")
    known = {"f": fn, "pd": pd}
    cells = tuple(CellType(known.get(name)) for name in code.co_freevars)
    return FunctionType(code, vars(worker), closure=cells)


def test_columns_are_taken_from_before_sparks_own_join() -> None:
    taken: list[Any] = []

    def fn(_key: Any, chunks: Any, _state: Any) -> Any:
        taken.extend(columns_of(chunks))
        return []

    class NotTimedOut:
        hasTimedOut = False  # noqa: N815 (Spark's name)

    series: list[Any] = [pd.Series(["a", "a"], name="key"), pd.Series([1, 2], name="value")]
    handing_over(fn)([series[0]], iter([series]), NotTimedOut())
    assert [list(c) for c in taken] == [["key", "value"]]
    assert taken[0]["value"] is series[1]
    pd.testing.assert_frame_equal(pd.DataFrame(taken[0]), pd.concat(series, axis=1))


def test_columns_of_any_other_iterable_are_those_of_its_frames() -> None:
    frames = [pd.DataFrame({"key": ["a"], "value": [n]}) for n in range(2)]
    for given in (frames, iter(frames), (f for f in frames)):
        assert [[*c["value"]] for c in columns_of(given)] == [[0], [1]]


def test_numpy_values_in_output_are_what_they_hold() -> None:
    result = {"key": np.str_("x"), "n": np.int16(3)}
    assert putting_out(result) == [{"key": "x", "n": 3}]
