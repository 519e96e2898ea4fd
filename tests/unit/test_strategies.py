"""Rows that hypothesis draws fit the class that they are of."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketstate.errors import MissingLibraryError
from bucketstate.stateful import DefinitionError, State
from bucketstate.stateful.codec.hints import struct_of_record
from bucketstate.testing import Harness, rows_of
from tests.kit.cases import examples
from tests.kit.stateful import Total
from tests.kit.values import classes


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


Name = NewType("Name", str)
Money = NewType("Money", Decimal)


@dataclass
class Inner:
    n: int
    note: str | None = None


@dataclass
class Every:
    key: str
    n: int
    real: float
    yes: bool
    raw: bytes
    wide: Decimal
    price: Annotated[Decimal, (10, 2)]
    fee: Annotated[Decimal | None, (4, 1)]
    total: Annotated[Money, (12, 3)]
    day: date
    at: datetime
    span: timedelta
    id: UUID
    colour: Colour
    size: Literal["s", "m"] | None
    name: Annotated[Name, "of a thing"]
    some: list[Inner]
    ends: tuple[int, str]
    codes: tuple[int, ...]
    tags: set[str]
    others: frozenset[date]
    by_name: dict[str, list[float]]
    inner: Inner
    with_default: int = 3


@given(rows_of(Every))
def test_every_hint(row: Every) -> None:
    struct_of_record(Every, UTC).check(row)


@pytest.mark.parametrize("kind", classes.KINDS)
@settings(max_examples=examples(10))
@given(data=st.data())
def test_classes_of_each_kind(kind: Any, data: st.DataObject) -> None:
    row = data.draw(rows_of(kind))
    codec = struct_of_record(kind, UTC)
    assert type(row) is kind
    assert codec.load(codec.dump(row)) == row


@given(st.lists(st.lists(rows_of(Inner, n=st.integers(0, 2))), max_size=4))
def test_as_batches(batches: list[list[Inner]]) -> None:
    def count(_key: Any, rows: list[Inner], state: State[Total]) -> None:
        state.value.n += len(rows)

    harness = Harness(count, by="n", schema=Inner)
    for batch in batches:
        harness.run(batch)
    assert sum(total.n for total in harness.states().values()) == sum(map(len, batches))
    assert {key.n for key in harness.states()} <= {0, 1, 2}


@dataclass
class Unfit:
    phase: complex


def test_what_is_no_class_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DefinitionError, match=r"Unfit\.phase is complex"):
        rows_of(Unfit)
    with pytest.raises(DefinitionError, match="give a dataclass"):
        rows_of(int)
    with pytest.raises(DefinitionError, match=r"no field 'nn'\. Did you mean 'n'\?"):
        rows_of(Inner, nn=st.just(1))
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    with pytest.raises(MissingLibraryError, match="pip install hypothesis"):
        rows_of(Inner)
