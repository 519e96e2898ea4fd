"""What a function may raise is read from its source, and from what it calls."""

from __future__ import annotations

from bucketstate import enable
from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import (
    InvalidArgumentError,
    JarNotFoundError,
    MissingLibraryError,
    NoSuchStateError,
    SessionError,
)
from bucketstate.progress import Recorder
from bucketstate.stateful import State, StateUsageError, WrongTypeError
from tests.contract.raised import Function, raised_by


def test_its_own_errors_and_those_of_functions_that_it_calls() -> None:
    errors = {SessionError, JarNotFoundError, InvalidArgumentError}
    assert raised_by(Function(enable, None)) == errors


def test_those_of_methods_of_its_own_and_of_bases() -> None:
    found = raised_by(Function(Checkpoint.plan, Checkpoint))
    assert {InvalidArgumentError, NoSuchStateError} <= found


def test_those_of_a_class_that_it_makes() -> None:
    assert raised_by(Function(Recorder.live, Recorder)) == {MissingLibraryError}


def test_those_that_a_function_makes_for_it() -> None:
    assert raised_by(Function(State.update, State)) == {WrongTypeError}
    assert raised_by(Function(State.timeout_after, State)) == {StateUsageError}


def caught() -> None:
    try:
        raise NoSuchStateError("in vain")
    except LookupError:
        raise SessionError("instead") from None


def uncaught() -> None:
    try:
        raise NoSuchStateError("all the same")
    except OSError:
        pass
    raise ValueError("none of the package's")


def test_those_that_are_caught_are_left_out() -> None:
    assert raised_by(Function(caught, None)) == {SessionError}
    assert raised_by(Function(uncaught, None)) == {NoSuchStateError}
