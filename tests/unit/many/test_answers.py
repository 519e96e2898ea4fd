"""When the answers to many keys go out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from bucketstate.stateful.codec.kept import NO_TIMEOUT, NOTHING_KEPT, Kept
from bucketstate.stateful.many import answers as many_answers
from bucketstate.stateful.many.answers import Answers
from bucketstate.stateful.many.protocol import answer_schema
from bucketstate.stateful.many.variables import VariableAnswers, VariablesSlot


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
