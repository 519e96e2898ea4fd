"""People, auctions and bids of a stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate_nexmark.events.model import AUCTION, BID, PERSON

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELAY = "4 seconds"
"""How long a watermark waits: the events come in order, so nothing is late."""

WINDOW = "10 seconds"
"""The length of most windows."""


def people(events: DataFrame, *, timed: bool = True) -> DataFrame:
    return _of_kind(events, PERSON, "person", timed)


def auctions(events: DataFrame, *, timed: bool = True) -> DataFrame:
    return _of_kind(events, AUCTION, "auction", timed)


def bids(events: DataFrame, *, timed: bool = True) -> DataFrame:
    return _of_kind(events, BID, "bid", timed)


def watermarked(events: DataFrame) -> DataFrame:
    return events.withWatermark("date_time", DELAY)


def in_windows(length: str, slide: str | None = None) -> Column:
    """The window that an event's time is in; with a slide, those that it is in."""
    return F.window("date_time", length, slide).alias("span")


def millis(time: str) -> Column:
    """A time as whole milliseconds, which keeps its order and is no event time any more."""
    return F.unix_millis(F.col(time))


def _of_kind(events: DataFrame, kind: int, struct: str, timed: bool) -> DataFrame:
    # Spark filters first all the same, so that a watermark is of one kind's events: the last ones
    # of each kind are milliseconds apart, and there is a closing one of each.
    seen = watermarked(events) if timed else events
    return seen.where(F.col("event_type") == kind).select(f"{struct}.*", "date_time")
