"""Milliseconds since 1970, as Spark counts time, and what a function sees of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bucketstate.stateful.kept import Due

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def millis(value: datetime) -> int:
    """An aware datetime in whole milliseconds since the epoch."""
    return (value - EPOCH) // MILLISECOND


def local(at: int, zone: tzinfo) -> datetime:
    """Milliseconds since the epoch as a naive datetime of that zone."""
    return (EPOCH + at * MILLISECOND).astimezone(zone).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer of one key. Immutable.

    `expired_timer` and `listTimers` of the state have them; without a name it is known by its time.
    """

    at: datetime
    """When it is reached, naive in the session's time zone."""

    name: str | None
    """What it was registered as; None without a name."""

    millis: int = field(repr=False)
    """When it is reached, in milliseconds since 1970."""

    @staticmethod
    def of(due: Due, zone: tzinfo) -> Timer:
        """A timer as it is stored, in a time zone."""
        return Timer(local(due[0], zone), due[1], due[0])

    def getExpiryTimeInMs(self) -> int:
        """When it is reached, in milliseconds since 1970; as Spark names it."""
        return self.millis
