"""Points in time: as Spark counts them, since 1970, and as a function sees them.

A function sees datetimes that bear the offset which the session's time zone has at that moment.
Python reckons and compares those as points in time. With the time zone itself it would go by the
wall clock, which is wrong in each hour that a clock change repeats or leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bucketstate.stateful.codec.kept import Due

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MICROS_PER_MILLI = 1000
_MICROSECOND = timedelta(microseconds=1)
_WALL_EPOCH = datetime(1970, 1, 1)


def millis(value: datetime) -> int:
    """An aware datetime in whole milliseconds since the epoch."""
    return (value - EPOCH) // MILLISECOND


def micros(value: datetime) -> int:
    """An aware datetime in microseconds since the epoch."""
    return (value - EPOCH) // _MICROSECOND


def wall_micros(value: datetime) -> int:
    """A naive datetime in microseconds since the reading of 1970-01-01 00:00."""
    return (value - _WALL_EPOCH) // _MICROSECOND


FIRST, LAST = (millis(end.replace(tzinfo=UTC)) for end in (datetime.min, datetime.max))
"""The first and the last millisecond since the epoch that are of Python's years in UTC."""


def local(at: int, zone: tzinfo) -> datetime:
    """Milliseconds since the epoch with the offset of that zone.

    With that of UTC for the last hours of 9999 that are of a later year in the zone. OverflowError
    for what has no year in Python.
    """
    try:
        return of_micros(at * MICROS_PER_MILLI, zone)
    except OverflowError:
        return EPOCH + at * MILLISECOND


def reached(at: int, zone: tzinfo) -> datetime:
    """When a timer is reached that was set for so many milliseconds since the epoch, as `local`.

    One that an earlier version set beyond Python's years is never reached, and is shown as of their
    end.
    """
    return local(min(at, LAST), zone)


def of_micros(at: int, zone: tzinfo) -> datetime:
    """Microseconds since the epoch with the offset of that zone.

    OverflowError for what has no year in Python.
    """
    try:
        return fixed(EPOCH + at * _MICROSECOND, zone)
    except OverflowError:
        # The last hours of 9999 in the zone may be of a later year in UTC.
        offset = zone.utcoffset(datetime.max if at > 0 else datetime.min)
        if offset is None:
            raise
        wall = _WALL_EPOCH + (at * _MICROSECOND + offset)
        return wall.replace(tzinfo=timezone(offset))


def of_wall_micros(at: int) -> datetime:
    """The naive datetime of `wall_micros`; OverflowError for what has no year in Python."""
    return _WALL_EPOCH + at * _MICROSECOND


def fixed(value: datetime, zone: tzinfo) -> datetime:
    """An aware datetime with the offset that the zone has at that moment."""
    if zone is UTC:
        return value.astimezone(UTC)
    shown = value.astimezone(zone)
    offset = shown.utcoffset()
    assert offset is not None
    return shown.replace(tzinfo=timezone(offset), fold=0)


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer of one key. Immutable.

    `expired_timer` and `listTimers` of the state have them; without a name it is known by its time.
    """

    at: datetime
    """When it is reached, with the session's offset at that moment."""

    name: str | None
    """What it was registered as; None without a name."""

    millis: int = field(repr=False)
    """When it is reached, in milliseconds since 1970."""

    @staticmethod
    def of(due: Due, zone: tzinfo) -> Timer:
        """A timer as it is stored, in a time zone."""
        return Timer(reached(due[0], zone), due[1], due[0])

    def getExpiryTimeInMs(self) -> int:
        """When it is reached, in milliseconds since 1970; as Spark names it."""
        return self.millis
