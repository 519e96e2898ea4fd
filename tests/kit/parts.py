"""Checkpoints of a function of `bucketstate.stateful` on transformWithState, without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import LongType, StringType, StructType

from bucketstate.stateful import ListState, MapState, ValueState, map_state, value_state
from bucketstate.stateful.codec.kept import SCHEMA, Kept
from tests.kit.rows import unsafe_row
from tests.kit.variables import KEY, VARIABLES, Variables, plain_key, scanned, stored
from tests.kit.variables import Kept as Family

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Parts:
    total: int = 0
    last: ValueState[str] = value_state(ttl=timedelta(hours=1))
    pages: ListState[str] = field(default_factory=ListState)
    counts: MapState[str, int] = map_state(ttl=timedelta(hours=1))
    since: ValueState[int] = field(default_factory=ValueState)


TEXT = StructType().add("value", StringType())
EXPIRING = StructType().add("value", TEXT).add("ttlExpirationMs", LongType())
TEXT_KEY = StructType().add("key", StringType())
MAP = StructType().add("key", KEY).add("userKey", TEXT_KEY)


@dataclass
class Held:
    """What a key has. `last` and `counts` have when each value expires, in milliseconds.

    A count of None is an entry that was removed.
    """

    total: int
    last: tuple[str, int] | None = None
    pages: tuple[str, ...] = ()
    counts: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    timers: tuple[tuple[int, str], ...] = ()


class BuiltParts:
    """A checkpoint of `Parts`, as it was before `since` was one of them."""

    def __init__(self, root: Path) -> None:
        self._made = Variables(root)
        self._made.new_schemas(
            state=Family(KEY, SCHEMA),
            last=Family(KEY, EXPIRING),
            pages=Family(KEY, TEXT, lists=True),
            counts=Family(MAP, EXPIRING, "spark-prefix-scan/1", user_key=TEXT_KEY),
        )
        kinds = {"state": ("ValueState", False), "last": ("ValueState", True)}
        kinds |= {"pages": ("ListState", False), "counts": ("MapState", True)}
        self._made.write_metadata(VARIABLES | kinds)

    def batch(self, held: dict[str, Held]) -> None:
        """One more batch, after which the keys have this."""
        row = self._made.row
        self._made.batch(
            {
                "state": {plain_key(k): row(SCHEMA, _document(of)) for k, of in held.items()},
                "last": {
                    plain_key(k): row(EXPIRING, ((json.dumps(of.last[0]),), of.last[1]))
                    for k, of in held.items()
                    if of.last is not None
                },
                "pages": {
                    plain_key(k): stored([row(TEXT, (json.dumps(page),)) for page in of.pages])
                    for k, of in held.items()
                    if of.pages
                },
                "counts": {
                    _entry(k, name): row(EXPIRING, (_text(count), at))
                    for k, of in held.items()
                    for name, (count, at) in of.counts.items()
                },
            }
        )


def _text(count: int | None) -> tuple[str | None]:
    return (None if count is None else json.dumps(count),)


def _document(of: Held) -> tuple[Any, ...]:
    return Kept(1, timers=of.timers, text=json.dumps({"total": of.total})).row


def _entry(key: str, name: str) -> bytes:
    first, rest = StructType(MAP.fields[:1]), StructType(MAP.fields[1:])
    return scanned(unsafe_row(first, ((key,),)), unsafe_row(rest, ((json.dumps(name),),)))
