"""Rows of state as text and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.spark.python_values import NOT_FINITE, python_values

_CONTROLS = {c: repr(chr(c))[1:-1] for c in range(0xA0) if not chr(c).isprintable()}


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each row with its structs as dicts, and maps as lists of pairs."""
    columns = [python_values(column) for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def as_json(value: Any) -> str:
    """One line of JSON: times in ISO 8601, durations in seconds, decimals as text, bytes in hex.

    What Python or JSON have no value for is a text: see `python_values`.
    """
    try:
        return json.dumps(value, default=_json, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=_json)


def as_text(value: Any) -> str:
    """A value for people, on one line: what a terminal would obey is escaped."""
    match value:
        case None:
            return "-"
        case bytes():
            return "0x" + value.hex()
        case datetime() | date() | time():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case dict():
            return "{" + ", ".join(f"{k}: {as_text(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(as_text(v) for v in value) + "]"
        case tuple():
            return "(" + ", ".join(as_text(v) for v in value) + ")"
    return str(value).translate(_CONTROLS)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            nan, infinite, negative = NOT_FINITE
            return nan if math.isnan(value) else infinite if value > 0 else negative
        case dict():
            return {k: _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
    return value


def _json(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
    return str(value)
