"""What it means that two ways of running a function answer alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bucketstate.stateful.codec.classes import is_record_instance, values_of
from bucketstate.stateful.errors import StatefulError


class DifferenceError(StatefulError, AssertionError):
    """Two ways of running a function did not answer alike.

    Raised by `compare` for the first batch in which the harness and Spark differ, with its rows,
    and for a query that does not end in time; and by the harness for a function over columns that
    answers otherwise when keys share a call.

    What to do: make the function depend on its rows, state and clocks alone, and each key's answer
    on what that key has; or give `compare` what the query has. If that is so, it is a defect of the
    harness.
    """


def different(one: list[Any], other: list[Any]) -> tuple[list[Any], list[Any]]:
    """What the first alone has, and the second alone, whatever their order; both empty if alike."""
    first, second = Counter(map(frozen, one)), Counter(map(frozen, other))
    return (
        [row for row in one if frozen(row) in first - second],
        [row for row in other if frozen(row) in second - first],
    )


def frozen(value: Any) -> Any:
    """A value that is equal to another one's if they are the same, whatever the order of maps."""
    if isinstance(value, Mapping):
        return frozenset((frozen(k), frozen(v)) for k, v in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(map(frozen, value))
    if isinstance(value, list | tuple):
        made = [frozen(v) for v in value]
        # Entries of a map.
        entries = bool(value) and all(isinstance(v, Mapping) and "key" in v for v in value)
        return frozenset(made) if entries else tuple(made)
    if is_record_instance(value):
        return tuple(map(frozen, values_of(value).values()))
    return "NaN" if value != value else value
