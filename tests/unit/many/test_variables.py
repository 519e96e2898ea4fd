"""What travels between the operator of `transformWithState` for many keys and a worker."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketstate import stateful
from bucketstate.stateful import ListState, State, Timer, ValueState
from bucketstate.stateful.codec.ddl import parse_ddl
from bucketstate.stateful.many.protocol import PUT, REMOVED, UNTOUCHED, call_type
from bucketstate.stateful.many.variables import ManyVariables, of_command, takes, takes_keys
from bucketstate.stateful.run import operators
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.processor import Processor
from bucketstate.stateful.run.wire import Wire
from tests.docs import DOCS

ROWS = StructType([StructField("k", StringType()), StructField("n", LongType())])
KEY = StructType([ROWS["k"]])
START = datetime(2024, 1, 1, tzinfo=UTC)
MILLIS = int(START.timestamp() * 1000)


@dataclass
class Held:
    last: ValueState[int]
    seen: ValueState[int] = stateful.value_state(ttl=timedelta(hours=1))
    n: int = 0


@dataclass
class Out:
    k: str
    n: int
    last: int | None


class Keeps:
    """Does what the number of a row says."""

    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[Held]) -> Out:
        value = state.value
        match rows[-1]["n"]:
            case 0:
                return Out(key.k, value.n, value.last.get())
            case 1:
                state.clear()
            case n:
                value.n += len(rows)
                value.last.update(n)
                value.seen.clear()
                state.registerTimer(START + timedelta(milliseconds=n))
        return Out(key.k, len(rows), None)

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Held]) -> Out:
        state.value.n += 100
        state.deleteTimer("other")
        return Out(key.k, state.value.n, (timer.at - START) // timedelta(milliseconds=1))


@dataclass
class Listed:
    all: ListState[int]


def made(fn: Any = Keeps, state: Any = Held) -> ManyVariables:
    definition = stateful.define(fn(), output=Out, state=state)
    calls = Calls(definition, ROWS, "event", UTC)
    output = definition.output_codec(UTC)
    assert output is not None
    key = KeyCodec(KEY, UTC)
    wire = Wire(ROWS, ["k"], masked=False)
    return ManyVariables(calls, key, wire, output.schema, watermarked=True)


def batch(calls: list[dict[str, Any]], rows: list[list[int]]) -> pa.RecordBatch:
    """Calls, each with its rows; without rows they are for timers."""
    parts = pa.struct([("last", pa.string()), ("seen", pa.string())])
    kind = pa.struct([*call_type(KEY), ("fired", pa.list_(pa.int64())), ("parts", parts)])
    lines: list[tuple[Any, Any]] = []
    for call, values in zip(calls, rows, strict=True):
        always = {"timeout": -1, "timed_out": not values, "now": 5, "watermark": MILLIS}
        key = {"k": call["k"]}
        named = {"state": None, "fired": [], "parts": {}, **call, **always, "key": key}
        own: list[Any] = [{"k": call["k"], "n": n} for n in values] or [None]
        lines += [(named, own[0]), *((None, row) for row in own[1:])]
    row = pa.struct([("k", pa.string()), ("n", pa.int64())])
    columns = [pa.array(c, t) for c, t in zip(zip(*lines, strict=True), (kind, row), strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["call", "row"])


def answered(*batches: pa.RecordBatch) -> list[dict[str, Any]]:
    answers = [row for answer in made()(iter(batches)) for row in answer.to_pylist()]
    return [{k: v for k, v in a.items() if k != "timeout"} for a in answers]


def stored(text: str) -> dict[str, Any]:
    return {"version": 1, "timeout": -1, "state": text}


def test_the_marker_names_the_parts() -> None:
    assert made().marker == "bucketstate-many-variables-1:last=,seen=3600000\n"
    assert takes(stateful.define(Keeps(), output=Out, state=Held).state_codec(UTC))
    assert not takes(stateful.define(Keeps(), output=Out, state=Listed).state_codec(UTC))


def test_keys_that_are_the_same_to_python() -> None:
    kinds = [f.dataType for f in parse_ddl("a string, b tinyint, c bigint, d boolean, e date")]
    assert takes_keys(kinds)
    others = [f.dataType for f in parse_ddl("a double, b decimal(9,2), c struct<a:int>, d binary")]
    for other in (*others, StringType("UTF8_LCASE")):
        assert not takes_keys([*kinds, other]), other


def test_the_operator_takes_the_same_keys() -> None:
    """What is refused in Python goes by what the operator in Scala does."""
    folder = DOCS.parent / "scala/src/main/spark-4.2+/io/bucketstate/spark/many"
    text = (folder / "ManyVariables.scala").read_text(encoding="utf-8")
    (exact,) = re.findall(r"case ((?:\w+Type \| )+\w+Type)\s*=> true", text)
    assert "case text: StringType => text == StringType\n" in text
    atomic = ["StringType", "BinaryType", "BooleanType", "DateType", "TimestampType"]
    atomic += ["TimestampNTZType", "DecimalType", "DoubleType", "FloatType", "ByteType"]
    atomic += ["ShortType", "IntegerType", "LongType", "DayTimeIntervalType", "NullType"]
    taken = {name for name in atomic if takes_keys([getattr(types, name)()])}
    assert taken == {"StringType", *exact.split(" | ")}


def test_the_plan_refuses_what_apply_refuses() -> None:
    """What slices output, and what Spark does then, is said in both languages alike."""
    folder = DOCS.parent / "scala/src/main/spark-4.2-/io/bucketstate/spark/many"
    text = (folder / "OutputSlices.scala").read_text(encoding="utf-8")
    assert dict(re.findall(r'"(spark\.[^"]+)" -> "([^"]+)"', text)) == operators._SLICED
    (pattern,) = re.findall(r'MoreThanNone = """(.+)""".r', text)
    # There a pattern is of the whole text.
    assert pattern == operators._MORE_THAN_NONE.pattern + ".*"


def test_what_a_call_writes_goes_back() -> None:
    calls: list[dict[str, Any]] = [
        {"k": "new"},
        {"k": "old", "state": stored('{"n":4}'), "parts": {"last": "7", "seen": "1"}},
        {"k": "same", "state": stored('{"n":4}'), "parts": {"last": "7"}},
        {"k": "gone", "state": stored('{"n":4}'), "parts": {"last": "7"}},
    ]
    new, old, same, gone = answered(batch(calls, [[5], [6, 9], [0], [1]]))
    written = {"seen": {"value": None}}
    assert new == {
        "row": {"k": "new", "n": 1, "last": None},
        "action": PUT,
        "state": stored(f'{{"$timers":[[{MILLIS + 5},null]],"n":1}}'),
        "ended": [],
        "begun": [MILLIS + 5 + 1],
        "parts": {"last": {"value": "5"}, **written},
    }
    assert old["state"]["state"].endswith('"n":6}')
    assert old["parts"] == {"last": {"value": "9"}, **written}
    assert (same["action"], same["row"]) == (UNTOUCHED, {"k": "same", "n": 4, "last": 7})
    assert same["parts"] == {"last": None, "seen": None}
    assert gone["action"] == REMOVED
    assert gone["parts"] == {"last": {"value": None}, **written}


def test_a_key_is_called_for_each_of_its_timers_that_has_fired() -> None:
    timers = f'[[{MILLIS - 3},null],[{MILLIS - 3},"a"],[{MILLIS - 2},"other"],[{MILLIS + 9},"b"]]'
    call = {
        "k": "k",
        "state": stored(f'{{"$timers":{timers},"n":1}}'),
        "fired": [MILLIS - 2, MILLIS - 1],
    }
    first, second = answered(batch([call], [[]]))
    assert [first["row"]["n"], second["row"]["n"]] == [101, 201]
    assert first["state"] == stored(f'{{"$timers":[[{MILLIS + 9},"b"]],"n":201}}')
    # The operator ends those that have fired; the one that was deleted is among them.
    assert (first["ended"], first["begun"]) == ([], [])
    assert second["action"] is None


class Swaps:
    """Gives each part the other's value, or the second the first one's and the first none."""

    def handleInputRows(self, _key: Any, rows: list[dict[str, Any]], state: State[Held]) -> None:
        value = state.value
        value.seen, value.last = value.last, value.seen if len(rows) == 1 else ValueState()


def test_parts_that_change_places_keep_what_they_held() -> None:
    calls: list[dict[str, Any]] = [
        {"k": k, "state": stored('{"n":4}'), "parts": {"last": "7", "seen": "1"}} for k in "ab"
    ]
    answers = [
        row
        for answer in made(Swaps)(iter([batch(calls, [[1], [1, 2]])]))
        for row in answer.to_pylist()
    ]
    assert [row["parts"] for row in answers] == [
        {"last": {"value": "1"}, "seen": {"value": "7"}},
        {"last": {"value": None}, "seen": {"value": "7"}},
    ]


class Utilities:
    """As what Spark pickles a method of."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor

    def method(self) -> None: ...


def test_a_worker_makes_the_function_for_many_keys_of_what_spark_pickled() -> None:
    many = made()
    processor = Processor(many._calls, many._key, ROWS, None, watermarked=True, chunk=10, many=many)
    function, output = of_command(pickle.dumps((Utilities(processor).method, "output")))
    assert output == "output"
    (answer,) = function(iter([batch([{"k": "a"}], [[5]])]))
    assert answer.column("row").to_pylist() == [{"k": "a", "n": 1, "last": None}]


@pytest.mark.parametrize("size", [1, 2])
def test_keys_over_several_batches(size: int) -> None:
    whole = batch([{"k": "a"}, {"k": "b"}], [[2, 3, 4], [5, 6]])
    pieces = [whole.slice(at, size) for at in range(0, whole.num_rows, size)]
    assert answered(*pieces) == answered(whole)
