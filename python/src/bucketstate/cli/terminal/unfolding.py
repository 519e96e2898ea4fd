"""States of `bucketstate.stateful`, unfolded: without their class, and without Spark.

What is stored per key are three columns: a version, a timeout, and a JSON document of the fields,
in front of which the timers lie. docs/stateful.md says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from bucketstate.cli.terminal.rows import flat_paths

_COLUMNS = [("version", pa.int32()), ("timeout", pa.int64()), ("state", pa.string())]
_NO_TIMEOUT = -1
_TIMERS = "$timers"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

VARIABLE = "state"
"""The state variable of transformWithState that has them."""


def is_kept(schema: pa.Schema) -> bool:
    """Whether the rows' values are those three columns."""
    at = schema.get_field_index("value")
    kind = schema.field(at).type if at >= 0 else pa.null()
    if pa.types.is_struct(kind) and kind.get_field_index("groupState") >= 0:
        kind = kind.field("groupState").type
    return pa.types.is_struct(kind) and [(f.name, f.type) for f in kind] == _COLUMNS


def unfolded(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with `state`, a dict of the fields, and `timers` in the place of the value."""
    for row in rows:
        made: dict[str, Any] = {}
        for name, value in row.items():
            if name == "value":
                made["state"], made["timers"] = _state_and_timers(value)
            else:
                made[name] = value
        yield made


def paths_of(schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Where columns of unfolded rows lie: a state's fields as they come, timers if there are."""
    names: dict[str, None] = {}
    timers = False
    for row in rows:
        names |= dict.fromkeys(row["state"] or ())
        timers = timers or bool(row["timers"])
    for column in schema:
        if column.name != "value":
            yield from flat_paths([column])
            continue
        yield from (("state", name) for name in names)
        if timers or not names:
            yield ("timers",)


def _state_and_timers(value: dict[str, Any] | None) -> tuple[Any, list[dict[str, Any]] | None]:
    kept = value.get("groupState", value) if value else None
    if kept is None:
        return None, None
    fields = _document(kept["state"])
    timers = [(at, name) for at, name in fields.pop(_TIMERS, ())] if fields else []
    if kept["timeout"] not in (None, _NO_TIMEOUT):
        timers.append((kept["timeout"], None))
    in_order = sorted(timers, key=lambda timer: (timer[0], timer[1] or ""))
    # A document of version 0 has timers alone.
    state = fields if kept["version"] else None
    return state, [{"at": _moment(at), "name": name} for at, name in in_order]


def _document(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _moment(millis: int) -> datetime | int:
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return millis
