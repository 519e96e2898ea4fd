"""Maps whose entries expire: the same on both operators, whatever is removed and put again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import MapState, State
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.cases import examples

OPERATORS = get_args(Operator)
LIFE = 5


@dataclass
class Marks:
    by_name: MapState[str, int] = stateful.map_state(ttl=timedelta(minutes=LIFE))


@dataclass
class Two:
    old: MapState[str, int] = stateful.map_state(ttl=timedelta(minutes=LIFE))
    new: MapState[str, int] = stateful.map_state(ttl=timedelta(minutes=LIFE))


@dataclass
class Seen:
    entries: list[str]
    answers: list[str]


def told(by_name: Any) -> list[str]:
    """All that a map answers."""
    names = sorted(by_name.keys())
    assert names == sorted(name for name, _ in by_name.iterator())
    assert len(by_name) == len(names) == len(list(by_name.values()))
    assert by_name.exists() == bool(names)
    return [f"{n}={by_name.getValue(n)}" for n in names]


def act(_key: Any, rows: list[dict[str, Any]], state: State[Marks]) -> Seen:
    by_name = state.value.by_name
    answers = []
    for row in rows:
        name, n = row["name"], row["n"]
        if n is None:
            by_name.removeKey(name)
        else:
            by_name.updateValue(name, n)
        answers.append(f"{by_name.containsKey(name)} {by_name.getValue(name)}")
    return Seen(told(by_name), answers)


def running(operator: Any) -> Harness[Any]:
    return Harness(act, by="key", operator=operator, schema="key string, name string, n long")


STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.none() | st.integers(0, 9)), max_size=12
)


@seed(20260929)
@settings(max_examples=examples(15), deadline=None)
@given(STEPS)
def test_what_is_removed_and_put_again_lives_its_own_time(
    steps: list[tuple[int, str, int | None]],
) -> None:
    both = [running(operator) for operator in OPERATORS]
    expected: dict[str, tuple[int, int]] = {}
    now = 0
    for minutes, name, n in steps:
        now += minutes
        expected = {k: v for k, v in expected.items() if v[1] > now}
        if n is None:
            expected.pop(name, None)
        else:
            expected[name] = n, now + LIFE
        entries = sorted(f"{k}={v}" for k, (v, _) in expected.items())
        for harness in both:
            harness.advance(timedelta(minutes=minutes))
            (answer,) = harness.run([{"key": "k", "name": name, "n": n}])
            assert answer["entries"] == entries
            assert answer["answers"] == [f"{n is not None} {n}"]
            kept = harness.state("k")
            assert (told(kept.by_name) if kept else []) == entries


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_loop_goes_on_over_what_it_removes(operator: Operator) -> None:
    def step(_key: Any, rows: list[dict[str, Any]], state: State[Marks]) -> Seen:
        by_name = state.value.by_name
        for row in rows:
            by_name.updateValue(row["name"], row["n"])
        seen = []
        for name in by_name.keys():  # noqa: SIM118 (Spark's own method)
            seen.append(name)
            by_name.removeKey(name)
        return Seen(told(by_name), sorted(seen))

    harness = Harness(step, by="key", operator=operator)
    rows = [{"key": "k", "name": name, "n": 1} for name in "abc"]
    assert harness.run(rows) == [{"entries": [], "answers": ["a", "b", "c"]}]


def test_what_was_removed_is_no_part_of_what_a_map_holds() -> None:
    def step(_key: Any, rows: list[dict[str, Any]], state: State[Two]) -> None:
        held = state.value
        held.new = held.old
        held.old.updateValue("a", len(rows))
        held.old.removeKey("a")
        held.old.removeKey("never there")
        held.old.updateValue("b", 1)

    harness = Harness(step, by="key", operator="transformWithState")
    harness.run([{"key": "k"}])
    harness.run([{"key": "k"}])
    held = harness.state("k")
    assert [told(held.old), told(held.new)] == [["b=1"], ["b=1"]]
