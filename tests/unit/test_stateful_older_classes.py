"""What an older class wrote: renamed fields are warned of, and reading alone rewrites nothing."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID, uuid4

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
from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept
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


@dataclass
class Wide:
    n: float = 0.0
    price: Decimal = Decimal(0)
    many: list[float] = field(default_factory=list)


@dataclass
class Two:
    a: int = 0
    b: int = 0


@dataclass
class One:
    a: int = 0


@dataclass
class Raw:
    raw: list[bytes] = field(default_factory=list)


@dataclass
class Fresh:
    n: int = 0
    id: UUID = field(default_factory=uuid4)


@dataclass
class Seen:
    n: int = 0
    m: int = 0
    seen: ListState[int] = stateful.list_state(ttl=timedelta(hours=1))


OLDER: list[tuple[type[Any], str]] = [
    (Two, '{"a":3,"b":0,"gone":"x"}'),
    (Two, '{"a":3}'),
    (Two, '{"b":0,"a":3}'),
    (Shop, '{"prices":[{"euros":2.0,"name":"x","gone":1}]}'),
    (Shop, '{"prices":[{"euros":2.0}]}'),
    (Wide, '{"n":3,"price":"0","many":[]}'),
    (Wide, '{"n":3.0,"price":3,"many":[]}'),
    (Wide, '{"n":3.0,"price":"0","many":[1,2.0]}'),
    (Raw, '{"raw":[]}'),
    (Fresh, '{"n":3}'),
    (Meant, '{"prices":[{"euros":2.0}]}'),
]


class Slot:
    """The state of one key as an older class wrote it; `written` is what a call leaves behind."""

    now = 5
    watermark = None

    def __init__(self, text: str) -> None:
        self.kept = Kept(1, NO_TIMEOUT, (), text)
        self.written: list[Kept] = []

    def parts(self, _errors: Any) -> None:
        return None

    def write(self, kept: Kept) -> None:
        self.written.append(kept)


def after(cls: Any, text: str, step: Callable[[State[Any]], Any]) -> list[Kept]:
    slot = Slot(text)
    state: State[Any] = State(state_codec(cls, UTC), slot, "a", None, UTC)
    step(state)
    state.finish()
    return slot.written


@pytest.mark.parametrize(("cls", "text"), OLDER)
def test_what_is_only_read_is_not_written(cls: Any, text: str) -> None:
    assert after(cls, text, lambda state: state.value) == []


@pytest.mark.parametrize(("cls", "text"), OLDER)
def test_what_is_changed_or_given_is_written_as_the_class_is_now(cls: Any, text: str) -> None:
    def change(state: State[Any]) -> None:
        name = next(iter(cls.__dataclass_fields__))
        made = {"a": 7, "n": 7, "prices": [Price(7.0)], "raw": [b"x"]}
        setattr(state.value, name, type(getattr(state.value, name))(made[name]))

    def give(state: State[Any]) -> None:
        state.update(state.value)

    codec = state_codec(cls, UTC)
    for step in (change, give):
        (kept,) = after(cls, text, step)
        assert kept.text is not None
        _, older = codec.read(kept.text, kept.version, NO_CLOCK)
        assert not older


def test_digits_that_a_float_of_spark_s_has_not_stay_until_the_state_changes() -> None:
    assert after("f float", '{"f":0.1}', lambda state: state.value) == []
    (kept,) = after("f float", '{"f":0.1}', lambda state: state.update(state.value))
    assert kept.text == '{"f":0.10000000149011612}'
    assert after("f float", kept.text, lambda state: state.value) == []


def test_a_new_default_made_by_chance_is_kept_where_it_is_given() -> None:
    seen = []
    for _ in range(2):
        assert after(Fresh, '{"n":3}', lambda state: seen.append(state.value.id)) == []
    assert seen[0] != seen[1]
    (kept,) = after(Fresh, '{"n":3}', lambda state: state.update(state.value))
    assert kept.text is not None
    assert after(Fresh, kept.text, lambda state: seen.append(state.value.id)) == []
    assert f'{{"n":3,"id":"{seen[2]}"}}' == kept.text


@pytest.mark.filterwarnings("ignore::bucketstate.stateful.RenamedFieldWarning")
def test_what_has_expired_leaves_the_document_of_an_older_class() -> None:
    later = 10**15
    seen = [{"value": 1, "expires": 1}, {"value": 2, "expires": later}]
    text = json.dumps({"n": 1, "gone": 2, "seen": seen[1:]}, separators=(",", ":"))
    assert after(Seen, text, lambda state: state.value) == []
    (kept,) = after(Seen, json.dumps({"n": 1, "seen": seen}), lambda state: state.value)
    assert kept.text == f'{{"n":1,"m":0,"seen":[{{"value":2,"expires":{later}}}]}}'


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_has_no_field_any_more_stays_until_the_state_changes(operator: Any) -> None:
    def write(_key: Any, rows: list[dict[str, Any]], state: State[Two]) -> None:
        state.value.a += len(rows)

    def read(_key: Any, _rows: list[dict[str, Any]], state: State[One]) -> None:
        assert state.value.a == 1

    def add(_key: Any, rows: list[dict[str, Any]], state: State[One]) -> None:
        state.value.a += len(rows)

    running: Any = Harness(stateful.define(write), by="key", operator=operator)
    running.run(ROW)
    for fn, text in ((read, '{"a":1,"b":0}'), (add, '{"a":2}')):
        running = running.restarted(stateful.define(fn))
        running.run(ROW)
        assert [kept.text for kept in running._stored.kept().values()] == [text]
