"""Whole numbers, and floats in keys, come as they are, on both operators."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import Keys, MigrationError, State, WrongTypeError
from bucketstate.stateful.codec.document import state_codec
from bucketstate.stateful.many.documents import Documents
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total

OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]
operators = pytest.mark.parametrize("operator", OPERATORS)
FIELDS = {
    "id": "long",
    "small": "int",
    "tiny": "short",
    "yes": "boolean",
    "price": "decimal(20,2)",
    "many": "array<long>",
    "one": "struct<x:long,y:boolean>",
    "by": "map<string,long>",
}
SCHEMA = "key string, " + ", ".join(f"{name} {spark}" for name, spark in FIELDS.items())
BIG = 2**53 + 1


@dataclass
class One:
    x: int | None
    y: bool | None


@dataclass
class Wide:
    key: str
    id: int | None
    small: int | None
    tiny: int | None
    yes: bool | None
    price: Decimal | None
    many: list[int | None] | None
    one: One | None
    by: dict[str, int | None] | None


ROWS: list[dict[str, Any]] = [
    {
        "key": "a",
        "id": BIG,
        "small": 2**31 - 1,
        "tiny": -(2**15),
        "yes": True,
        "price": Decimal("12345678901234567.89"),
        "many": [BIG, None, 2**63 - 1],
        "one": {"x": BIG, "y": None},
        "by": {"x": -(2**63), "y": None},
    },
    {"key": "a", **dict.fromkeys(FIELDS)},
    {**dict.fromkeys(FIELDS), "key": "a", "id": 2**63 - 1, "one": {"x": None, "y": True}},
]


@operators
@pytest.mark.parametrize("rows_per_chunk", [None, 1])
def test_whole_numbers_beside_nulls_come_as_they_are(
    operator: Operator, rows_per_chunk: int | None
) -> None:
    seen: list[Any] = []

    def dicts(_key: Any, rows: list[dict], _state: State[Total]) -> None:  # type: ignore[type-arg]
        seen.extend(rows)

    def records(_key: Any, rows: list[Wide], _state: State[Total]) -> None:
        seen.extend(rows)

    options: dict[str, Any] = {"by": "key", "operator": operator, "schema": SCHEMA}
    options["rows_per_chunk"] = rows_per_chunk
    Harness(dicts, **options).run(ROWS)
    assert seen == ROWS
    for found, given in zip(seen, ROWS, strict=True):
        assert all(type(found[name]) is type(value) for name, value in given.items())
    seen.clear()
    Harness(records, **options).run(ROWS)
    assert seen == [
        Wide(**{**row, "one": None if row["one"] is None else One(**row["one"])}) for row in ROWS
    ]


def framed(operator: Operator, *ids: int | None) -> pd.Series[Any]:
    seen: list[Any] = []

    def fn(_key: Any, rows: pd.DataFrame, _state: State[Total]) -> None:
        seen.append(rows["id"])

    running = Harness(fn, by="key", operator=operator, schema="key string, id long")
    running.run([{"key": "a", "id": n} for n in ids])
    (column,) = seen
    return column  # type: ignore[no-any-return]


@operators
def test_a_frame_has_floats_only_where_they_are_exact(operator: Operator) -> None:
    assert framed(operator, BIG, 2).tolist() == [BIG, 2]
    assert framed(operator, 2**53, None).tolist()[0] == 2**53
    for number in (BIG, -BIG, 2**63 - 1):
        with pytest.raises(WrongTypeError) as refusal:
            framed(operator, number, None)
        assert f"The column id of the rows has the whole number {number} beside nulls" in str(
            refusal.value
        )
        assert "preferIntExtensionDtype=true" in str(refusal.value)
        assert "Take the rows as list[dict]" in str(refusal.value)


def test_with_spark_s_setting_a_frame_has_them_as_whole_numbers() -> None:
    seen: list[Any] = []

    def fn(_key: Any, rows: pd.DataFrame, _state: State[Total]) -> None:
        seen.append(rows)

    calls = Calls(
        stateful.define(fn),
        stateful.output_schema("id long, small int"),
        None,
        UTC,
        extension=True,
    )
    frame = calls._inputs.shaped(iter([{"id": [BIG, None], "small": [None, 3]}]))
    assert [str(t) for t in frame.dtypes] == ["Int64", "Int32"]
    assert frame["id"].tolist() == [BIG, pd.NA]
    # So it is where columns come as Arrow has them, with nulls and without.
    arrays = {"id": pa.array([BIG, 1]), "small": pa.array([None, 3], pa.int32())}
    frame = calls._inputs.shaped(iter([arrays]))
    assert [str(t) for t in frame.dtypes] == ["Int64", "Int32"]
    assert (frame["id"].tolist(), frame["small"].tolist()) == ([BIG, 1], [pd.NA, 3])
    # Of columns that pandas has made so, dicts have None.
    made = pd.Series([BIG, None], dtype="Int64")
    dicts = Calls(
        stateful.define(_dicts), stateful.output_schema("id long"), None, UTC
    )._inputs.shaped(iter([{"id": made}]))
    assert dicts == [{"id": BIG}, {"id": None}]


def _dicts(_key: Any, _rows: list[dict], _state: State[Total]) -> None:  # type: ignore[type-arg]
    """Takes dicts."""


def test_an_array_of_whole_numbers_that_has_become_floats_is_refused_where_it_is_not_exact() -> (
    None
):
    """As Spark 4.1 has arrays with nulls."""
    calls = Calls(stateful.define(_dicts), stateful.output_schema("many array<long>"), None, UTC)

    def shaped(*values: float) -> Any:
        return calls._inputs.shaped(iter([{"many": pd.Series([np.array(values)])}]))

    assert shaped(math.nan, 2.0, -3.0) == [{"many": [None, 2, -3]}]
    assert type(shaped(2.0)[0]["many"][0]) is int
    with pytest.raises(
        WrongTypeError, match=r"The column many of the rows has float 9007199254740992"
    ):
        shaped(math.nan, float(2**53 + 1))


@operators
def test_a_group_is_cut_into_chunks_alike(operator: Operator) -> None:
    def fn(_key: Any, rows: Iterator[list[dict]], state: State[Total]) -> Out:  # type: ignore[type-arg]
        sizes = [len(chunk) for chunk in rows]
        state.value.n += len(sizes)
        return Out(str(sizes), state.value.n)

    running = Harness(fn, by="v", operator=operator, rows_per_chunk=2)
    assert running.run([{"v": "a"}] * 7) == [{"key": "[2, 2, 2, 1]", "n": 4}]


def nan(bits: str) -> float:
    made: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return made


NANS = [nan("7ff8000000000000"), nan("7ff8000000000001"), nan("fff8000000000000")]


def counting(operator: Operator) -> Harness:
    def fn(key: Any, rows: list[dict], state: State[Total]) -> Out:  # type: ignore[type-arg]
        state.value.n += 1
        return Out(f"{key.v} {[r['n'] for r in rows]}", state.value.n)

    return Harness(fn, by="v", operator=operator, schema="v double, n long")


def answers(running: Harness, *values: float | None) -> list[tuple[str, int]]:
    found = running.run([{"v": v, "n": n} for n, v in enumerate(values)])
    return sorted((row["key"], row["n"]) for row in found)


@operators
def test_states_of_keys_are_apart_by_their_bits_as_in_spark(operator: Operator) -> None:
    running = counting(operator)
    # Within a batch Spark brings the zeros together, under the first of them.
    assert answers(running, 0.0, -0.0) == [("0.0 [0, 1]", 1)]
    assert answers(running, -0.0, 0.0) == [("-0.0 [0, 1]", 1)]
    assert answers(running, -0.0) == [("-0.0 [0]", 2)]
    assert (running.state(0.0), running.state(-0.0)) == (Total(1), Total(2))
    assert [math.copysign(1, key.v) for key in running.states()] == [1, -1]


def test_a_batch_brings_all_nans_together_for_the_one_operator_and_none_for_the_other() -> None:
    running = counting("applyInPandasWithState")
    assert answers(running, *NANS) == [("None [0, 1, 2]", 1)]
    assert answers(running, NANS[1], NANS[0]) == [("None [0, 1]", 1)]
    assert [running.state(n) for n in NANS] == [Total(1), Total(1), None]
    running = counting("transformWithState")
    # A call for each row: which of two alike comes first is not said.
    assert len(answers(running, *NANS, NANS[0])) == 4
    assert [running.state(n) for n in NANS] == [Total(2), Total(1), Total(1)]


@operators
@pytest.mark.parametrize("beside", [None, 2])
def test_whole_numbers_put_out_as_floats_are_refused_where_they_are_not_exact(
    operator: Operator, beside: int | None
) -> None:
    def fn(_key: Any, rows: list[dict[str, Any]], _state: State[Total]) -> pd.DataFrame:
        return pd.DataFrame({"id": [r["id"] for r in rows]}, dtype="float64")

    made = stateful.define(fn, output="id long")
    run = Harness(made, by="key", operator=operator, schema="key string, id long")
    rows = [{"key": "a", "id": n} for n in (beside, 2**53 - 1, -(2**53) + 1)]
    assert [r["id"] for r in run.run(rows)] == [beside, 2**53 - 1, -(2**53) + 1]
    for beyond in (BIG, -BIG):
        with pytest.raises(
            WrongTypeError, match=r"id is float -?9007.*, expected a whole number within 2\*\*53"
        ):
            run.run([*rows, {"key": "a", "id": beyond}])


SINGLE = float(np.float32(0.1))
FLOATS = [0.1, math.inf, -math.inf, 1e-50, -0.0]
SINGLES = [SINGLE, math.inf, -math.inf, 0.0, -0.0]


def single_ways(values: list[float]) -> dict[str, Any]:
    """Functions that keep and put out numbers in a `float` of Spark's, on every way there is."""
    dicts: Any = list[dict[str, Any]]

    def typed(_key: Any, _rows: dicts, state: State[Any]) -> Iterator[dict[str, Any]]:
        for value in values:
            state.value.f, state.value.many = value, [value]
            yield {"f": value, "many": [value]}

    def framed(_key: Any, _rows: dicts, state: State[Any]) -> pd.DataFrame:
        state.value.f, state.value.many = values[-1], values[-1:]
        return pd.DataFrame({"f": values, "many": [[v] for v in values]})

    def columns(keys: Keys[Any], _rows: pa.RecordBatch) -> pa.RecordBatch:
        many = pa.array([values[-1:]] * len(keys), pa.list_(pa.float64()))
        keys.update({"f": pa.array(values[-1:] * len(keys)), "many": many})
        put = [pa.array(values), pa.array([[v] for v in values], pa.list_(pa.float64()))]
        return pa.RecordBatch.from_arrays(put, ["f", "many"])

    return {"typed": typed, "framed": framed, "columns": columns}


