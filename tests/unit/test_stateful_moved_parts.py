"""Parts that a function gives to another field, on both operators alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import stateful
from bucketstate.stateful import ListState, MapState, State, ValueState, value_state
from bucketstate.testing import Harness

if TYPE_CHECKING:
    from bucketstate.stateful.run.operators import Operator

OPERATORS: tuple[Operator, ...] = ("applyInPandasWithState", "transformWithState")
START = datetime(2024, 3, 1, tzinfo=UTC)
ROW = [{"key": "a"}]
HOUR = timedelta(hours=1)


@dataclass
class Values:
    a: ValueState[int] = field(default_factory=ValueState)
    b: ValueState[int] = field(default_factory=ValueState)


@dataclass
class Lists:
    a: ListState[int] = field(default_factory=ListState)
    b: ListState[int] = field(default_factory=ListState)


@dataclass
class Maps:
    a: MapState[str, int] = field(default_factory=MapState)
    b: MapState[str, int] = field(default_factory=MapState)


@dataclass
class Optionals:
    a: ValueState[int | None] = field(default_factory=ValueState)
    b: ValueState[int | None] = field(default_factory=ValueState)


# What a state holds to begin with: in its field `a`, in `b`, and nothing.
KINDS = [
    (Values, ValueState(1), ValueState(2), ValueState),
    (Values, ValueState(1), ValueState(), ValueState),
    (Lists, ListState([1, 2]), ListState([3]), ListState),
    (Lists, ListState([1, 2]), ListState(), ListState),
    (Maps, MapState({"x": 1, "y": 2}), MapState({"y": 3}), MapState),
    (Maps, MapState(), MapState({"y": 3}), MapState),
]


def swap(state: State[Any], _empty: Any) -> None:
    value = state.value
    value.a, value.b = value.b, value.a


def to_b(state: State[Any], empty: Any) -> None:
    state.value.b = state.value.a
    state.value.a = empty()


def to_a(state: State[Any], empty: Any) -> None:
    state.value.a = state.value.b
    state.value.b = empty()


def both(state: State[Any], _empty: Any) -> None:
    state.value.b = state.value.a


def update_to_b(state: State[Any], empty: Any) -> None:
    state.update(type(state.value)(a=empty(), b=state.value.a))


def update_to_a(state: State[Any], empty: Any) -> None:
    state.update({"a": state.value.b, "b": empty()})


def clear_between(state: State[Any], empty: Any) -> None:
    before = state.value
    state.clear()
    state.update(type(before)(a=empty(), b=before.a))


def cleared_and_swapped(state: State[Any], _empty: Any) -> None:
    before = state.value
    state.clear()
    state.value.a, state.value.b = before.b, before.a


def cleared_and_given_back(state: State[Any], _empty: Any) -> None:
    before = state.value
    state.clear()
    state.value.a, state.value.b = before.a, before.b


MOVES = {
    swap: "ba",
    to_b: "-a",
    to_a: "b-",
    both: "aa",
    update_to_b: "-a",
    update_to_a: "b-",
    clear_between: "-a",
    cleared_and_swapped: "ba",
    cleared_and_given_back: "ab",
}


def harness(act: Any, state: Any, operator: Operator, **options: Any) -> Harness:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: Any) -> None:
        act(state)

    return Harness(stateful.define(fn, state=state), by="key", operator=operator, **options)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
@pytest.mark.parametrize(("cls", "a", "b", "empty"), KINDS)
def test_a_part_can_be_given_to_another_field(
    cls: Any, a: Any, b: Any, empty: Any, move: Any, operator: Operator
) -> None:
    running = harness(lambda state: move(state, empty), cls, operator)
    running.set_state(cls(a, b), "a")
    running.run(ROW)
    held = {"a": a, "b": b, "-": empty()}
    assert running.state("a") == cls(*(held[name] for name in MOVES[move]))


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_value_that_is_none_is_one_where_it_goes(operator: Operator) -> None:
    def act(state: State[Optionals]) -> None:
        if not state.exists:
            state.value.a.update(None)
        else:
            swap(state, ValueState)

    running = harness(act, Optionals, operator)
    running.run(ROW)
    running.run(ROW)
    held = running.state("a")
    assert (held.a.exists(), held.b.exists(), held.b.get()) == (False, True, None)


@dataclass
class Mortal:
    a: ValueState[int] = value_state(ttl=2 * HOUR)
    b: ValueState[int] = value_state(ttl=2 * HOUR)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("move", "left"),
    [
        (lambda s: to_b(s, ValueState), (None, 1)),
        (lambda s: both(s, ValueState), (None, 1)),
        # A part that stays where it was keeps its time.
        (lambda s: s.update(Mortal(s.value.a, s.value.b)), (None, None)),
    ],
)
def test_what_moves_has_its_time_to_live_again(operator: Operator, move: Any, left: Any) -> None:
    steps = [lambda s: s.value.a.update(1), move, lambda s: s.value]
    running = harness(
        lambda s: steps.pop(0)(s), Mortal, operator, timeout="processing", clock=START
    )
    running.run(ROW)
    for _ in range(2):
        running.advance(1.5 * HOUR)
        running.run(ROW)
    held = running.state("a")
    assert (held.a.get(), held.b.get()) == left
