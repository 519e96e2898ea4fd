"""Timers: by name and by time, many per key, on both operators alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, State, StateUsageError, Timer
from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept, order
from bucketstate.testing import Harness
from tests.kit.stateful import Total

if TYPE_CHECKING:
    from bucketstate.stateful.run.operators import Operator

OPERATORS: tuple[Operator, ...] = ("applyInPandasWithState", "transformWithState")
START = datetime(2024, 3, 1, tzinfo=UTC)
ROW = [{"key": "a"}]
MINUTE = timedelta(minutes=1)


@dataclass
class Fired:
    key: str
    name: str | None
    at: datetime


class Steps:
    """Does one step per call for rows, and puts out each timer that fires."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def handleInputRows(self, _key: Any, _rows: list[dict[str, Any]], state: State[Total]) -> None:
        self.steps.pop(0)(state)

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> Fired:
        assert state.timed_out
        # The timeout looks like a timer without a name of its moment, which fires after it.
        of_timeout = timer.name is None and timer.at == state.timeout
        assert of_timeout or timer not in list(state.listTimers())
        return Fired(key.key, timer.name, timer.at)


def harness(operator: Operator, *steps: Any, **options: Any) -> Harness:
    given_options = {"timeout": "processing", "clock": START, **options}
    return Harness(
        stateful.define(Steps(*steps), output=Fired), by="key", operator=operator, **given_options
    )


@pytest.mark.parametrize("operator", OPERATORS)
def test_timers_fire_once_by_time_and_stay_until_then(operator: Operator) -> None:
    def many(state: State[Total]) -> None:
        state.registerTimer(START + 3 * MINUTE)
        state.registerTimer(START + MINUTE, name="late")
        state.registerTimer(START + 2 * MINUTE, name="late")
        state.registerTimer(START + 2 * MINUTE, name="early")
        state.registerTimer(START + 3 * MINUTE)

    running = harness(operator, many, lambda _: None)
    running.run(ROW)
    two, three = START + 2 * MINUTE, START + 3 * MINUTE
    assert [(t.name, t.at) for t in running.timers("a")] == [
        ("early", two),
        ("late", two),
        (None, three),
    ]
    # A call without a word about them leaves them, and no state has come to be.
    running.advance(2 * MINUTE)
    assert running.run(ROW) == []
    assert running.states() == {}
    running.advance(timedelta(milliseconds=1))
    assert running.run() == [
        {"key": "a", "name": "early", "at": two},
        {"key": "a", "name": "late", "at": two},
    ]
    assert running.run() == []
    running.advance(MINUTE)
    assert running.restarted().run() == [{"key": "a", "name": None, "at": three}]
    assert running.run() == [{"key": "a", "name": None, "at": three}]
    assert running.timers("a") == []


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_timer_is_deleted_by_name_or_by_time(operator: Operator) -> None:
    def make(state: State[Total]) -> None:
        state.registerTimer(START + MINUTE)
        state.registerTimer(START + MINUTE, name="x")
        state.timeout_after(5 * MINUTE)

    def unmake(state: State[Total]) -> None:
        state.deleteTimer("y")
        state.deleteTimer(START + 2 * MINUTE)
        state.deleteTimer(START + MINUTE)
        assert [t.name for t in state.listTimers()] == ["x"]
        state.deleteTimer("x")

    running = harness(operator, make, unmake)
    running.run(ROW)
    assert running.timeout("a") == START + 5 * MINUTE
    running.run(ROW)
    assert (running.timers("a"), running.timeout("a")) == ([], None)
    running.advance(timedelta(hours=1))
    assert running.run() == []


