"""The numbers of the Nexmark model, as the original has them, and what follows from them.

Every 50 events are one new person, then three new auctions, then 46 bids. Most auctions are of a
hot seller, every second bid is for a hot auction, three of four are by a hot bidder; each hundredth
auction and person is a hot one for as long as it is among the newest hundred. All others are chosen
among the newest thousand people and the newest hundred auctions, and a few that do not exist yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PEOPLE, AUCTIONS, BIDS = 1, 3, 46
EPOCH = PEOPLE + AUCTIONS + BIDS
"""After so many events the kinds come again in the same order."""

PERSON, AUCTION, BID = 0, 1, 2
"""Kinds of events."""

FIRST_ID = 1000
"""The id of the first person, and of the first auction."""
FIRST_CATEGORY, CATEGORIES = 10, 5

HOT_SPAN = 100
"""One of so many people or auctions is hot."""
HOT_SELLERS, HOT_BIDDERS, HOT_AUCTIONS, HOT_CHANNELS = 4, 4, 2, 2
"""One of so many is not for a hot one."""

ACTIVE_PEOPLE, IN_FLIGHT, LEAD = 1000, 100, 10
"""How many people and auctions are chosen among, and how many ids ahead of the newest."""

PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
"""What an event takes on average, with the text that fills it up."""

START = datetime(2024, 3, 1, tzinfo=UTC)
"""The time of the first event, whenever and wherever the events are made."""

MICROS = 1_000_000


@dataclass(frozen=True)
class Model:
    """What the events are made of: the same model has the same events, on every machine."""

    seed: int = 41
    rate: int = 10_000
    """Events for each second of their own time."""

    @property
    def longest_auction_ms(self) -> int:
        """The most milliseconds that an auction is open."""
        return 2 * self._horizon_ms + 1

    @property
    def _horizon_ms(self) -> int:
        """How long it takes until as many auctions have begun as are in flight."""
        return max(1, (IN_FLIGHT * EPOCH // AUCTIONS) * 1000 // self.rate)

    def micros(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        """The time of the events with these numbers: whole milliseconds, as microseconds."""
        begun = int(START.timestamp()) * MICROS
        return begun + number * 1000 // self.rate * 1000

    def auction_ms(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """How long auctions are open, in milliseconds: from one to twice the horizon."""
        return 1 + random.integers(0, 2 * self._horizon_ms, count)


def kinds(number: NDArray[np.int64]) -> NDArray[np.int8]:
    """The kind of each event, by its number."""
    place = number % EPOCH
    kind = np.where(place < PEOPLE, PERSON, np.where(place < PEOPLE + AUCTIONS, AUCTION, BID))
    return kind.astype(np.int8)


def newest_person(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The person that is new with each event, or was before it; from 0."""
    return number // EPOCH * PEOPLE + np.minimum(number % EPOCH, PEOPLE - 1)


def newest_auction(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The auction that is new with each event, or was before it; from 0, at first -1."""
    within = np.clip(number % EPOCH - PEOPLE, -1, AUCTIONS - 1)
    return number // EPOCH * AUCTIONS + within


def some_person(random: np.random.Generator, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the active people for each event, or one of the next; from 0."""
    people = newest_person(number) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + random.integers(0, active + LEAD)


def some_auction(random: np.random.Generator, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the auctions in flight for each event, or one of the next; from 0."""
    newest = newest_auction(number)
    oldest = np.maximum(newest - IN_FLIGHT, 0)
    return oldest + random.integers(0, newest - oldest + 1 + LEAD)


def hot(newest: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first of the hundred that the newest is in."""
    return np.maximum(newest, 0) // HOT_SPAN * HOT_SPAN


def prices(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Cents between one and a million: as many of each order of magnitude."""
    return np.round(10 ** (random.random(count) * 6) * 100).astype(np.int64)
