"""The harness's own ways; that it does what Spark does is an integration test."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

from bucketstate import stateful
from bucketstate.stateful import (
    DefinitionError,
    ListState,
    MapState,
    State,
    StateUsageError,
    ValueState,
    WrongTypeError,
)
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total

START = datetime(2024, 3, 1, tzinfo=UTC)


def count(key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
    state.value.n += len(rows)
    return Out(key.key, -state.value.n if state.timed_out else state.value.n)


class Timed:
    def __init__(self, when: Any) -> None:
        self.when = when

    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
        state.value.n += len(rows)
        self.when(state)
        return Out(key.key, state.value.n)

    def handleExpiredTimer(self, key: Any, _timer: Any, state: State[Total]) -> Out:
        return Out(key.key, -state.value.n)


def rows(keys: str, minute: int = 0) -> list[dict[str, Any]]:
    return [{"key": k, "at": START + timedelta(minutes=minute)} for k in keys]


def test_frames_dicts_and_dataclasses_are_the_same_rows() -> None:
    @dataclass
    class Row:
        key: str

    for batch in (
        pd.DataFrame({"key": ["a", "a"]}),
        [{"key": "a"}, {"key": "a"}],
        [Row("a"), Row("a")],
    ):
        for schema in (None, "key string", Row):
            if schema is Row:
                continue
            assert Harness(count, by="key", schema=schema).run(batch) == [{"key": "a", "n": 2}]


def test_it_shows_what_it_runs() -> None:
    running = Harness(count, by=["key", "at"])
    running.run(rows("ab"))
    assert repr(running) == "<Harness of count by key, at: 2 keys at 2024-01-01 00:00:00+00:00>"


def test_a_schema_that_is_none() -> None:
    with pytest.raises(DefinitionError, match=r"^The schema of the rows is \['k'\]: it must be"):
        Harness(count, by="key", schema=["k"])


def test_a_timeout_fires_once_and_only_after_it_was_passed() -> None:
    running = Harness(
        Timed(lambda s: s.timeout_after(timedelta(minutes=5))), by="key", timeout="processing"
    )
    running.run(rows("a"))
    assert running.timeout("a") == running.clock + timedelta(minutes=5)
    running.advance(timedelta(minutes=5))
    assert running.run() == []
    running.advance(timedelta(milliseconds=1))
    assert running.run() == [{"key": "a", "n": -1}]
    assert running.run() == []
    assert running.timeout("a") is None


def test_every_call_ends_the_timeout_before_it_even_where_the_state_is_not_changed() -> None:
    steps = [lambda s: s.timeout_after(timedelta(minutes=5)), lambda s: s.value]

    def step(_key: Any, _rows: Any, state: State[Total]) -> None:
        steps.pop(0)(state)

    running = Harness(step, by="key", timeout="processing")
    running.run(rows("a"))
    assert running.timeout("a") is not None
    running.run(rows("a"))
    assert running.timeout("a") is None


def test_a_timeout_outlives_a_cleared_state() -> None:
    seen: list[Any] = []

    def fn(_key: Any, _rows: Any, state: State[Total]) -> None:
        seen.append((state.timed_out, state.exists))
        if not state.timed_out:
            state.update(Total(3))
            state.clear()
            state.timeout_after(timedelta(minutes=1))

    running = Harness(fn, by="key", timeout="processing")
    running.run(rows("a"))
    assert running.state("a") is None
    assert running.timeout("a") is not None
    running.advance(timedelta(minutes=2))
    running.run()
    running.advance(timedelta(minutes=2))
    running.run()
    assert seen == [(False, False), (True, False)]


def test_data_comes_before_timeouts_and_late_rows_are_those_behind_the_previous_watermark() -> None:
    timed = Timed(lambda s: s.timeout_at(START + timedelta(minutes=15)))
    running = Harness(timed, by="key", timeout="event", event_time="at")
    running.run(rows("a", 5))
    running.run(rows("b", 12))
    assert running.watermark == START + timedelta(minutes=12)
    # Behind the watermark of this batch, which is 12, but not behind that of the one before.
    assert running.run(rows("a", 6)) == [{"key": "a", "n": 2}]
    assert running.run(rows("b", 12)) == []
    running.run(rows("c", 20))
    timed.when = lambda s: s.timeout_at(START + timedelta(minutes=30))
    output = running.run(rows("a", 21))
    # a's new timeout was set before the timed-out keys were looked for.
    assert output[0] == {"key": "a", "n": 3}
    assert sorted(r["key"] for r in output[1:]) == ["b", "c"]


@pytest.mark.parametrize(
    ("timeout", "step", "told"),
    [
        (None, lambda s: s.timeout_after(timedelta(1)), "this one has none: give timeout='proc"),
        ("event", lambda s: s.timeout_after(timedelta(1)), "call state.timeout_at(datetime)"),
        ("processing", lambda s: s.timeout_at(START), "call state.timeout_after(timedelta)"),
        ("processing", lambda s: s.timeout_after(5), "give a timedelta of 1 ms or more"),
        ("processing", lambda s: s.timeout_after(timedelta(0)), "give a timedelta of 1 ms"),
        ("event", lambda s: s.timeout_at(START - timedelta(1)), "is before the watermark 2024-03"),
        ("event", lambda s: s.timeout_at("soon"), "str 'soon' is not a datetime"),
        (None, lambda s: s.watermark, "The query has no watermark, but state.watermark was read"),
    ],
)
def test_calls_that_the_query_does_not_allow(timeout: Any, step: Any, told: str) -> None:
    running = Harness(Timed(step), by="key", timeout=timeout)
    if timeout == "event":
        running.watermark = START
    with pytest.raises(StateUsageError) as refusal:
        running.run(rows("a"))
    assert told in str(refusal.value)


def test_a_batch_that_fails_changes_nothing() -> None:
    def fn(key: Any, rows: pd.DataFrame, state: State[Total]) -> None:
        state.value.n += len(rows)
        if key.key == "bad":
            raise ValueError("bad")

    running = Harness(fn, by="key", event_time="at")
    running.run(rows("ab"))
    before = running.states(), running.watermark
    with pytest.raises(ValueError, match="bad"):
        running.run([*rows("abc", 9), {"key": "bad", "at": START}])
    assert (running.states(), running.watermark) == before


def test_the_order_of_groups_is_shuffled_but_the_same_for_a_seed() -> None:
    batch = rows("abcdefgh")
    orders = {
        seed: [r["key"] for r in Harness(count, by="key", seed=seed).run(batch)] for seed in (0, 1)
    }
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == list("abcdefgh")
    assert orders[0] == [r["key"] for r in Harness(count, by="key", seed=0).run(batch)]


def test_null_and_nan_keys_are_groups_of_their_own() -> None:
    def keyed(key: Any, rows: pd.DataFrame, _state: State[Total]) -> dict[str, Any]:
        return {"key": str(key.key), "n": len(rows)}

    for batch, expected in (
        ([{"key": k} for k in ("a", None, None)], {"a": 1, "None": 2}),
        ([{"key": k} for k in (1, None, 2, None)], {"1": 1, "2": 1, "None": 2}),
        ([{"key": k} for k in (0.5, float("nan"), float("nan"))], {"0.5": 1, "None": 2}),
    ):
        running = Harness(stateful.define(keyed, output=Out), by="key")
        assert {r["key"]: r["n"] for r in running.run(batch)} == expected


@pytest.mark.parametrize(
    ("act", "error", "told"),
    [
        (
            lambda: Harness(count, by="no").run(rows("a")),
            DefinitionError,
            "by='no' is not a column",
        ),
        (
            lambda: Harness(count, by="key", event_time="no").run(rows("a")),
            DefinitionError,
            "event_time='no' is not a column",
        ),
        (
            lambda: Harness(count, by="key", event_time="key").run(rows("a")),
            DefinitionError,
            "it must be a timestamp",
        ),
        (
            lambda: Harness(count, by="key", timeout="never").run(),  # type: ignore[call-overload]
            DefinitionError,
            "timeout='never': it must be None, 'processing' or 'event'",
        ),
        (
            lambda: Harness(count, by="key", schema="key string, n long").run(
                [{"key": "a", "n": 1}, {"key": "a", "n": "x"}]
            ),
            WrongTypeError,
            "Row 1 of the batch, field n, is str 'x'",
        ),
        (
            lambda: setattr(
                Harness(count, by="key", event_time="at"), "watermark", datetime(1960, 1, 1)
            ),
            StateUsageError,
            "cannot go back",
        ),
    ],
)
def test_what_cannot_be_is_refused(act: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error) as refusal:
        act()
    assert told in str(refusal.value)


def test_a_restarted_harness_goes_on_where_the_other_was() -> None:
    running = Harness(count, by="key", event_time="at")
    running.run(rows("a", 5))
    again = running.restarted()
    assert again.run(rows("a", 6)) == [{"key": "a", "n": 2}]
    assert again.watermark == START + timedelta(minutes=6)
    assert running.state("a") == Total(1)


OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_state_may_be_there_before_the_first_batch(operator: Operator) -> None:
    running = Harness(count, by="key", operator=operator)
    running.set_state(Total(7), "a")
    running.set_state({"n": 9}, "b")
    assert (running.state("a"), running.state("c")) == (Total(7), None)
    assert running.run(rows("a")) == [{"key": "a", "n": 8}]
    assert running.restarted().run(rows("b")) == [{"key": "b", "n": 10}]
    running.set_state(Total(1), "a")
    assert running.run(rows("a")) == [{"key": "a", "n": 2}]


@dataclass
class Visits:
    pages: ListState[str] = stateful.list_state(ttl=timedelta(hours=1))
    counts: MapState[datetime, int] = field(default_factory=MapState)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_state_that_was_set_has_parts_that_expire_and_keys_of_any_type(
    operator: Operator,
) -> None:
    class Visiting:
        def handleInputRows(self, key: Any, _rows: Any, state: State[Visits]) -> Out:
            state.timeout_after(timedelta(minutes=5))
            return Out(str(key.at), len(state.value.pages))

        def handleExpiredTimer(self, key: Any, _timer: Any, state: State[Visits]) -> Out:
            return Out(str(key.at), -len(state.value.pages))

    running = Harness(
        stateful.define(Visiting(), state=Visits),
        by=["at", "n"],
        operator=operator,
        timeout="processing",
        time_zone="Asia/Kolkata",
    )
    held = Visits(ListState(["/", "/help"]), MapState({START: 1}))
    running.set_state(held, START, None)
    assert running.state(START, None) == held
    batch = [{"at": START, "n": None}, {"at": START, "n": 3}]
    assert sorted(r["n"] for r in running.run(batch)) == [0, 2]
    running.advance(timedelta(minutes=6))
    assert sorted(r["n"] for r in running.run()) == [-2, 0]
    running.advance(timedelta(hours=1))
    assert running.state(START, None) == Visits(counts=MapState({START: 1}))


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_state_set_for_a_key_with_a_timer_keeps_the_timer(operator: Operator) -> None:
    class Timing:
        def handleInputRows(self, _key: Any, _rows: Any, state: State[Total]) -> None:
            state.registerTimer(state.now + timedelta(minutes=5), name="t")

        def handleExpiredTimer(self, key: Any, _timer: Any, state: State[Total]) -> Out:
            return Out(key.key, state.value.n)

    running = Harness(Timing(), by="key", operator=operator, timeout="processing")
    running.run(rows("a"))
    running.set_state(Total(5), "a")
    assert [t.name for t in running.timers("a")] == ["t"]
    running.advance(timedelta(minutes=6))
    assert running.run() == [{"key": "a", "n": 5}]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_state_that_cannot_be_set(operator: Operator) -> None:
    running = Harness(count, by="key", operator=operator)
    with pytest.raises(WrongTypeError, match=r"The state of Key\(key='a'\): field n of Total is s"):
        running.set_state({"n": "x"}, "a")
    with pytest.raises(WrongTypeError, match="expected a Total or a dict of its fields"):
        running.set_state(7, "a")  # type: ignore[arg-type]
    assert running.states() == {}
    running.set_state(Total(1), 3)
    with pytest.raises(
        WrongTypeError, match=r"A state was set for the key Key\(key=3\), but key of"
    ):
        running.run(rows("a"))


def test_parts_are_compared_and_shown_by_what_they_hold() -> None:
    assert ValueState(3) == ValueState(3) != ValueState()
    assert ListState([1, 2]) == ListState([1, 2]) != ListState([2, 1])
    assert MapState({"a": 1, "b": 2}) == MapState({"b": 2, "a": 1}) != MapState()
    assert ListState() != MapState()
    parts = [ValueState(3), ValueState(), ListState([1]), MapState({"a": 1})]
    assert repr(parts) == "[ValueState(3), ValueState(), ListState([1]), MapState({'a': 1})]"

    seen: list[str] = []

    def fn(_key: Any, _rows: Any, state: State[Visits]) -> None:
        state.value.pages.appendValue("/")
        assert state.value == Visits(ListState(["/"]))
        seen.append(repr(state.value.pages))

    for operator in OPERATORS:
        Harness(stateful.define(fn, state=Visits), by="key", operator=operator).run(rows("a"))
    assert seen == ["ListState(['/'])"] * 2