@pytest.mark.parametrize("operator", OPERATORS)
def test_timers_that_are_due_fire_after_the_rows_of_their_key(operator: Operator) -> None:
    def look(state: State[Total]) -> None:
        assert not state.timed_out
        assert [t.name for t in state.listTimers()] == ["x"]
        state.value.n = 7

    running = harness(operator, lambda s: s.registerTimer(START + MINUTE, name="x"), look)
    running.run(ROW)
    running.advance(2 * MINUTE)
    assert running.run(ROW) == [{"key": "a", "name": "x", "at": START + MINUTE}]
    assert running.state("a") == Total(7)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_timeout_and_timers_leave_each_other_alone(operator: Operator) -> None:
    def make(state: State[Total]) -> None:
        state.registerTimer(START + 5 * MINUTE, name="x")
        state.registerTimer(START + MINUTE)
        state.timeout_after(2 * MINUTE)

    running = harness(operator, make)
    running.run(ROW)
    running.advance(MINUTE + timedelta(milliseconds=1))
    # A timer's call is a call: it ends the timeout.
    assert [r["at"] for r in running.run()] == [START + MINUTE]
    assert running.timeout("a") is None
    running = harness(operator, make, lambda s: s.timeout_after(1.5 * MINUTE))
    running.run(ROW)
    running.run(ROW)
    running.advance(2 * MINUTE)
    fired = running.run()
    assert [(r["name"], r["at"]) for r in fired] == [(None, START + MINUTE)]
    assert [t.name for t in running.timers("a")] == ["x"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_timeout_that_fires_leaves_the_timers(operator: Operator) -> None:
    def make(state: State[Total]) -> None:
        state.registerTimer(START + 5 * MINUTE, name="x")
        state.timeout_after(2 * MINUTE)

    running = harness(operator, make)
    running.run(ROW)
    running.advance(3 * MINUTE)
    assert [(r["name"], r["at"]) for r in running.run()] == [(None, START + 2 * MINUTE)]
    assert [t.name for t in running.timers("a")] == ["x"]
    running.advance(3 * MINUTE)
    assert [r["name"] for r in running.run()] == ["x"]


@pytest.mark.parametrize("name", ["x", None])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_timeout_and_a_timer_of_one_moment_both_fire(
    operator: Operator, name: str | None
) -> None:
    def make(state: State[Total]) -> None:
        state.registerTimer(START + MINUTE, name=name)
        state.timeout_after(MINUTE)

    at = START + MINUTE
    for many_keys in (True, False):
        running = harness(operator, make, many_keys=many_keys)
        running.run(ROW)
        running.advance(MINUTE + timedelta(milliseconds=1))
        assert running.run() == [
            {"key": "a", "name": None, "at": at},
            {"key": "a", "name": name, "at": at},
        ]
        assert (running.timeout("a"), running.timers("a"), running.run()) == (None, [], [])


@pytest.mark.parametrize("operator", OPERATORS)
def test_of_a_timeout_and_a_timer_of_one_moment_each_can_be_ended(operator: Operator) -> None:
    def make(state: State[Total]) -> None:
        state.registerTimer(START + MINUTE, name="x")
        state.timeout_after(MINUTE)

    def only_timeout(state: State[Total]) -> None:
        state.deleteTimer("x")
        state.timeout_after(MINUTE)

    for then, name in ((only_timeout, None), (lambda _: None, "x")):
        running = harness(operator, make, then)
        running.run(ROW)
        running.run(ROW)
        running.advance(2 * MINUTE)
        assert [row["name"] for row in running.run()] == [name]
        assert running.run() == []


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("timeout", "act", "told"),
    [
        (None, lambda s: s.registerTimer(START), "registerTimer needs a query with a clock for"),
        (None, lambda s: s.deleteTimer("x"), "deleteTimer needs a query with a clock for timers"),
        ("processing", lambda s: s.registerTimer(START), "is not after the batch's processing"),
        ("processing", lambda s: s.registerTimer("x"), "str 'x' is not a datetime"),
        ("processing", lambda s: s.registerTimer(START + MINUTE, name=""), "give a name as text"),
        ("event", lambda s: s.registerTimer(START - MINUTE), "is before the watermark 2024-03-01"),
        ("event", lambda s: s.deleteTimer(5), "int 5 is not a datetime"),
    ],
)
def test_timers_that_cannot_be_are_refused(
    operator: Operator, timeout: Any, act: Any, told: str
) -> None:
    running = harness(operator, act, timeout=timeout)
    if timeout == "event":
        running.watermark = START
    with pytest.raises(StateUsageError) as refusal:
        running.run(ROW)
    assert told in str(refusal.value)


