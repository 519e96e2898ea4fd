"""Handlers that contradict each other, or would never be called, are found at the definition."""

# The handlers are there for their names and hints alone.
# ruff: noqa: ARG002, N802

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, State, Timer
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total


@dataclass
class Other:
    key: str
    m: int


@dataclass
class More(Out):
    m: int = 0


class Quiet:
    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> None:
        state.value.n += len(rows)
        state.timeout_after(pd.Timedelta(minutes=1))


class Loud:
    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
        return Out(key.key, len(rows))


class ReturnsUnsaid(Quiet):
    def handleExpiredTimer(self, key, timer, state):  # type: ignore[no-untyped-def]
        return Out(key.key, state.value.n)


class YieldsUnsaid(Quiet):
    def handleExpiredTimer(self, key, timer, state):  # type: ignore[no-untyped-def]
        yield Out(key.key, state.value.n)


class ReturnsFrame(Quiet):
    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> pd.DataFrame:
        return pd.DataFrame()


class ReturnsOther(Loud):
    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> Iterator[Other]:
        yield Other(key.key, 1)


class TakesOther(Loud):
    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Other]) -> Out:
        return Out(key.key, state.value.m)


class StateSecond(Loud):
    def handleExpiredTimer(self, key: Any, state: State[Total], timer: Timer) -> None: ...


class InitialOther(Loud):
    def handleInitialState(self, key: Any, initial: Out, state: State[Other]) -> None: ...


class OnTimeout(Loud):
    def on_timeout(self, key: Any, state: State[Total]) -> None: ...


class OnRows:
    def on_rows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> None: ...

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> None: ...


class Misspelled(Loud):
    def onTimeout(self, key: Any, state: State[Total]) -> Out:
        return Out(key.key, 0)


class Plural(Loud):
    def handleExpiredTimers(self, key: Any, timer: Timer, state: State[Total]) -> None: ...


class ByAnotherName(Loud):
    def handleTimer(self, key: Any, timer: Timer, state: State[Total]) -> None: ...


class InitialMisspelled(Loud):
    def handle_initial_state(self, key: Any, initial: Out, state: State[Total]) -> None: ...


class CalledWithTimer:
    def __call__(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> None: ...

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> None: ...


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (ReturnsUnsaid, "ReturnsUnsaid.handleExpiredTimer does not say what its output is"),
        (YieldsUnsaid, "YieldsUnsaid.handleExpiredTimer does not say what its output is"),
        (ReturnsFrame, "ReturnsFrame.handleExpiredTimer does not say what its output is"),
        (ReturnsOther, "ReturnsOther.handleExpiredTimer is annotated as returning Other, and the"),
        (TakesOther, "TakesOther.handleExpiredTimer takes a State[Other], and TakesOther a State["),
        (OnTimeout, "OnTimeout.on_timeout is never called: did you mean handleExpiredTimer("),
        (OnRows(), "OnRows.on_rows is never called: did you mean handleInputRows("),
        (InitialOther, "InitialOther.handleInitialState takes a State[Other], and"),
        (StateSecond, "StateSecond.handleExpiredTimer takes its state as the second parameter"),
        (
            Misspelled,
            "Misspelled.onTimeout is never called: did you mean handleExpiredTimer(",
        ),
        (Plural, "Plural.handleExpiredTimers is never called: did you mean handleExpiredTimer("),
        (ByAnotherName, "ByAnotherName.handleTimer is never called: did you mean handleExpiredTim"),
        (InitialMisspelled, "did you mean handleInitialState(key, initial, state)"),
        (CalledWithTimer(), "CalledWithTimer has no method handleInputRows(key, rows, state), but"),
        (print, "print"),
    ],
)
def test_handlers_that_do_not_fit_together_are_refused(fn: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.define(fn)
    assert told in str(refusal.value)


def test_an_output_given_beside_the_hints_has_to_be_what_they_say() -> None:
    with pytest.raises(DefinitionError, match="Loud is annotated as returning Out, and the outp"):
        stateful.define(Loud, output=Other)


class Late(Quiet):
    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> Out:
        return Out(key.key, state.value.n)


class Wider(Loud):
    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> More:
        return More(key.key, 1)


class Unsaid(Quiet):
    def handleExpiredTimer(self, key, timer, state):  # type: ignore[no-untyped-def]
        if state.value.n > 1:
            return
        state.clear()


class WithHelpers(Loud):
    def handleInputRow(self, row: Any) -> None: ...

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Total]) -> None: ...

    def handleExpiredTimers(self, timers: Any) -> None: ...

    @property
    def onTimeouts(self) -> Any:
        raise AssertionError("a property is not looked into")


@pytest.mark.parametrize(
    ("fn", "output"), [(Late, Out), (Wider, Out), (Unsaid, None), (WithHelpers, Out)]
)
def test_handlers_that_fit_together(fn: Any, output: Any) -> None:
    assert stateful.define(fn).output is output


def test_what_only_the_timer_puts_out_is_the_output() -> None:
    running = Harness(Late, by="key", timeout="processing")
    assert running.run([{"key": "a"}]) == []
    running.advance(pd.Timedelta(minutes=2))
    assert running.run() == [{"key": "a", "n": 1}]


def scaled(
    key: Any, rows: pd.DataFrame, state: State[Total], factor: int = 1, *, sign: int = 1
) -> Out:
    state.value.n += len(rows) * factor * sign
    return Out(key.key, state.value.n)


class Callable:
    def __call__(self, key: Any, rows: list[Out], state: State[Total]) -> Iterator[Out]:
        yield from rows


def test_a_partial_has_the_hints_of_what_it_calls() -> None:
    defined = stateful.define(functools.partial(scaled, factor=2, sign=-1))
    assert (defined.name, defined.state, defined.output) == ("scaled", Total, Out)
    assert Harness(defined, by="key").run([{"key": "a"}]) == [{"key": "a", "n": -2}]
    called = stateful.define(functools.partial(Callable()))
    assert (called.name, called.record, called.output) == ("Callable", Out, Out)

    def after(factor: int, key: Any, rows: list[Out], state: State[Total]) -> None: ...

    assert stateful.define(functools.partial(after, 3)).record is Out


@pytest.mark.parametrize("name", ["List", "Iterator", "Iterable", "Sequence", "Generator"])
def test_bare_hints_of_what_is_returned_say_nothing(name: str) -> None:
    def fn(key: Any, rows: pd.DataFrame, state: State[Total]) -> Any: ...

    fn.__annotations__["return"] = vars(typing)[name]
    with pytest.raises(DefinitionError, match="fn does not say what its output is"):
        stateful.define(fn)


@pytest.mark.parametrize("name", ["List", "Iterator", "Iterable", "Dict"])
def test_bare_hints_of_rows_say_nothing(name: str) -> None:
    def fn(key: Any, rows: Any, state: State[Total]) -> None: ...

    fn.__annotations__["rows"] = vars(typing)[name]
    with pytest.raises(DefinitionError, match=f"fn: rows cannot be typing.{name}"):
        stateful.define(fn)


def test_a_function_of_any_parameters_has_no_hints() -> None:
    def fn(*args: Any) -> Out:
        return Out("a", len(args))

    with pytest.raises(DefinitionError, match="fn does not say what its state is"):
        stateful.define(fn)
    assert stateful.define(fn, state=Total).shape == "frame"
