"""Queries as Spark's own `transformWithState`, in Python, as its documentation writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.joins import ITEM
from bucketstate_nexmark.queries.typed import TOP, offers, order, priced, steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from bucketstate_nexmark.events.model import Model

PORTION = 0.05
"""The share of the events: each call from Python for a key's state is a message to the JVM and
back."""

_EARLY_MS = 1000

_LAST = "at long, price long, channel string, url string, extra string"
_AUCTION = (
    "item_name string, description string, initial_bid long, reserve long, seller long, "
    "category long, opened long, expires long, extra string"
)
_OF_AUCTION = (*ITEM, "seller", "category", "at", "expires", "extra")
"""Columns of a row that opens one, in the order of its state."""
_BEST = "price long, bidder long, at long, bid_extra string"
_BID = "price long, at long, bidder long, channel string, url string, extra string"
_BIDS = (
    "prices array<long>, ats array<long>, bidders array<long>, channels array<string>, "
    "urls array<string>, extras array<string>"
)


class _Processor(StatefulProcessor):
    """What Spark asks of all of them, and they do not need."""

    def close(self) -> None:
        pass


class WinningBids(_Processor):
    """Keeps an auction and its best bid apart, and a timer at the auction's end."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.auction = handle.getValueState("auction", _AUCTION)
        self.best = handle.getValueState("best", _BEST)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        auction, best = self.auction.get(), self.best.get()
        known, kept = auction, best
        for row in sorted(rows, key=lambda row: row.at):
            if row.expires is not None:
                auction = tuple(row[name] for name in _OF_AUCTION)
                best = None if best is None or best[2] < row.at else best
                continue
            if auction is None:
                best = None if best is None or best[2] < row.at else best
            elif row.at > auction[7]:
                continue
            offer = (row.price, row.bidder, row.at, row.bid_extra)
            best = offer if best is None else max(offer, tuple(best), key=_rank)
        if known is None:
            for timer in [*self.handle.listTimers()]:
                self.handle.deleteTimer(timer)
            latest = max(best[2] if best else 0, 0)
            self.handle.registerTimer(auction[7] if auction else latest + _EARLY_MS)
            if auction is not None:
                self.auction.update(auction)
        if best is None:
            self.best.clear()
        elif best != kept:
            self.best.update(best)
        return iter(())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,  # noqa: ARG002
        expiredTimerInfo: Any,  # noqa: ARG002
    ) -> Iterator[Row]:
        auction, best = self.auction.get(), self.best.get()
        self.auction.clear()
        self.best.clear()
        if auction is not None and best is not None:
            yield Row(*_names(f"id long, {_AUCTION}, {_BEST}"))(key[0], *auction, *best)


def _names(schema: str) -> list[str]:
    return [column.split()[0] for column in schema.split(", ")]


def _rank(bid: tuple[int, int, int, str]) -> tuple[int, int, int, str]:
    """Of two bids the greater wins: the higher, then the earlier, then by bidder."""
    price, bidder, at, extra = bid
    return price, -at, bidder, extra


class LastBids(_Processor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", _LAST)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        before = self.last.get()
        kept = () if before is None else tuple(before)
        last = max((kept, *((r.at, r.price, r.channel, r.url, r.extra) for r in rows)))
        if last != kept:
            self.last.update(last)
        at, price, channel, url, extra = last
        yield Row(
            bidder=key[0],
            auction=key[1],
            at=at,
            price=price,
            channel=channel,
            url=url,
            extra=extra,
        )


class TopBids(_Processor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.best = handle.getValueState("best", _BIDS)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        before = self.best.get()
        kept = [] if before is None else [*zip(*before, strict=True)]
        new = ((r.price, r.at, r.bidder, r.channel, r.url, r.extra) for r in rows)
        found = sorted([*kept, *new], key=order)[:TOP]
        if found == kept:
            return
        self.best.update(tuple(list(column) for column in zip(*found, strict=True)))
        ranked = Row(*_names(f"auction long, rank int, {_BID}"))
        for place, bid in enumerate(found, start=1):
            yield ranked(key[0], place, *bid)


def winning_bids(events: DataFrame, _: Model) -> DataFrame:
    rows = steps(events).selectExpr(
        "id",
        *ITEM,
        "seller",
        "category",
        "unix_millis(expires) AS expires",
        "extra",
        "bidder",
        "price",
        "bid_extra",
        "unix_millis(date_time) AS at",
        "date_time",
    )
    return rows.groupBy("id").transformWithState(
        WinningBids(),
        f"id long, {_AUCTION}, {_BEST}",
        "append",
        "eventTime",
    )


def last_bids(events: DataFrame, _: Model) -> DataFrame:
    return (
        offers(events)
        .groupBy("bidder", "auction")
        .transformWithState(
            LastBids(),
            f"bidder long, auction long, {_LAST}",
            "update",
            "none",
        )
    )


def top_bids(events: DataFrame, _: Model) -> DataFrame:
    return (
        priced(events)
        .groupBy("auction")
        .transformWithState(
            TopBids(),
            f"auction long, rank int, {_BID}",
            "update",
            "none",
        )
    )


FORMS = (
    Form(
        "q9",
        "transformWithState",
        "append",
        winning_bids,
        "the winning bid of each auction",
        portion=PORTION,
    ),
    Form(
        "q18",
        "transformWithState",
        "update",
        last_bids,
        "the last bid of each bidder for each auction",
        keys=("bidder", "auction"),
        portion=PORTION,
    ),
    Form(
        "q19",
        "transformWithState",
        "update",
        top_bids,
        "the ten highest bids of each auction",
        keys=("auction", "rank"),
        portion=PORTION,
    ),
)
