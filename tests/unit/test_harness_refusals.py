"""What the harness does as Spark does it, and what it refuses as a query would."""

# Arguments of wrong types are what is tested.
# mypy: disable-error-code="arg-type,call-overload,index"

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pandas as pd
import pytest

from bucketstate import stateful
from bucketstate.stateful import (
    DefinitionError,
    ListState,
    MapState,
    MigrationError,
    State,
    StateUsageError,
    ValueState,
    WrongTypeError,
    list_state,
    value_state,
)
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total

OPERATORS: list[Any] = ["applyInPandasWithState", "transformWithState"]


def total(key: Any, rows: list[dict[str, Any]], state: State[Total]) -> Out:
    state.value.n += len(rows)
    return Out(str(key[0]), state.value.n)


class Beginning:
    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[Total]) -> Out:
        return total(key, rows, state)

    def handleInitialState(self, _key: Any, initial: dict[str, Any], state: State[Total]) -> None:
        state.value.n = initial["n"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_grouping_column_is_found_in_either_case(operator: Any) -> None:
    seen: list[Any] = []

    def fn(key: Any, rows: list[dict[str, Any]], state: State[Total]) -> Out:
        seen.append((key._fields, list(rows[0])))
        return total(key, rows, state)

    running = Harness(fn, by=["NAME", "n"], operator=operator)
    assert running.run([{"Name": "a", "n": 1}, {"Name": "a", "n": 1}]) == [{"key": "a", "n": 2}]
    assert seen == [(("NAME", "n"), ["Name", "n"])]
    assert running.state("a", 1) == Total(2)
    running.set_state(Total(5), "b", 1)
    assert running.run([{"Name": "b", "n": 1}]) == [{"key": "b", "n": 6}]
    assert running.restarted().run([{"Name": "a", "n": 1}]) == [{"key": "a", "n": 3}]


def test_an_initial_state_has_the_grouping_columns_as_they_are_asked_for() -> None:
    initial = [{"NAME": "a", "n": 4}, {"NAME": "b", "n": 7}]
    running = Harness(Beginning(), by="NAME", operator="transformWithState", initial_state=initial)
    assert running.run([{"Name": "a"}]) == [{"key": "a", "n": 5}]
    assert running.states() == {("a",): Total(5), ("b",): Total(7)}


def test_a_name_in_the_same_case_comes_first() -> None:
    rows = [{"K": "x", "k": "a"}, {"K": "y", "k": "a"}]
    assert Harness(total, by="k").run(rows) == [{"key": "a", "n": 2}]


@pytest.mark.parametrize(
    ("initial", "told"),
    [
        ([{"key": 1, "n": 1}], "initial_state.key is bigint, and the rows are grouped by a string"),
        ([{"name": "a", "n": 1}], "initial_state has no column key, which the rows are grouped by"),
    ],
)
def test_an_initial_state_has_the_grouping_columns(initial: Any, told: str) -> None:
    running = Harness(Beginning(), by="key", operator="transformWithState", initial_state=initial)
    with pytest.raises(DefinitionError) as refusal:
        running.run([{"key": "a"}])
    assert told in str(refusal.value)


@pytest.mark.parametrize("initial", [[{"key": 1, "n": 4}], [{"key": None, "n": 4}]])
def test_an_initial_state_has_the_types_that_its_values_can_have(initial: Any) -> None:
    running = Harness(
        Beginning(),
        by="key",
        operator="transformWithState",
        initial_state=initial,
        schema="key int",
    )
    assert running.run([{"key": initial[0]["key"]}])[0]["n"] == 5


def test_a_key_that_the_rows_cannot_have_is_no_key_without_a_state() -> None:
    running = Harness(total, by="key", timeout="processing")
    running.run([{"key": "a"}])
    for ask in (running.state, running.timeout, running.timers):
        with pytest.raises(StateUsageError, match=r"\(1,\) is none .* key is int 1, expected a st"):
            ask(1)
    with pytest.raises(StateUsageError, match="is none that the rows can have"):
        running.set_state(Total(1), 1)
    assert running.state("b") is None
    assert running.state(None) is None


def test_a_state_and_a_key_that_are_swapped_are_told() -> None:
    running = Harness(total, by="key")
    for _ in range(2):
        with pytest.raises(StateUsageError, match="give it first, and then the key"):
            running.set_state("a", Total(5))
        running.run([{"key": "a"}])


def test_before_the_rows_are_known_a_key_can_be_looked_up() -> None:
    running = Harness(total, by="key")
    assert running.state("a") is None
    with pytest.raises(StateUsageError, match="run a batch first"):
        running.state({"a": 1})


@pytest.mark.parametrize(
    ("act", "error", "told"),
    [
        (lambda: Harness(None, by="key"), DefinitionError, "None is no stateful function"),
        (lambda: stateful.define(None), DefinitionError, "None is no stateful function"),
        (lambda: Harness(total, by=["a", "a"]), DefinitionError, "by= has 'a' twice"),
        (
            lambda: Harness(total, by="a", seed=cast(Any, [1])),
            DefinitionError,
            "seed=[1]: give a whole",
        ),
        (
            lambda: Harness(total, by="m", schema="m map<string,int>").run([{"m": {"a": 1}}]),
            DefinitionError,
            "by='m' holds a map, for which the harness has no keys",
        ),
        (
            lambda: Harness(total, by="a").run(pd.DataFrame([["x", "y"]], columns=["a", "a"])),
            WrongTypeError,
            "has the column 'a' twice",
        ),
        (
            lambda: Harness(total, by="a").advance(timedelta(seconds=-1)),
            StateUsageError,
            "give a timedelta of 0 or more",
        ),
        (
            lambda: Harness(total, by="a").advance(timedelta(days=99_999_999)),
            StateUsageError,
            "beyond the year 9999",
        ),
        (
            lambda: Harness(total, by="a").advance(timedelta.max),
            StateUsageError,
            "beyond the year 9999",
        ),
    ],
)
def test_what_cannot_be_is_refused(act: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error) as refusal:
        act()
    assert told in str(refusal.value)


async def asked(_key: Any, _rows: list[dict[str, Any]], _state: State[Total]) -> Out:
    return Out("a", 1)


async def yielded(_key: Any, _rows: list[dict[str, Any]], _state: State[Total]) -> Any:
    yield Out("a", 1)


class Asked:
    async def handleInputRows(self, _key: Any, _rows: Any, _state: State[Total]) -> Out:
        return Out("a", 1)


class Called:
    async def __call__(self, _key: Any, _rows: Any, _state: State[Total]) -> Out:
        return Out("a", 1)


class AskedForTimers(Beginning):
    async def handleExpiredTimer(self, _key: Any, _timer: Any, _state: State[Total]) -> Out:
        return Out("a", 1)


@pytest.mark.parametrize("fn", [asked, yielded, Asked, Asked(), Called(), AskedForTimers()])
def test_what_is_async_is_refused_where_it_is_defined(fn: Any) -> None:
    for act in (stateful.define, lambda fn: Harness(fn, by="key", output=Out)):
        with pytest.raises(DefinitionError, match="is async, and Spark's workers have no event"):
            act(fn)


@dataclass
class Texts:
    n: str = ""


@dataclass
class At:
    n: datetime | None = None


def missing(_fields: dict[str, Any]) -> dict[str, Any]:
    raise KeyError("n")


@stateful.state(version=2, migrations={1: missing})
@dataclass
class Failing:
    n: int = 0


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("state", "told"),
    [
        (Texts, "field n holds int 1, expected a str"),
        (At, "field n holds int 1, expected a datetime"),
        (Failing, "migrations[1] failed with KeyError"),
    ],
)
def test_a_state_that_cannot_be_read_is_told_in_each_way_to_ask_for_it(
    operator: Any, state: Any, told: str
) -> None:
    running = Harness(total, by="key", operator=operator)
    running.run([{"key": "a"}])

    def after(_key: Any, _rows: list[dict[str, Any]], state: Any) -> None:
        _ = state.value

    later = running.restarted(after, state=state)
    for act in (
        lambda: later.state("a"),
        later.states,
        lambda: later.run([{"key": "a"}]),
    ):
        with pytest.raises(MigrationError) as refusal:
            act()
        assert "The state of Key(key='a') cannot be read" in str(refusal.value)
        assert told in str(refusal.value)
    assert later.state("b") is None
    assert later.timers("a") == []


