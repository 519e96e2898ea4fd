"""Fields that seem renamed are warned of, wherever in the state they are."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, NamedTuple

import pytest

from bucketstate import stateful
from bucketstate.stateful import (
    ListState,
    MapState,
    RenamedFieldWarning,
    State,
    ValueState,
)
from bucketstate.stateful.codec.document import Clock, state_codec
from bucketstate.stateful.errors import MismatchError
from bucketstate.testing import Harness

OPERATORS = ["applyInPandasWithState", "transformWithState"]
NO_CLOCK = Clock(0, None)
ROW = [{"key": "a"}]


@dataclass
class Price:
    euros: float = 0.0
    name: str = ""


class Named(NamedTuple):
    euros: float = 0.0
    name: str = ""


@dataclass
class Shop:
    prices: list[Price] = field(default_factory=list)


@dataclass
class Deep:
    maybe: Price | None = None
    pair: tuple[int, Named] = (0, Named())
    by_name: dict[str, list[Price]] = field(default_factory=dict)
    either: Price | Named | None = None
    n: int = 0


@stateful.state(version=2)
@dataclass
class Meant(Shop):
    pass


def euros(old: dict[str, Any]) -> dict[str, Any]:
    return {"prices": [{"euros": p["amount"], "name": ""} for p in old["prices"]]}


@stateful.state(version=2, migrations={1: euros})
@dataclass
class Migrated(Shop):
    pass


RENAMED = '{"prices":[{"amount":2.0,"name":"x"}]}'


def load(cls: type[Any], text: str, version: int = 1) -> tuple[Any, list[str]]:
    """The value, and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        value = state_codec(cls, UTC).load(text, version, NO_CLOCK)
    assert all(w.category is RenamedFieldWarning for w in told)
    return value, [str(w.message) for w in told]


def test_a_renamed_field_within_the_state_is_warned_of() -> None:
    value, told = load(Shop, RENAMED)
    assert value == Shop([Price(0.0, "x")])
    assert told == [
        "Price has no field amount, which stored states have, and new is euros. If that is a new "
        "name, the values are lost: use @stateful.state(version=2, migrations={1: ...}) on Shop "
        "to take them over. If not, raise the version alone."
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"maybe": {"amount": 2.0, "name": ""}},
        {"pair": {"_1": 0, "_2": {"amount": 2.0, "name": ""}}},
        {"by_name": {"a": [{"euros": 1.0, "name": ""}, {"amount": 2.0, "name": ""}]}},
        {"either": {"tag": "Named", "Named": {"amount": 2.0, "name": ""}}},
    ],
    ids=lambda document: next(iter(document)),
)
def test_wherever_it_lies(document: dict[str, Any]) -> None:
    _, told = load(Deep, json.dumps(document))
    assert len(told) == 1
    assert "has no field amount, which stored states have, and new is euros" in told[0]


def test_a_class_is_warned_of_once_for_all_its_values() -> None:
    prices = [{"amount": 2.0, "name": ""}] * 3 + [{"sum": 2.0, "name": ""}]
    _, told = load(Shop, json.dumps({"prices": prices}))
    assert [t[: t.index(",")] for t in told] == [
        "Price has no field amount",
        "Price has no field sum",
    ]


@pytest.mark.parametrize(
    ("cls", "text", "version"),
    [
        (Meant, RENAMED, 1),
        (Migrated, RENAMED, 1),
        (Shop, '{"prices":[{"euros":2.0}]}', 1),
        (Shop, '{"prices":[{"euros":2.0,"name":"x","gone":1}]}', 1),
        (Shop, '{"prices":[{"name":"x","euros":2.0}]}', 1),
    ],
)
def test_what_is_meant_is_not_warned_of(cls: Any, text: str, version: int) -> None:
    value, told = load(cls, text, version)
    assert told == []
    assert value.prices[0].euros == (0.0 if cls is Meant else 2.0)
    # A reading that failed leaves nothing for the next one.
    with pytest.raises(MismatchError, match="euros"):
        load(Shop, '{"prices":[{"amount":2.0,"name":""},{"euros":"x"}]}')
    assert load(Shop, '{"prices":[]}') == (Shop(), [])


@dataclass
class Before:
    amount: float = 0.0


@dataclass
class After:
    euros: float = 0.0


@dataclass
class PartsBefore:
    last: ValueState[Before]
    many: ListState[Before]
    by: MapState[str, Before]


@dataclass
class PartsAfter:
    last: ValueState[After]
    many: ListState[After]
    by: MapState[str, After]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("part", ["last", "many", "by"])
def test_values_of_parts(part: str, operator: Any) -> None:
    def write(_key: Any, _rows: list[dict[str, Any]], state: State[PartsBefore]) -> None:
        parts: dict[str, Any] = {
            "last": ValueState(Before(2.0)),
            "many": ListState([Before(2.0)]),
            "by": MapState({"x": Before(2.0)}),
        }
        setattr(state.value, part, parts[part])

    def read(_key: Any, _rows: list[dict[str, Any]], state: State[PartsAfter]) -> None:
        assert [state.value.last.get(), *state.value.many, *state.value.by.values()]

    before = Harness(stateful.define(write), by="key", operator=operator)
    before.run(ROW)
    advice = {
        "applyInPandasWithState": "version=2, migrations={1: ...}) on PartsAfter",
        "transformWithState": "give the field its old name",
    }
    with pytest.warns(RenamedFieldWarning) as told:
        before.restarted(stateful.define(read)).run(ROW)
    (message,) = {str(w.message) for w in told}
    assert message.startswith("After has no field amount, which stored states have, and new is eu")
    assert advice[operator] in message
