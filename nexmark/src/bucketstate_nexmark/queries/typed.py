"""Queries as typed functions of `bucketstate.stateful`: one key in a call."""

# Without `from __future__ import annotations`: `stateful` reads the hints.

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import stateful
from bucketstate.stateful import State, Timer
from bucketstate_nexmark.events.model import AUCTION, BID, PERSON, Model
from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.joins import CATEGORY, NEAR
from bucketstate_nexmark.queries.views import bids, millis, watermarked

TOP = 10
"""How many bids of an auction q19 asks for."""

EARLY = timedelta(seconds=1)
"""How long a bid is kept whose auction is not known: one that is open had come before."""


# q3


@dataclass
class Arrival:
    """A person, or an auction of a seller."""

    name: str | None
    city: str | None
    state: str | None
    auction: int | None


@dataclass
class Seller:
    """A person, once known; until then what this person sells."""

    name: str | None = None
    city: str | None = None
    state: str | None = None
    waiting: list[int] = field(default_factory=list)


@dataclass
class Item:
    name: str
    city: str
    state: str
    auction: int


def sell(key: Any, rows: list[Arrival], state: State[Seller]) -> Iterator[Item]:  # noqa: ARG001
    seller = state.value
    for row in rows:
        if row.auction is None:
            seller.name, seller.city, seller.state = row.name, row.city, row.state
    offered = [row.auction for row in rows if row.auction is not None]
    if seller.name is None or seller.city is None or seller.state is None:
        seller.waiting = [*seller.waiting, *offered]
        return
    for auction in [*seller.waiting, *offered]:
        yield Item(seller.name, seller.city, seller.state, auction)
    seller.waiting = []


def local_items(events: DataFrame, _: Model) -> DataFrame:
    near = ", ".join(f"'{state}'" for state in NEAR)
    rows = events.where(
        f"event_type = {PERSON} AND person.state IN ({near}) "
        f"OR event_type = {AUCTION} AND auction.category = {CATEGORY}"
    ).select(
        F.coalesce("person.id", "auction.seller").alias("seller"),
        "person.name",
        "person.city",
        "person.state",
        F.col("auction.id").alias("auction"),
    )
    return stateful.apply(rows, by="seller", fn=sell, output_mode="append")


# q9


@dataclass
class Step:
    """An auction that opens, or a bid."""

    seller: int | None
    category: int | None
    expires: datetime | None
    bidder: int | None
    price: int | None
    date_time: datetime


@dataclass
class Bidding:
    """An auction, once it is known, and the best bid so far."""

    seller: int | None = None
    category: int | None = None
    opened: datetime | None = None
    expires: datetime | None = None
    price: int | None = None
    bidder: int | None = None
    at: datetime | None = None

    def bid(self, price: int, bidder: int, at: datetime) -> None:
        """Keeps the better of two bids: the higher, then the earlier, then by bidder."""
        if self.price is None or self.bidder is None or self.at is None:
            better = True
        else:
            better = (price, -at.timestamp(), bidder) > (
                self.price,
                -self.at.timestamp(),
                self.bidder,
            )
        if better:
            self.price, self.bidder, self.at = price, bidder, at

    def forget_bids_before(self, time: datetime) -> None:
        if self.at is not None and self.at < time:
            self.price = self.bidder = self.at = None


@dataclass
class Won:
    id: int
    seller: int
    category: int
    price: int
    bidder: int
    at: int


class Auctions:
    """Keeps the best bid of each auction, and puts it out when the auction has ended."""

    def handleInputRows(self, key: Any, rows: list[Step], state: State[Bidding]) -> None:  # noqa: ARG002
        auction = state.value
        for row in sorted(rows, key=lambda row: row.date_time):
            if row.expires is not None:
                auction.seller, auction.category = row.seller, row.category
                auction.opened, auction.expires = row.date_time, row.expires
                auction.forget_bids_before(row.date_time)
            elif row.price is not None and row.bidder is not None:
                if auction.expires is None:
                    # An auction that is not known yet opens now at the earliest.
                    auction.forget_bids_before(row.date_time)
                if auction.expires is None or row.date_time <= auction.expires:
                    auction.bid(row.price, row.bidder, row.date_time)
        state.timeout_at(auction.expires or max(row.date_time for row in rows) + EARLY)

    def handleExpiredTimer(
        self,
        key: Any,
        timer: Timer,  # noqa: ARG002
        state: State[Bidding],
    ) -> Iterator[Won]:
        won = state.value
        state.clear()
        if won.seller is None or won.category is None:
            return
        if won.price is not None and won.bidder is not None and won.at is not None:
            at = round(won.at.timestamp() * 1000)
            yield Won(key.id, won.seller, won.category, won.price, won.bidder, at)


