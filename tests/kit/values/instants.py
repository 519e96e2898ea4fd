"""Functions that reckon with times across the change of a clock, one for each shape of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd

from bucketstate.stateful import MapState, State, Timer

MINUTE = timedelta(minutes=1)
GAP = 10 * MINUTE
CHANGES = {
    "Europe/Berlin": [datetime(2025, 10, 26, 1, tzinfo=UTC), datetime(2026, 3, 29, 1, tzinfo=UTC)],
    "America/New_York": [
        datetime(2025, 11, 2, 6, tzinfo=UTC),
        datetime(2026, 3, 8, 7, tzinfo=UTC),
    ],
    # By half an hour.
    "Australia/Lord_Howe": [
        datetime(2026, 4, 4, 15, tzinfo=UTC),
        datetime(2025, 10, 4, 15, 30, tzinfo=UTC),
    ],
}
"""When clocks go back, and when they go on."""


@dataclass
class Event:
    key: str
    at: datetime
    also: list[datetime]


@dataclass
class Newest:
    first: datetime | None = None
    newest: datetime | None = None
    seen: dict[datetime, int] = field(default_factory=dict)
    ever: MapState[datetime, int] = field(default_factory=MapState)


@dataclass
class Told:
    key: str
    newest: datetime
    wall: str
    span: timedelta
    also: list[datetime]
    counted: int
    fired: datetime | None = None


def told(key: Any, state: State[Newest], also: list[datetime], fired: datetime | None) -> Told:
    held = state.value
    assert held.first is not None
    assert held.newest is not None
    return Told(
        key.key,
        held.newest,
        f"{held.newest:%H:%M}",
        held.newest - held.first,
        also,
        len(held.seen) + len(held.ever),
        fired,
    )


class Latest:
    """Waits for ten minutes after the newest row of a key, by a timeout and by a timer."""

    def take(self, key: Any, times: list[Any], also: list[Any], state: State[Newest]) -> Told:
        held = state.value
        # As keys: Python's own hash of a region's time goes by the wall clock.
        for at in (moment.astimezone(UTC) for moment in [*times, *also]):
            held.seen[at] = held.seen.get(at, 0) + 1
            held.ever.updateValue(at, 1)
        held.first = min([*times, *([] if held.first is None else [held.first])])
        held.newest = max([*times, *([] if held.newest is None else [held.newest])])
        state.timeout_at(held.newest + GAP)
        state.registerTimer(held.newest + GAP + MINUTE, "timer")
        if state.watermark.year > 1970:
            state.registerTimer(state.watermark + GAP, "after the watermark")
        return told(key, state, sorted(also), None)

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Newest]) -> Told:
        return told(key, state, [], timer.at)


class OfDicts(Latest):
    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[Newest]) -> Told:
        return self.take(key, [r["at"] for r in rows], [t for r in rows for t in r["also"]], state)


class OfRecords(Latest):
    def handleInputRows(self, key: Any, rows: list[Event], state: State[Newest]) -> Told:
        return self.take(key, [r.at for r in rows], [t for r in rows for t in r.also], state)


class OfFrames(Latest):
    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Newest]) -> Told:
        assert rows["at"].max() + GAP == max(rows["at"]) + GAP
        return self.take(key, list(rows["at"]), [t for row in rows["also"] for t in row], state)


class OfChunks(Latest):
    def handleInputRows(
        self, key: Any, rows: Iterator[list[Event]], state: State[Newest]
    ) -> Iterator[Told]:
        for chunk in rows:
            yield self.take(key, [r.at for r in chunk], [t for r in chunk for t in r.also], state)


SHAPES: list[Callable[[], Latest]] = [OfDicts, OfRecords, OfFrames, OfChunks]


def batches(change: datetime) -> list[list[dict[str, Any]]]:
    """Rows around the change of a clock, by minutes from it."""

    def row(key: str, minute: int) -> dict[str, Any]:
        at = change + minute * MINUTE
        return {"key": key, "at": at, "also": [at - 60 * MINUTE, at - 30 * MINUTE]}

    return [
        [row("a", -10), row("a", 20), row("b", 25)],
        [row("b", 29)],
        [row("b", 60)],
        [row("b", 90)],
    ]
