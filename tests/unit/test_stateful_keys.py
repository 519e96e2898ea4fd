"""The class that a function hints its key as, held against the grouping columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

import pytest

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, State, WrongTypeError
from bucketstate.testing import Harness
from tests.kit.stateful import Total


class Kind(Enum):
    RED = "r"


class Place(NamedTuple):
    city: str | None
    number: int


@dataclass(frozen=True)
class Stop:
    city: str
    at: datetime


class Coloured(NamedTuple):
    kind: Kind


@dataclass
class Out:
    key: str
    kind: str


def kinds(hint: Any) -> Any:
    def fn(key, rows: list[dict], state: State[Total]) -> Out:  # type: ignore[no-untyped-def, type-arg]
        state.value.n += len(rows)
        return Out(repr(key), type(key).__name__)

    fn.__annotations__ = {
        "key": hint,
        "rows": list[dict[str, Any]],
        "state": State[Total],
        "return": Out,
    }
    return fn


def put_out(hint: Any, by: list[str], row: dict[str, Any]) -> list[tuple[str, str]]:
    harness = Harness(kinds(hint), by=by)
    made = [(r["key"], r["kind"]) for r in harness.run([row])]
    # The state is found by the columns' values, whatever the class makes of them.
    assert harness.state(*(row[name] for name in by)) == Total(1)
    return made


def test_the_key_is_an_instance_of_its_hint() -> None:
    row = {"number": 3, "city": "Ulm", "at": datetime(2024, 1, 1, tzinfo=UTC), "kind": "r"}
    assert put_out(Place, ["number", "city"], row) == [(repr(Place("Ulm", 3)), "Place")]
    stop = Stop("Ulm", datetime(2024, 1, 1, tzinfo=UTC))
    assert put_out(Stop, ["city", "at"], row) == [(repr(stop), "Stop")]
    assert put_out(Coloured, ["kind"], row) == [(repr(Coloured(Kind.RED)), "Coloured")]
    assert put_out(Any, ["number"], row) == [("Key(number=3)", "Key")]
    assert put_out(tuple[int], ["number"], row) == [("Key(number=3)", "Key")]


def test_a_null_needs_a_hint_that_takes_it() -> None:
    assert put_out(Place, ["number", "city"], {"number": 3, "city": None})[0][1] == "Place"
    with pytest.raises(WrongTypeError, match="grouping column city has None, expected a str"):
        Harness(kinds(Stop), by=["city", "at"], schema="city string, at timestamp").run(
            [{"city": None, "at": datetime(2024, 1, 1)}]
        )


@pytest.mark.parametrize(
    ("by", "row", "told"),
    [
        (["city"], {"city": "Ulm"}, "fields city, number, and the rows are grouped by city"),
        (["city", "number"], {"city": "Ulm", "number": "3"}, r"Place.number is an int .* a string"),
        (["city", "number"], {"city": 1, "number": 3}, r"Place.city is a str or None, .* a bigint"),
    ],
)
def test_other_columns(by: list[str], row: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Harness(kinds(Place), by=by).run([row])


def test_handlers_with_other_keys() -> None:
    class Odd:
        def handleInputRows(self, key: Place, rows: list[dict], state: State[Total]) -> None: ...  # type: ignore[type-arg]
        def handleExpiredTimer(self, key: Stop, timer: Any, state: State[Total]) -> None: ...

    with pytest.raises(DefinitionError, match=r"takes a key of Place, and .* one of Stop"):
        stateful.define(Odd)
