"""Keys of a harness that are more than one plain value: structs and arrays, at every depth."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from bucketstate.stateful import State, StateUsageError
from bucketstate.testing import Harness
from tests.kit.stateful import Total

OPERATORS: list[Any] = ["applyInPandasWithState", "transformWithState"]


def total(_key: Any, rows: list[dict[str, Any]], state: State[Total]) -> None:
    state.value.n += len(rows)


KEYS: list[Any] = [
    {"a": 1, "b": [2]},
    [1, 2],
    {"a": {"b": 1.5, "c": "x"}, "at": datetime(2024, 3, 1, tzinfo=UTC)},
    [{"a": 1, "at": datetime(2024, 3, 1, tzinfo=UTC)}, {"a": 2, "at": None}],
]
# No class has fields of these names, and with transformWithState Spark refuses them.
ODD = {"a b": 1, "c": {"from": [0.5]}}
CASES = [*itertools.product(OPERATORS, KEYS), ("applyInPandasWithState", ODD)]


@pytest.mark.parametrize(("operator", "key"), CASES, ids=str)
def test_a_struct_and_an_array_are_keys(operator: Any, key: Any) -> None:
    running = Harness(total, by="key", operator=operator)
    running.run([{"key": key}, {"key": key}])
    assert running.state(key) == Total(2)
    assert list(running.states().values()) == [Total(2)]


@pytest.mark.parametrize(("operator", "key"), CASES, ids=str)
def test_a_key_that_states_has_can_be_asked_for(operator: Any, key: Any) -> None:
    running = Harness(total, by="key", operator=operator)
    running.run([{"key": key}])
    (kept,) = running.states()
    assert running.state(*kept) == Total(1)
    assert (running.timeout(*kept), running.timers(*kept)) == (None, [])
    running.set_state(Total(5), *kept)
    running.run([{"key": key}])
    assert running.states() == {kept: Total(6)}
    # Before the rows are known, too.
    fresh = Harness(total, by="key", operator=operator)
    fresh.set_state(Total(5), *kept)
    fresh.run([{"key": key}])
    assert fresh.states() == {kept: Total(6)}


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ({"a": 1, "b": [2]}, (1,)),
        ({"a": 1, "b": [2]}, {"a": 1, "x": [2]}),
        ({"a": 1, "b": [2]}, 5),
        ({"a": 1, "b": [2]}, {"a": "x", "b": [2]}),
        ({"a": {"b": 1}}, ((1, 2),)),
        ({"a b": 1}, {"a": 1}),
        ({"a b": 1}, [1]),
    ],
    ids=str,
)
def test_what_no_struct_of_the_rows_can_be_is_no_key(key: Any, asked: Any) -> None:
    running = Harness(total, by="key")
    running.run([{"key": key}])
    for ask in (running.state, running.timeout, running.timers):
        with pytest.raises(StateUsageError, match="is none that the rows can have: key"):
            ask(asked)
