"""Rows of state as text and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.spark.python_values import NOT_FINITE, with_dicts

_CONTROLS = {c: repr(chr(c))[1:-1] for c in range(0xA0) if not chr(c).isprintable()}


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each row with its structs as dicts, and so its maps, where their keys are plain values."""
    columns = [with_dicts(column) for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def flat_paths(fields: Iterable[pa.Field]) -> Iterator[tuple[str, ...]]:
    """Where the columns of a table lie: one for each field of a struct, also within others."""
    for field in fields:
        if pa.types.is_struct(field.type) and field.type.num_fields:
            for path in flat_paths(field.type):
                yield (field.name, *path)
        else:
            yield (field.name,)


def as_json(value: Any) -> str:
    """One line of JSON: times in ISO 8601, durations in seconds, decimals as text, bytes in hex.

    What Python or JSON have no value for is a text: see `python_values`.
    """
    try:
        return json.dumps(value, default=_json, allow_nan=False)
    except (TypeError, ValueError):
        # A float that JSON has not, or a key that is no text, such as a date.
        return json.dumps(_plain(value), default=_json)


def as_text(value: Any) -> str:
    """A value for people, on one line: what a terminal would obey is escaped."""
    match value:
        case None:
            return "-"
        case "" | "-":
            # Not to be taken for nothing.
            return repr(value)
        case bytes():
            return "0x" + value.hex()
        case datetime() | date() | time():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case dict():
            return "{" + ", ".join(f"{as_text(k)}: {as_text(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(as_text(v) for v in value) + "]"
        case tuple():
            return "(" + ", ".join(as_text(v) for v in value) + ")"
    return str(value).translate(_CONTROLS)


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            nan, infinite, negative = NOT_FINITE
            return nan if math.isnan(value) else infinite if value > 0 else negative
        case dict():
            return {_key(_plain(k)): _plain(v) for k, v in value.items()}
        case list() | tuple():
            return [_plain(v) for v in value]
    return value


def _key(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | None) else str(_json(key))


def _json(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
    return str(value)