@pytest.mark.parametrize("operator", OPERATORS)
def test_timers_are_deleted_as_they_are_listed(operator: Any) -> None:
    class Timing:
        def handleInputRows(
            self, _key: Any, rows: list[dict[str, Any]], state: State[Total]
        ) -> None:
            if rows[0]["what"] == "set":
                state.registerTimer(state.now + timedelta(minutes=1))
                state.registerTimer(state.now + timedelta(minutes=1), name="a")
                state.registerTimer(state.now + timedelta(minutes=2), name="b")
                return
            for timer in state.listTimers():
                if timer.name != "b":
                    state.deleteTimer(timer)
            state.clear()

        def handleExpiredTimer(self, _key: Any, timer: Any, _state: State[Total]) -> Out:
            return Out(str(timer.name), 0)

    fn = stateful.define(Timing(), state=Total, output=Out)
    running = Harness(fn, by="key", operator=operator, timeout="processing")
    running.run([{"key": "k", "what": "set"}])
    assert [t.name for t in running.timers("k")] == [None, "a", "b"]
    running.run([{"key": "k", "what": "clear"}])
    assert [t.name for t in running.timers("k")] == ["b"]
    running.advance(timedelta(minutes=3))
    assert running.run() == [{"key": "b", "n": 0}]


@pytest.mark.parametrize("gains", [True, False])
def test_a_restart_that_changes_whether_there_is_a_clock_is_refused(gains: bool) -> None:
    timed = stateful.dedup(ttl=timedelta(hours=1))
    before, after = (stateful.dedup(), timed) if gains else (timed, stateful.dedup())
    running = Harness(before, by="key", schema="key string")
    what = "needs timeout='processing', and the query had none" if gains else "the query had one"
    with pytest.raises(DefinitionError, match=f"{what}.*one more column"):
        running.restarted(after)
    assert running.restarted(before).run([{"key": "a"}]) == [{"key": "a"}]


