"""What it means that two ways of running a function answer alike."""

from __future__ import annotations

import json
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


_ENTRY = {"key", "value"}
_OF_PARTS = {"expires"}
"""What an entry of a map that is a part has besides."""


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
        return tuple(map(frozen, value))
    if is_record_instance(value):
        return tuple(map(frozen, values_of(value).values()))
    return "NaN" if value != value else value


def document_of(text: str) -> Any:
    """A stored document, in which maps are dicts, whatever their keys.

    One whose keys are no texts is stored as a list of entries. A list of a class with a `key` and a
    `value` looks the same: it is taken for a map as well, unless a key is there twice.
    """
    return _with_maps(json.loads(text))


def _with_maps(stored: Any) -> Any:
    if isinstance(stored, dict):
        return {name: _with_maps(value) for name, value in stored.items()}
    if not isinstance(stored, list):
        return stored
    made = [_with_maps(value) for value in stored]
    if not made or not all(isinstance(v, dict) and v.keys() - _OF_PARTS == _ENTRY for v in made):
        return made
    keys = [frozen(entry["key"]) for entry in made]
    return dict(zip(keys, made, strict=True)) if len(set(keys)) == len(keys) else made
