"""Finds a stateful function's handlers: under the names of Spark's `StatefulProcessor`.

What they were called before still works, and is told with a DeprecationWarning.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
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


_NEW = {"on_rows": "handleInputRows(key, rows, state)"}
_NEW["on_timeout"] = "handleExpiredTimer(key, timer, state)"


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
    except TypeError:
        raise DefinitionError(
            f"{name}{inspect.signature(fn)} cannot be called with ({', '.join(expected)}): "
            f"give it these {len(expected)} parameters, in this order."
        ) from None