def singles(way: str, values: list[float], operator: Operator) -> Harness[Any]:
    kinds = "f float, many array<float>"
    fn = stateful.define(single_ways(values)[way], state=kinds, output=kinds)
    return Harness(fn, by="key", operator=operator)


SINGLE_WAYS = pytest.mark.parametrize(
    ("way", "operator"),
    [(w, o) for w in ("typed", "framed") for o in OPERATORS] + [("columns", OPERATORS[0])],
)


@SINGLE_WAYS
def test_a_float_of_spark_s_has_32_bits_on_every_way(way: str, operator: Operator) -> None:
    running = singles(way, FLOATS, operator)
    rows = running.run([{"key": "a"}])
    assert repr([row["f"] for row in rows]) == repr(SINGLES)
    assert repr([row["many"] for row in rows]) == repr([[v] for v in SINGLES])
    kept = singles(way, [0.1], operator)
    kept.run([{"key": "a"}])
    assert (kept.state("a").f, kept.state("a").many) == (SINGLE, [SINGLE])


@SINGLE_WAYS
@pytest.mark.parametrize("big", [1e39, -1e300])
def test_a_number_that_a_float_of_spark_s_has_not_is_refused(
    way: str, operator: Operator, big: float
) -> None:
    with pytest.raises(WrongTypeError, match=r"a float of 32 bits|a float has 32 bits there"):
        singles(way, [big], operator).run([{"key": "a"}])


@pytest.mark.parametrize("keys", [1, 20])
def test_a_stored_double_is_read_as_a_float_of_32_bits_or_refused(keys: int) -> None:
    """Arrow reads the documents of many keys, and would make an infinity of a large one."""
    before = Documents(state_codec("f double", UTC))
    after = Documents(state_codec("f float", UTC))
    for value in (0.1, 1e300):
        columns = pa.StructArray.from_arrays([pa.array([value] * keys)], ["f"])
        texts = before.write(columns, str)
        if value == 0.1:
            found = after.read(pa.array([1] * keys), texts, str)
            assert found.field("f").to_pylist() == [SINGLE] * keys
            continue
        with pytest.raises(MigrationError, match=r"f holds float 1e\+300, expected a float of 32"):
            after.read(pa.array([1] * keys), texts, str)
