"""States that rows are put into, in a module that the workers import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from bucketstate.stateful import (
    ListState,
    MapState,
    State,
    ValueState,
    list_state,
    map_state,
    value_state,
)


@dataclass
class Kept:
    seen: int = 0
    total: float = 0.0


@dataclass
class Told:
    s: str
    seen: int
    total: float


def keep(key: Any, rows: list[dict[str, Any]], state: State[Kept]) -> Iterator[Told]:
    kept = state.value
    kept.seen += len(rows)
    kept.total += sum(row["v"] for row in rows)
    yield Told(key.s, kept.seen, kept.total)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Inner:
    n: int
    colour: Colour = Colour.RED


@dataclass
class Wide:
    """A field of each kind, and a part of each."""

    n: int = 0
    x: float = 0.5
    at: datetime | None = None
    day: date = date(2026, 1, 1)
    wait: timedelta = timedelta(seconds=5)
    price: Decimal = Decimal("1.5")
    raw: bytes = b"\x00\xff"
    colours: set[Colour] = field(default_factory=set)
    inner: Inner = field(default_factory=lambda: Inner(1))
    by_name: dict[str, Inner] = field(default_factory=dict)
    last: ValueState[int] = value_state()
    recent: ListState[Colour] = list_state()
    counts: MapState[str, int] = map_state()


def widen(key: Any, rows: list[dict[str, Any]], state: State[Wide]) -> Iterator[Told]:
    wide = state.value
    wide.n += len(rows)
    wide.at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=wide.n)
    wide.price += 1
    wide.colours.add(Colour.BLUE)
    wide.inner = Inner(wide.n, Colour.BLUE)
    wide.by_name[str(len(rows))] = Inner(len(rows))
    wide.last.update(rows[-1]["v"] % 7)
    wide.recent.appendValue(Colour.RED)
    wide.counts.updateValue(key.s, (wide.counts.getValue(key.s) or 0) + 1)
    yield Told(key.s, wide.n, float(wide.price) + len(list(wide.recent.get())))