HOUR = timedelta(hours=1)


@dataclass
class Logged:
    log: ListState[int] = field(default_factory=ListState)
    last: ValueState[int] = value_state(ttl=HOUR)


@dataclass
class LogExpires:
    log: ListState[int] = list_state(ttl=HOUR)
    last: ValueState[int] = value_state(ttl=HOUR)


@dataclass
class LastStays:
    log: ListState[int] = field(default_factory=ListState)
    last: ValueState[int] = field(default_factory=ValueState)


@dataclass
class LastIsMany:
    log: ListState[int] = field(default_factory=ListState)
    last: ListState[int] = list_state(ttl=HOUR)


@dataclass
class LoggedLonger:
    log: ListState[int] = field(default_factory=ListState)
    last: ValueState[int] = value_state(ttl=2 * HOUR)
    more: MapState[str, int] = field(default_factory=MapState)


def logged(_key: Any, rows: list[dict[str, Any]], state: State[Any]) -> None:
    state.value.log.appendValue(len(rows))
    state.value.last.update(len(rows))


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (LogExpires, "log has a time to live in the state class, and the query has it without one"),
        (LastStays, "last has no time to live in the state class, and the query has it with one"),
        (LastIsMany, "last is a list of the state class, and the query has it as a value"),
    ],
)
def test_a_restart_with_a_part_that_became_another_is_refused(state: Any, told: str) -> None:
    running = Harness(logged, by="key", operator="transformWithState", state=Logged)
    running.run([{"key": "a"}])
    # What a class without the parts leaves in the state store is still what it was.
    for before in (running, running.restarted(total)):
        with pytest.raises(DefinitionError, match=f"{told}: Spark refuses that"):
            before.restarted(logged, state=state)
    again = running.restarted(logged, state=LoggedLonger)
    again.run([{"key": "a"}])
    assert list(again.state("a").log.get()) == [1, 1]


def test_in_a_document_a_part_may_get_a_time_to_live() -> None:
    running = Harness(logged, by="key", state=Logged)
    running.run([{"key": "a"}])
    again = running.restarted(logged, state=LogExpires)
    again.run([{"key": "a"}])
    assert list(again.state("a").log.get()) == [1, 1]