def steps(events: DataFrame) -> DataFrame:
    """Auctions and bids in one stream, by the id of the auction."""
    both = watermarked(events).where(f"event_type IN ({AUCTION}, {BID})")
    return both.select(
        F.coalesce("auction.id", "bid.auction").alias("id"),
        "auction.seller",
        "auction.category",
        "auction.expires",
        "bid.bidder",
        "bid.price",
        "date_time",
    )


def winning_bids(events: DataFrame, _: Model) -> DataFrame:
    return stateful.apply(
        steps(events), by="id", fn=Auctions(), output_mode="append", timeout="event"
    )


# q18


@dataclass
class Offer:
    at: int
    price: int
    channel: str
    url: str
    extra: str


@dataclass
class Last:
    at: int = -1
    price: int = 0
    channel: str = ""
    url: str = ""
    extra: str = ""


@dataclass
class LastBid:
    bidder: int
    auction: int
    at: int
    price: int
    channel: str
    url: str
    extra: str


def remember(key: Any, rows: list[Offer], state: State[Last]) -> LastBid:
    kept = state.value
    before = (kept.at, kept.price, kept.channel, kept.url, kept.extra)
    last = max(before, *((r.at, r.price, r.channel, r.url, r.extra) for r in rows))
    if last != before:
        state.update(Last(*last))
    return LastBid(key.bidder, key.auction, *last)


def offers(events: DataFrame) -> DataFrame:
    at = millis("date_time").alias("at")
    seen = bids(events, timed=False)
    return seen.select("bidder", "auction", at, "price", "channel", "url", "extra")


def last_bids(events: DataFrame, _: Model) -> DataFrame:
    return stateful.apply(
        offers(events), by=["bidder", "auction"], fn=remember, output_mode="update"
    )


# q19


@dataclass
class Price:
    price: int
    at: int
    bidder: int


@dataclass
class Best:
    """The highest bids of an auction, the best first."""

    prices: list[int] = field(default_factory=list)
    ats: list[int] = field(default_factory=list)
    bidders: list[int] = field(default_factory=list)


@dataclass
class Ranked:
    auction: int
    rank: int
    price: int
    at: int
    bidder: int


def rank(key: Any, rows: list[Price], state: State[Best]) -> Iterator[Ranked]:
    best = state.value
    kept = [*zip(best.prices, best.ats, best.bidders, strict=True)]
    found = sorted([*kept, *((r.price, r.at, r.bidder) for r in rows)], key=order)[:TOP]
    if found == kept:
        return
    best.prices, best.ats, best.bidders = (list(column) for column in zip(*found, strict=True))
    for place, row in enumerate(found, start=1):
        yield Ranked(key.auction, place, *row)


def order(bid: tuple[int, int, int]) -> tuple[int, int, int]:
    """The higher first, then the earlier, then by bidder."""
    price, at, bidder = bid
    return -price, at, bidder


def priced(events: DataFrame) -> DataFrame:
    seen = bids(events, timed=False)
    return seen.select("auction", "price", millis("date_time").alias("at"), "bidder")


def top_bids(events: DataFrame, _: Model) -> DataFrame:
    return stateful.apply(priced(events), by="auction", fn=rank, output_mode="update")


FORMS = (
    Form("q3", "typed", "append", local_items, "auctions of a category, by people nearby"),
    Form("q9", "typed", "append", winning_bids, "the winning bid of each auction"),
    Form(
        "q18",
        "typed",
        "update",
        last_bids,
        "the last bid of each bidder for each auction",
        keys=("bidder", "auction"),
    ),
    Form(
        "q19",
        "typed",
        "update",
        top_bids,
        "the ten highest bids of each auction",
        keys=("auction", "rank"),
    ),
)
