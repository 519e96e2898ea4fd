"""Queries as typed functions of `bucketstate.stateful`: one key in a call."""

# Without `from __future__ import annotations`: `stateful` reads the hints.

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import stateful
from bucketstate.stateful import State, Timer
from bucketstate_nexmark.events.model import AUCTION, BID, PERSON, Model
from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.joins import CATEGORY, ITEM, NEAR
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

    item_name: str | None
    description: str | None
    initial_bid: int | None
    reserve: int | None
    seller: int | None
    category: int | None
    expires: datetime | None
    extra: str | None
    bidder: int | None
    price: int | None
    bid_extra: str | None
    date_time: datetime


@dataclass
class Described:
    """What an auction says, but for its times."""

    item_name: str
    description: str
    initial_bid: int
    reserve: int
    seller: int
    category: int
    extra: str


@dataclass
class Opened(Described):
    """An auction, as it opened."""

    opened: datetime
    expires: datetime


@dataclass
class Bid:
    price: int
    bidder: int
    at: datetime
    extra: str

    @property
    def rank(self) -> tuple[int, float, int, str]:
        """Of two bids the greater wins: the higher, then the earlier, then by bidder."""
        return self.price, -self.at.timestamp(), self.bidder, self.extra


@dataclass
class Bidding:
    """An auction, once it is known, and the best bid so far."""

    auction: Opened | None = None
    best: Bid | None = None

    def forget_bids_before(self, time: datetime) -> None:
        if self.best is not None and self.best.at < time:
            self.best = None


@dataclass
class Won(Described):
    id: int
    opened: int
    expires: int
    price: int
    bidder: int
    at: int
    bid_extra: str


def opened(row: Step) -> Opened | None:
    """The auction that a row opens; None for a bid."""
    if (
        row.item_name is None
        or row.description is None
        or row.initial_bid is None
        or row.reserve is None
        or row.seller is None
        or row.category is None
        or row.expires is None
        or row.extra is None
    ):
        return None
    return Opened(
        row.item_name,
        row.description,
        row.initial_bid,
        row.reserve,
        row.seller,
        row.category,
        row.extra,
        row.date_time,
        row.expires,
    )


def bid(row: Step) -> Bid | None:
    """The bid that a row is; None for an auction."""
    if row.price is None or row.bidder is None or row.bid_extra is None:
        return None
    return Bid(row.price, row.bidder, row.date_time, row.bid_extra)


class Auctions:
    """Keeps the best bid of each auction, and puts it out when the auction has ended."""

    def handleInputRows(self, key: Any, rows: list[Step], state: State[Bidding]) -> None:  # noqa: ARG002
        bidding = state.value
        for row in sorted(rows, key=lambda row: row.date_time):
            if (new := opened(row)) is not None:
                bidding.auction = new
                bidding.forget_bids_before(new.opened)
            elif (offer := bid(row)) is not None:
                if bidding.auction is None:
                    # An auction that is not known yet opens now at the earliest.
                    bidding.forget_bids_before(offer.at)
                elif offer.at > bidding.auction.expires:
                    continue
                if bidding.best is None or offer.rank > bidding.best.rank:
                    bidding.best = offer
        ends = max(row.date_time for row in rows) + EARLY
        state.timeout_at(bidding.auction.expires if bidding.auction else ends)

    def handleExpiredTimer(
        self,
        key: Any,
        timer: Timer,  # noqa: ARG002
        state: State[Bidding],
    ) -> Iterator[Won]:
        auction, best = state.value.auction, state.value.best
        state.clear()
        if auction is None or best is None:
            return
        yield Won(
            **{name: getattr(auction, name) for name in names_of(Described)},
            id=key.id,
            opened=in_millis(auction.opened),
            expires=in_millis(auction.expires),
            price=best.price,
            bidder=best.bidder,
            at=in_millis(best.at),
            bid_extra=best.extra,
        )


def names_of(record: type[Any]) -> list[str]:
    return [of.name for of in fields(record)]


def in_millis(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def steps(events: DataFrame) -> DataFrame:
    """Auctions and bids in one stream, by the id of the auction."""
    both = watermarked(events).where(f"event_type IN ({AUCTION}, {BID})")
    return both.select(
        F.coalesce("auction.id", "bid.auction").alias("id"),
        *(f"auction.{name}" for name in (*ITEM, "seller", "category", "expires", "extra")),
        "bid.bidder",
        "bid.price",
        F.col("bid.extra").alias("bid_extra"),
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
    channel: str
    url: str
    extra: str


@dataclass
class Best:
    """The highest bids of an auction, the best first."""

    prices: list[int] = field(default_factory=list)
    ats: list[int] = field(default_factory=list)
    bidders: list[int] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)


@dataclass
class Ranked:
    auction: int
    rank: int
    price: int
    at: int
    bidder: int
    channel: str
    url: str
    extra: str


Placed = tuple[int, int, int, str, str, str]
"""A bid as `Price` has it."""


def rank(key: Any, rows: list[Price], state: State[Best]) -> Iterator[Ranked]:
    best = state.value
    lists = best.prices, best.ats, best.bidders, best.channels, best.urls, best.extras
    kept: list[Placed] = [*zip(*lists, strict=True)]
    new = ((r.price, r.at, r.bidder, r.channel, r.url, r.extra) for r in rows)
    found = sorted([*kept, *new], key=order)[:TOP]
    if found == kept:
        return
    state.update(Best(*(list(column) for column in zip(*found, strict=True))))
    for place, row in enumerate(found, start=1):
        yield Ranked(key.auction, place, *row)


def order(bid: Placed) -> Placed:
    """The higher first, then the earlier, then by bidder."""
    price, at, bidder, channel, url, extra = bid
    return -price, at, bidder, channel, url, extra


def priced(events: DataFrame) -> DataFrame:
    seen = bids(events, timed=False)
    at = millis("date_time").alias("at")
    return seen.select("auction", "price", at, "bidder", "channel", "url", "extra")


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
