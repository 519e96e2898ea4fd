"""Finds a stateful function's handlers: under the names of Spark's `StatefulProcessor`."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate.stateful.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = ("key", "rows", "state")
TIMER = ("key", "timer", "state")
INITIAL = ("key", "initial", "state")
KEYS_ROWS = ("keys", "rows")
KEYS = ("keys",)


@dataclass(frozen=True)
class Handlers:
    """The functions of one definition."""

    name: str
    input_rows: Callable[..., Any]
    expired_timer: Callable[..., Any] | None = None
    initial_state: Callable[..., Any] | None = None
    columnar: bool = False
    """Whether they get many keys in a call."""
    given: Any = None
    """The function, object or class that they are of."""

    @property
    def timer_method(self) -> tuple[Callable[..., Any], str] | None:
        """The handler of timers as it was written, and what it is called."""
        made = self.expired_timer
        return None if made is None else (made, f"{self.name}.handleExpiredTimer")


def handlers_of(fn: Any, name: str, *, columnar: bool = False) -> Handlers:
    """Raises DefinitionError for what has none, or one that cannot be called as it will be."""
    _check_not_sparks(fn, name)
    given = fn
    if isinstance(fn, type):
        if not hasattr(fn, "handleInputRows"):
            raise DefinitionError(
                f"{name} has no method handleInputRows(key, rows, state): add it."
            )
        try:
            fn = fn()
        except TypeError as e:
            raise DefinitionError(
                f"{name}() cannot be made without arguments ({e}): give an instance instead."
            ) from None
    of_rows, of_timer = (KEYS_ROWS, KEYS) if columnar else (ROWS, TIMER)
    rows = _named(fn, name, "handleInputRows", of_rows)
    _check_names(fn, name)
    if rows is None:
        if not callable(fn):
            raise DefinitionError(
                f"{fn!r} is no stateful function: give a function (key, rows, state), or an object "
                "with handleInputRows(key, rows, state) and perhaps handleExpiredTimer(key, timer, "
                "state) and handleInitialState(key, initial, state)."
            )
        _check_parameters(fn, name, of_rows)
        return Handlers(name, fn, columnar=columnar, given=given)
    timer = _named(fn, name, "handleExpiredTimer", of_timer)
    if columnar:
        if hasattr(fn, "handleInitialState"):
            raise DefinitionError(
                f"{name}.handleInitialState is never called: a function over columns runs on "
                "applyInPandasWithState, which has no initial state. Remove it, or write a "
                "function with one key in a call for transformWithState."
            )
        return Handlers(name, rows, timer, columnar=True, given=given)
    initial = _named(fn, name, "handleInitialState", INITIAL)
    return Handlers(name, rows, timer, initial, given=given)


def _check_not_sparks(fn: Any, name: str) -> None:
    """DefinitionError for a processor of Spark's, whose handlers have the same names."""
    if issubclass(fn if isinstance(fn, type) else type(fn), StatefulProcessor):
        raise DefinitionError(
            f"{name} is a StatefulProcessor of Spark's: give it to Spark's transformWithState as "
            "it is. Here a class has no base: what its init gets from the handle are fields of a "
            "dataclass (a ValueState, ListState or MapState), which handleInputRows(self, key, "
            "rows, state: State[Totals]) and handleExpiredTimer(self, key, timer, state) get as "
            "state; timers are state.registerTimer, and init and close go."
        )


def name_of(fn: Any) -> str:
    """What a function, or the class of an object, is called."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))


_SIGNATURES = {
    "handleInputRows": f"handleInputRows({', '.join(ROWS)})",
    "handleExpiredTimer": f"handleExpiredTimer({', '.join(TIMER)})",
    "handleInitialState": f"handleInitialState({', '.join(INITIAL)})",
}
_SPELLED = {
    **{handler.lower(): handler for handler in _SIGNATURES},
    **dict.fromkeys(("onrows", "handlerows"), "handleInputRows"),
    **dict.fromkeys(("ontimeout", "ontimer", "handletimer", "handletimeout"), "handleExpiredTimer"),
}
"""What handlers are called by mistake, without underscores and in small letters."""
_NEAR = 0.85


def _check_names(fn: Any, name: str) -> None:
    """Refuses handlers that would never be called.

    Raises:
        DefinitionError: a method is nearly called as a handler that the object lacks, or there are
            handlers without the one of rows.
    """
    if inspect.isroutine(fn) or isinstance(fn, functools.partial):
        return
    present = {handler for handler in _SIGNATURES if hasattr(fn, handler)}
    for method in dir(fn):
        if method.startswith("_") or method in _SIGNATURES or not _is_method(fn, method):
            continue
        near = get_close_matches(method.replace("_", "").lower(), _SPELLED, n=1, cutoff=_NEAR)
        if near and _SPELLED[near[0]] not in present:
            raise DefinitionError(
                f"{name}.{method} is never called: did you mean {_SIGNATURES[_SPELLED[near[0]]]}? "
                "Rename it; if it is something else, give it a name that is less like that."
            )
    if present and "handleInputRows" not in present:
        raise DefinitionError(
            f"{name} has no method {_SIGNATURES['handleInputRows']}, but other handlers: add it."
        )


def _is_method(fn: Any, name: str) -> bool:
    # Looked up without running what a property does.
    found = inspect.getattr_static(fn, name, None)
    return isinstance(found, staticmethod | classmethod) or inspect.isfunction(found)


def _named(
    fn: Any, name: str, method: str, parameters: tuple[str, ...]
) -> Callable[..., Any] | None:
    found: Callable[..., Any] | None = getattr(fn, method, None)
    if found is not None:
        _check_parameters(found, f"{name}.{method}", parameters)
    return found


def _check_parameters(fn: Callable[..., Any], name: str, expected: tuple[str, ...]) -> None:
    plain = inspect.isroutine(fn) or isinstance(fn, functools.partial)
    called = fn if plain else type(fn).__call__
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise DefinitionError(
            f"{name} is async, and Spark's workers have no event loop that would run it: write it "
            "with def."
        )
    try:
        inspect.signature(fn).bind(*expected)
    except ValueError:
        raise DefinitionError(
            f"{name} does not tell its parameters, as functions written in Python do: wrap it in a "
            f"function ({', '.join(expected)})."
        ) from None
    except TypeError:
        raise DefinitionError(
            f"{name}{inspect.signature(fn)} cannot be called with ({', '.join(expected)}): "
            f"give it these {len(expected)} parameters, in this order."
        ) from None
