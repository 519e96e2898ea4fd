"""Finds a stateful function's handlers: under the names of Spark's `StatefulProcessor`.

What they were called before still works, and is told with a DeprecationWarning.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = ("key", "rows", "state")
TIMER = ("key", "timer", "state")
INITIAL = ("key", "initial", "state")


@dataclass(frozen=True)
class Handlers:
    """The functions of one definition."""

    name: str
    input_rows: Callable[..., Any]
    expired_timer: Callable[..., Any] | None = None
    initial_state: Callable[..., Any] | None = None

    @property
    def timer_method(self) -> tuple[Callable[..., Any], str] | None:
        """The handler of timers as it was written, and what it is called."""
        if isinstance(self.expired_timer, _WithoutTimer):
            return self.expired_timer.on_timeout, f"{self.name}.on_timeout"
        made = self.expired_timer
        return None if made is None else (made, f"{self.name}.handleExpiredTimer")


@dataclass(frozen=True)
class _WithoutTimer:
    """`on_timeout(key, state)` as what it is called now."""

    on_timeout: Callable[..., Any]

    def __call__(self, key: Any, _timer: Any, state: Any) -> Any:
        return self.on_timeout(key, state)


def handlers_of(fn: Any, name: str) -> Handlers:
    """Raises DefinitionError for what has none, or one that cannot be called as it will be."""
    if isinstance(fn, type):
        if not (hasattr(fn, "handleInputRows") or hasattr(fn, "on_rows")):
            raise DefinitionError(
                f"{name} has no method handleInputRows(key, rows, state): add it."
            )
        try:
            fn = fn()
        except TypeError as e:
            raise DefinitionError(
                f"{name}() cannot be made without arguments ({e}): give an instance instead."
            ) from None
    rows = _named(fn, name, "handleInputRows", "on_rows", ROWS)
    _check_names(fn, name)
    if rows is None:
        if not callable(fn):
            raise DefinitionError(
                f"{fn!r} is no stateful function: give a function (key, rows, state), or an object "
                "with handleInputRows(key, rows, state) and perhaps handleExpiredTimer(key, timer, "
                "state) and handleInitialState(key, initial, state)."
            )
        _check_parameters(fn, name, ROWS)
        return Handlers(name, fn)
    timer = _named(fn, name, "handleExpiredTimer", None, TIMER)
    if timer is None:
        old = _named(fn, name, None, "on_timeout", ("key", "state"))
        timer = None if old is None else _WithoutTimer(old)
    return Handlers(name, rows, timer, _named(fn, name, "handleInitialState", None, INITIAL))


def name_of(fn: Any) -> str:
    """What a function, or the class of an object, is called."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))


_HANDLERS = {
    "handleInputRows": ("handleInputRows", "on_rows"),
    "handleExpiredTimer": ("handleExpiredTimer", "on_timeout"),
    "handleInitialState": ("handleInitialState",),
}
"""Of each handler, the names that it may have."""

_SIGNATURES = {
    "handleInputRows": f"handleInputRows({', '.join(ROWS)})",
    "handleExpiredTimer": f"handleExpiredTimer({', '.join(TIMER)})",
    "handleInitialState": f"handleInitialState({', '.join(INITIAL)})",
}
_NEW = {
    "on_rows": _SIGNATURES["handleInputRows"],
    "on_timeout": _SIGNATURES["handleExpiredTimer"],
}
_SPELLED = {
    **{
        name.replace("_", "").lower(): handler
        for handler, names in _HANDLERS.items()
        for name in names
    },
    **dict.fromkeys(("ontimer", "handletimer", "handletimeout"), "handleExpiredTimer"),
}
_NEAR = 0.85


def _check_names(fn: Any, name: str) -> None:
    """Refuses handlers that would never be called.

    Raises:
        DefinitionError: a method is nearly called as a handler that the object lacks, or there are
            handlers without the one of rows.
    """
    if inspect.isroutine(fn) or isinstance(fn, functools.partial):
        return
    present = {h for h, names in _HANDLERS.items() if any(hasattr(fn, n) for n in names)}
    known = {n for names in _HANDLERS.values() for n in names}
    for method in dir(fn):
        if method.startswith("_") or method in known or not _is_method(fn, method):
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
    fn: Any, name: str, now: str | None, before: str | None, parameters: tuple[str, ...]
) -> Callable[..., Any] | None:
    for method in (now, before):
        found = None if method is None else getattr(fn, method, None)
        if found is None or method is None:
            continue
        _check_parameters(found, f"{name}.{method}", parameters)
        if method == before:
            warnings.warn(
                f"{name}.{method} is called {_NEW[method]} now, as in Spark's StatefulProcessor: "
                "rename it.",
                DeprecationWarning,
                stacklevel=4,
            )
        made: Callable[..., Any] = found
        return made
    return None


def _check_parameters(fn: Callable[..., Any], name: str, expected: tuple[str, ...]) -> None:
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
