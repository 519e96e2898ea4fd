"""What a function over columns can get wrong: each an error that says what to write instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import (
    DefinitionError,
    Keys,
    ListState,
    State,
    StateUsageError,
    WrongTypeError,
)
from bucketstate.testing import DifferenceError, Harness

ROWS = [{"k": key, "x": number} for number, key in enumerate("aabbbc")]
OUTPUT = "k string, n long"


@dataclass
class Record:
    n: int = 0
    name: str | None = None


def harness(step: Callable[[Keys[Record], pd.DataFrame], Any], **options: Any) -> Harness:
    def counted(keys: Keys[Record], rows: pd.DataFrame) -> Any:
        return step(keys, rows)

    return Harness(stateful.define(counted, output=OUTPUT), by="k", **options)


def numbers(keys: Keys[Record]) -> dict[str, Any]:
    return {"n": np.diff(keys.offsets), "name": [None] * len(keys)}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda k: {"n": [1] * len(k)}, r"has the columns n, expected k, n; missing: k"),
        (lambda k: k.frame.assign(n=1, m=2), r"has the columns k, n, m, .*unknown: m"),
        (
            lambda k: {"k": k.frame["k"], "n": [1, 2, 3, 4]},
            r"has columns of several lengths: k has \d, n has 4",
        ),
        (lambda k: {"k": k.frame["k"], "n": ["1"] * len(k)}, r"has str '1' for n, expected an int"),
        (
            lambda k: {"k": k.frame["k"], "n": pa.array(["1"] * len(k))},
            r"has the column n of string",
        ),
        (lambda k: {"k": k.frame["k"], "n": np.full(len(k), 1.5)}, r"has the column n of double"),
        (lambda k: {"k": k.frame["k"], "n": 1}, r"has int 1 for n, expected a column of bigint"),
        (lambda _: 5, r"is int 5, expected a table"),
    ],
)
def test_output(answer: Any, told: str) -> None:
    run = harness(lambda keys, _rows: answer(keys))
    with pytest.raises(WrongTypeError, match=f"The output of counted {told}") as failure:
        run.run(ROWS)
    assert any("in counted" in note for note in failure.value.__notes__)
    assert run.states() == {}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (lambda k: {"n": np.diff(k.offsets)}, r"missing: name"),
        (lambda k: numbers(k) | {"m": [0] * len(k)}, r"unknown: m"),
        (lambda _: {"n": [1] * 9, "name": [None] * 9}, r"n has 9, .* the call has \d keys"),
        (
            lambda k: numbers(k) | {"n": [None] * len(k)},
            r"of Key\(k='\w'\): field n of Record is None",
        ),
        (lambda k: numbers(k) | {"name": [5] * len(k)}, r"has int 5 for name, expected a str"),
        (
            lambda k: pd.DataFrame(numbers(k)).iloc[::-1] if len(k) > 1 else 5,
            r"in another order than the keys|is int 5",
        ),
    ],
)
def test_states(state: Any, told: str) -> None:
    run = harness(lambda keys, _rows: keys.update(state(keys)), seed=1)
    with pytest.raises(WrongTypeError, match=told):
        run.run(ROWS)
    assert run.states() == {}


@pytest.mark.parametrize("method", ["clear", "timeout_at", "timeout_after"])
def test_a_series_in_another_order_than_the_keys(method: str) -> None:
    """Its values are those of its index to pandas, which a table of the keys is not asked for."""

    def step(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        at = datetime(2024, 1, 1, tzinfo=UTC)
        values = {"clear": True, "timeout_at": at, "timeout_after": timedelta(minutes=5)}
        series = pd.Series([values[method]] * len(keys), index=range(len(keys), 0, -1))
        if method == "clear":
            keys.clear(where=series)
        else:
            getattr(keys, method)(series)

    clocks: dict[str, Any] = {"timeout_at": "event", "timeout_after": "processing"}
    fn = stateful.define(step, output=None)
    running = Harness(fn, by="k", timeout=clocks.get(method))
    with pytest.raises(WrongTypeError, match=r"in another order .*reset_index\(drop=True\)"):
        running.run(ROWS)


@pytest.mark.parametrize("where", [[True] * 99, np.ones(3), "yes", 1], ids=str)
def test_where(where: Any) -> None:
    for step in (
        lambda keys, _rows: keys.clear(where=where),
        lambda keys, _rows: keys.update(numbers(keys), where=where),
    ):
        with pytest.raises(WrongTypeError, match=r"\(where=...\) of .* expected a bool for each"):
            harness(step).run(ROWS)


def test_timeouts() -> None:
    soon = timedelta(minutes=1)
    with pytest.raises(StateUsageError, match="needs a query with timeout='processing'"):
        harness(lambda keys, _: keys.timeout_after(soon)).run(ROWS)
    run = harness(lambda keys, _: keys.timeout_after(timedelta(0)), timeout="processing")
    with pytest.raises(StateUsageError, match=r"for Key\(k='\w'\) is 0 ms"):
        run.run(ROWS)
    run = harness(lambda keys, _: keys.timeout_after("soon"), timeout="processing")
    with pytest.raises(WrongTypeError, match="expected a timedelta, or one for each"):
        run.run(ROWS)
    run = harness(lambda keys, _: keys.timeout_at(pd.NaT), timeout="event")
    with pytest.raises(WrongTypeError, match="expected a datetime, or one for each"):
        run.run(ROWS)
    run = harness(lambda keys, _: keys.timeout_at(datetime(2000, 1, 1)), timeout="event")
    run.watermark = datetime(2024, 1, 1)
    with pytest.raises(StateUsageError, match="before the watermark 2024-01-01"):
        run.run(ROWS)


def test_keys_that_are_kept() -> None:
    held: list[Keys[Record]] = []
    run = harness(lambda keys, _: held.append(keys))
    run.run(ROWS)
    with pytest.raises(StateUsageError, match="used after it"):
        _ = held[0].state


def test_rows_of_another_call() -> None:
    with pytest.raises(StateUsageError, match=r"keys.of got \d+ rows, and the call has"):
        harness(lambda keys, rows: keys.of(pd.concat([rows, rows]))).run(ROWS)


def test_an_exception_says_which_keys_were_called() -> None:
    def fail(_keys: Any, _rows: Any) -> None:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as failure:
        harness(fail).run(ROWS)
    (note,) = failure.value.__notes__
    assert note.startswith("in counted ")
    assert "Key(k=" in note


def test_an_answer_that_depends_on_who_shares_a_call() -> None:
    def among_all(keys: Keys[Record], _rows: pd.DataFrame) -> Any:
        return keys.frame.assign(n=len(keys))

    with pytest.raises(DifferenceError, match="counted puts out something else for a key"):
        harness(among_all, seed=1).run(ROWS * 5)


@dataclass
class WithParts:
    seen: ListState[int]


def test_definitions() -> None:
    def unhinted(keys: Keys, rows: pd.DataFrame) -> None: ...  # type: ignore[type-arg]
    def of_lists(keys: Keys[Record], rows: list[dict[str, Any]]) -> None: ...
    def without_output(_keys: Keys[Record], rows: pd.DataFrame) -> pd.DataFrame:
        return rows

    def of_parts(keys: Keys[WithParts], rows: pd.DataFrame) -> None: ...
    def with_state(keys: Keys[Record], rows: pd.DataFrame, state: State[Record]) -> None: ...
    def plain(keys: Keys[Record], rows: pd.DataFrame) -> None: ...

    for fn, told in (
        (unhinted, "does not say what its states are"),
        (of_lists, "rows of a function with Keys cannot be"),
        (without_output, "does not say which: give output="),
        (of_parts, "seen of WithParts is a part"),
        (with_state, r"cannot be called with \(keys, rows\)"),
    ):
        with pytest.raises(DefinitionError, match=told):
            stateful.define(fn)
    with pytest.raises(DefinitionError, match="many keys in a call"):
        stateful.define(plain, chunked=True)
    with pytest.raises(DefinitionError, match="use operator='applyInPandasWithState'"):
        Harness(plain, by="k", operator="transformWithState")


@dataclass
class Other:
    n: int = 0


def test_handlers_of_a_class_contradict_each_other() -> None:
    class Odd:
        def handleInputRows(self, keys: Keys[Record], rows: pd.DataFrame) -> None: ...
        def handleExpiredTimer(self, keys: Keys[Other]) -> None: ...

    class Initial:
        def handleInputRows(self, keys: Keys[Record], rows: pd.DataFrame) -> None: ...
        def handleInitialState(self, keys: Any, initial: Any) -> None: ...

    with pytest.raises(DefinitionError, match=r"takes Keys\[Other\], and Odd Keys\[Record\]"):
        stateful.define(Odd)
    with pytest.raises(DefinitionError, match="handleInitialState is never called"):
        stateful.define(Initial)


def test_the_first_watermark_is_warned_of_where_it_was_read() -> None:
    soon = timedelta(minutes=5)

    def reckoned(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        keys.timeout_at(keys.watermark + soon)

    def of_rows(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        keys.timeout_at(datetime(1970, 1, 1) + soon)

    with pytest.warns(stateful.FirstWatermarkWarning, match="in the first batch"):
        harness(reckoned, timeout="event").run(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        harness(of_rows, timeout="event").run(ROWS)


@dataclass
class Clock:
    k: str
    at: datetime | None


def read_off(key: Any, rows: pd.DataFrame, _state: State[Record]) -> pd.DataFrame:
    """Readings of a clock; one of them is left out when clocks change in Berlin."""
    return pd.DataFrame({"k": key.k, "at": [datetime(2025, 3, 30, 2, 30)] * len(rows)})


def test_a_reading_that_a_clock_change_leaves_out() -> None:
    run = Harness(stateful.define(read_off, output=Clock), by="k", time_zone="Europe/Berlin")
    assert [row["at"] for row in run.run(ROWS[:1])] == [datetime(2025, 3, 30, 1, tzinfo=UTC)]


def test_timers_are_refused_before_the_function_runs() -> None:
    """Also where it only writes states, and where it is called for the timers alone."""

    def register(_key: Any, _rows: list[dict[str, Any]], state: State[Record]) -> None:
        state.value.n += 1
        state.registerTimer(state.now + timedelta(minutes=1), name="later")

    called = []

    def counted(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        called.append(len(keys))
        keys.update(numbers(keys))

    typed = Harness(stateful.define(register), by="k", timeout="processing")
    typed.run(ROWS)
    typed.advance(timedelta(hours=1))
    for rows in (ROWS, []):
        with pytest.raises(StateUsageError, match="has timers") as refusal:
            typed.restarted(stateful.define(counted)).run(rows)
        assert any("in counted" in note for note in refusal.value.__notes__)
    assert called == []


@pytest.mark.parametrize(
    ("zone", "at"),
    [
        ("+01:00:30", datetime(2024, 1, 1, 10, 59, 30, tzinfo=UTC)),
        ("-02:30", datetime(2024, 1, 1, 14, 30, tzinfo=UTC)),
        ("Europe/Berlin", datetime(2024, 1, 1, 11, tzinfo=UTC)),
        ("UTC", datetime(2024, 1, 1, 12, tzinfo=UTC)),
    ],
)
def test_readings_of_a_clock_are_in_the_time_zone_of_the_session(zone: str, at: datetime) -> None:
    def step(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        keys.timeout_at(pa.array([datetime(2024, 1, 1, 12)] * len(keys)))

    run = harness(step, timeout="event", time_zone=zone)
    run.run(ROWS)
    assert run.timeout("a") == at


@pytest.mark.parametrize("whole", [True, False])
def test_a_timeout_needs_no_rounding(whole: bool) -> None:
    """Neither one time for all keys nor a column of them, as with one key in a call."""
    at = pd.Timestamp("2024-01-01T12:00:00.001000007Z")

    def step(keys: Keys[Record], _rows: pd.DataFrame) -> None:
        keys.timeout_at(at if whole else pd.Series([at] * len(keys)))

    run = harness(step, timeout="event")
    run.run(ROWS)
    assert run.timeout("a") == at.floor("ms")
    run.watermark = at + pd.Timedelta(1, "ns")
    assert run.watermark == at.floor("ms")