# The last whole millisecond.
LAST = datetime.max.replace(microsecond=999_000, tzinfo=UTC)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("clock", ["processing", "event"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_the_last_moment_is_one(operator: Operator, clock: str, zone: str) -> None:
    """In Berlin it is of the year 10000: there it bears the offset of UTC."""

    def make(state: State[Total]) -> None:
        state.registerTimer(datetime.max.replace(tzinfo=UTC), name="x")
        if clock == "event":
            state.timeout_at(LAST)
        else:
            state.timeout_after(LAST - state.now)

    def look(state: State[Total]) -> None:
        assert [t.at for t in state.listTimers()] == [LAST]
        assert state.timeout == LAST

    running = harness(operator, make, look, timeout=clock, time_zone=zone)
    if clock == "event":
        running.watermark = START
    running.run(ROW)
    assert running.timeout("a") == LAST
    running.run(ROW)
    assert [t.at for t in running.timers("a")] == [LAST]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("timeout", "act"),
    [
        ("processing", lambda s: s.timeout_after(timedelta.max)),
        ("processing", lambda s: s.registerTimer(datetime.max)),
        ("event", lambda s: s.timeout_at(datetime.max)),
        ("event", lambda s: s.registerTimer(datetime.max, name="x")),
    ],
)
def test_what_is_beyond_the_years_of_python_is_refused(
    operator: Operator, timeout: Any, act: Any
) -> None:
    """As the last evening of 9999 in New York is, in UTC."""
    running = harness(operator, act, timeout=timeout, time_zone="America/New_York")
    if timeout == "event":
        running.watermark = START
    with pytest.raises(StateUsageError, match=r"for Key.* is beyond the years 1 to 9999"):
        running.run(ROW)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_timers_that_earlier_versions_set_for_later_are_at_the_end(zone: str) -> None:
    far_off = timedelta.max // timedelta(milliseconds=1)
    timer = Timer.of((far_off, "x"), ZoneInfo(zone))
    assert (timer.at, timer.millis) == (LAST, far_off)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
kepts = st.builds(
    Kept,
    version=st.integers(1, 3),
    timeout=st.just(NO_TIMEOUT) | st.integers(1, 2**60),
    timers=st.sets(st.tuples(st.integers(1, 2**60), st.none() | texts), max_size=3).map(
        lambda timers: tuple(sorted(timers, key=order))
    ),
    text=st.none() | st.just("{}") | texts.map(lambda t: f'{{"n":3,"t":"{t.encode().hex()}"}}'),
)


@given(kepts)
def test_what_is_kept_comes_back_from_its_row(kept: Kept) -> None:
    found = Kept.of(kept.row)
    assert found.same(kept)
    assert found.empty == kept.empty
    if kept.text is not None:
        assert found.version == kept.version


def test_rows_without_timers_are_what_they_always_were() -> None:
    assert Kept(2, 5, (), '{"n":1}').row == (2, 5, '{"n":1}')
    assert Kept.of((1, 7, None)) == Kept(1, 7, (), None)
    assert Kept(1, -1, ((9, "x"),), '{"n":1}').row == (1, -1, '{"$timers":[[9,"x"]],"n":1}')


def test_a_handler_that_cannot_be_called_is_refused() -> None:
    class Short(Steps):
        def handleExpiredTimer(self, key: Any, state: Any) -> None: ...  # type: ignore[override]

    with pytest.raises(DefinitionError, match=r"Short.handleExpiredTimer\(.*cannot be called with"):
        stateful.define(Short(), output=Fired)
