"""When the answers to many keys go out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bucketstate import stateful
from bucketstate.stateful import State, WrongTypeError
from bucketstate.stateful.codec.kept import NO_TIMEOUT, NOTHING_KEPT, Kept
from bucketstate.stateful.many import answers as many_answers
from bucketstate.stateful.many.answers import Answers
from bucketstate.stateful.many.cells import Cells
from bucketstate.stateful.many.protocol import answer_schema, call_type
from bucketstate.stateful.many.rows import OutputRows
from bucketstate.stateful.many.typed import ManyKeys
from bucketstate.stateful.many.variables import ManyVariables, VariableAnswers, VariablesSlot
from bucketstate.stateful.run import output as run_output
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.output import Output
from bucketstate.stateful.run.wire import Wire
from tests.kit.stateful import Total


@dataclass
class Counted:
    k: str
    n: int


def test_large_states_do_not_wait_for_thousands_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_answers, "_MOST_TEXT", 1_000)
    rows: Any = SimpleNamespace(columns=lambda _, kind: pa.array([], kind))
    schema = answer_schema(StructType([StructField("n", LongType())]))
    answers = Answers(schema, rows, by_event=False)
    for _ in range(2):
        for _ in range(9):
            answers.settle(NOTHING_KEPT, Kept(1, NO_TIMEOUT, (), "x" * 100), 0)
            answers.settle(NOTHING_KEPT, NOTHING_KEPT, 0)
            assert not answers.full
        answers.settle(NOTHING_KEPT, Kept(1, NO_TIMEOUT, (), "x" * 100), 0)
        assert answers.full
        assert answers.batch().num_rows == 19


def test_large_parts_do_not_wait_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_answers, "_MOST_TEXT", 1_000)
    rows: Any = SimpleNamespace(columns=lambda _, kind: pa.array([], kind))
    parts: Any = {"last": None}
    tuples: Any = list
    output = StructType([StructField("n", LongType())])
    answers = VariableAnswers(output, rows, tuples, parts)

    def settle(text: str | None) -> None:
        slot = VariablesSlot(NOTHING_KEPT, [], 0, None, parts, ("x" * 5_000,))
        if text is None:
            slot.held["last"].clear()
        else:
            slot.held["last"].update((text,))
        answers.settle_variables(NOTHING_KEPT, slot)

    for _ in range(2):
        for _ in range(9):
            settle("x" * 100)
            settle(None)
            assert not answers.full
        settle("x" * 100)
        assert answers.full
        assert answers.batch().num_rows == 19


class Fits:
    """Stands for a function, of which the test calls no handler."""

    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[Total]) -> Any: ...


def answering(kind: type[Answers], output: str) -> tuple[Answers, Output]:
    """Answers with the output of a function that declares it so."""
    definition = stateful.define(Fits(), output=output)
    made = Output(definition, UTC)
    rows = OutputRows(made, "Fits", UTC)
    assert made.codec is not None
    schema = made.codec.schema
    if kind is VariableAnswers:
        return VariableAnswers(schema, rows, made.tuples, {}), made
    return Answers(answer_schema(schema), rows, by_event=False), made


@pytest.mark.parametrize("kind", [Answers, VariableAnswers])
@pytest.mark.parametrize(
    ("output", "row"),
    [
        ("n long, text string", {"n": 1, "text": "x" * 100}),
        ("data binary, n long", {"data": b"x" * 100, "n": 1}),
        ("texts array<string>", {"texts": ["x" * 40, "x" * 40, None]}),
        ("numbers array<double>", {"numbers": [1.0] * 13}),
        ("named map<string, array<binary>>", {"named": {"x" * 30: [b"x" * 40, None]}}),
        ("inner struct<a: string, b: long>", {"inner": {"a": "x" * 70, "b": 1}}),
    ],
    ids=["text", "bytes", "texts", "numbers", "map", "struct"],
)
def test_long_rows_do_not_wait_for_thousands_of_others(
    monkeypatch: pytest.MonkeyPatch, kind: type[Answers], output: str, row: dict[str, Any]
) -> None:
    """Each row has a little more than a hundred characters."""
    monkeypatch.setattr(many_answers, "_MOST_TEXT", 1_000)
    answers, made = answering(kind, output)
    for result in (row, pd.DataFrame([row])):
        (block,) = made.blocks("a", result)
        for _ in range(9):
            answers.put_out(block)
            assert not answers.full
        answers.put_out(block)
        assert answers.full
        assert answers.batch().num_rows == 10


@pytest.mark.parametrize("kind", [Answers, VariableAnswers])
def test_rows_of_numbers_are_counted_alone(
    monkeypatch: pytest.MonkeyPatch, kind: type[Answers]
) -> None:
    monkeypatch.setattr(many_answers, "_MOST_TEXT", 1)
    answers, made = answering(kind, "n long, x double")
    assert not made.sizes.any
    (block,) = made.blocks("a", [{"n": 1, "x": 1.0}] * 9_999)
    answers.put_out(block)
    assert not answers.full
    answers.put_out([(1, 1.0)])
    assert answers.full


def test_long_rows_of_one_call_come_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_output, "_TEXT_PER_BLOCK", 1_000)
    _, made = answering(Answers, "n long, text string")
    rows = [{"n": n, "text": "x" * 100} for n in range(25)]
    blocks = [*made.blocks("a", iter(rows))]
    assert [len(block) for block in blocks] == [10, 10, 5]
    assert [row[0] for block in blocks for row in made.tuples(block)] == [*range(25)]


@pytest.mark.parametrize("kind", [Answers, VariableAnswers])
def test_more_than_a_column_has_room_for_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch, kind: type[Answers]
) -> None:
    answers, made = answering(kind, "n long, text string")
    (block,) = made.blocks("a", [{"n": 1, "text": "x"}])
    answers.put_out(block)

    def array(_: Cells, _values: Any, of: pa.DataType, **_named: bool) -> Any:
        """As pyarrow does with more than 2 GiB, which a test has not."""
        return pa.chunked_array([pa.nulls(1, of)])

    monkeypatch.setattr(Cells, "array", array)
    with pytest.raises(WrongTypeError, match=r"The output of Fits: the column n of rows .* 2 GiB"):
        answers.batch()


class Numbers:
    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], _state: State[Total]
    ) -> Counted:
        return Counted(key.k, len(rows))


class Chunked:
    def handleInputRows(
        self, key: Any, chunks: Iterator[list[dict[str, Any]]], _state: State[Total]
    ) -> Iterator[Counted]:
        for rows in chunks:
            yield Counted(key.k, len(rows))


@pytest.mark.parametrize("fn", [Numbers, Chunked])
@pytest.mark.parametrize("many", [ManyKeys, ManyVariables])
def test_each_batch_of_calls_has_its_answer(many: Any, fn: Any) -> None:
    rows = StructType([StructField("k", StringType()), StructField("n", LongType())])
    key = StructType([rows["k"]])
    calls = Calls(stateful.define(fn(), output=Counted), rows, None, UTC)
    more: dict[str, Any] = {"watermarked": False} if many is ManyVariables else {}
    assert calls.output.codec is not None
    schema = calls.output.codec.schema
    wire = Wire(rows, ["k"], masked=False)
    function = many(calls, KeyCodec(key, UTC), wire, schema, **more)
    fired = [("fired", pa.list_(pa.int64()))] if more else []
    kind = pa.struct([*call_type(key), *fired])
    always: dict[str, Any] = {"state": None, "timeout": -1, "timed_out": False, "now": 5}
    always |= {"watermark": -1, **({"fired": []} if fired else {})}

    def batch(*names: str | None) -> pa.RecordBatch:
        """Lines of keys with these names; one without is another row of the key before."""
        lines = [n and {**always, "key": {"k": n}} for n in names]
        sent = pa.struct([("k", pa.string()), ("n", pa.int64())])
        given = pa.array([{"k": n, "n": 1} for n in names], sent)
        return pa.RecordBatch.from_arrays([pa.array(lines, kind), given], names=["call", "row"])

    def answered(*batches: pa.RecordBatch) -> list[list[str]]:
        answers = function(iter(batches))
        return [[row["k"] for row in a.column("row").to_pylist() if row] for a in answers]

    assert answered(batch("a", "b", "c")) == [["a", "b", "c"]]
    first, second = answered(batch("a", "b", "c"), batch("d", "e", "f"))
    assert first + second == ["a", "b", "c", "d", "e", "f"]
    # A key of several batches, and whole batches of it alone.
    several = answered(batch("a"), batch(None), batch(None, "b"), batch("c"))
    assert 2 <= len(several) <= 4
    assert all(several)
    expected = ["a", "a", "a", "b", "c"] if fn is Chunked else ["a", "b", "c"]
    assert [name for names in several for name in names] == expected
