"""Queries that count and sum: q15, q16, q17, q18."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.views import bids, in_windows, millis

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bucketstate_nexmark.events.model import Model

DAY = "1 day"
LOW, HIGH = 10_000, 1_000_000
"""Bids below the first are of rank 1, those below the second of rank 2, all others of rank 3."""

RANKS = (
    f"price < {LOW}",
    f"price >= {LOW} AND price < {HIGH}",
    f"price >= {HIGH}",
)


def ranked() -> list[Column]:
    """How many rows there are, and how many of each rank."""
    counts = [F.count("*").alias("total")]
    return counts + [
        F.count_if(F.expr(rank)).alias(f"rank{n}") for n, rank in enumerate(RANKS, start=1)
    ]


def distinct(offers: DataFrame, *by: str, minute: bool = False) -> DataFrame:
    """The counts of bids, of bidders and of auctions, in all and by rank; the last minute, too.

    Structured Streaming cannot count what is distinct. It can group twice: first by the bidder or
    the auction that is counted, then by what is asked for; each bid is two rows for it, one for its
    bidder and one for its auction.
    """
    who = F.struct(F.lit("bidder").alias("kind"), F.col("bidder").alias("of"))
    what = F.struct(F.lit("auction").alias("kind"), F.col("auction").alias("of"))
    at = [F.date_format("date_time", "HH:mm").alias("minute")] if minute else []
    twice = offers.select(
        "date_time", "price", *by, *at, F.explode(F.array(who, what)).alias("counted")
    ).select("*", "counted.kind", "counted.of")
    last = [F.max("minute").alias("minute")] if minute else []
    each = twice.groupBy(in_windows(DAY), *by, "kind", "of").agg(*ranked(), *last)
    names = ("total", "rank1", "rank2", "rank3")
    made = [F.sum(F.expr(f"IF(kind = 'bidder', {n}, 0)")).alias(f"{n}_bids") for n in names]
    for kind in ("bidder", "auction"):
        made += [
            F.count_if(F.expr(f"kind = '{kind}' AND {n} > 0")).alias(f"{n}_{kind}s") for n in names
        ]
    return each.groupBy("span", *by).agg(*made, *last)


def of_a_day(events: DataFrame, _: Model) -> DataFrame:
    counts = distinct(bids(events))
    return counts.select(F.to_date("span.start").alias("day"), *counts.columns[1:])


def of_channels(events: DataFrame, _: Model) -> DataFrame:
    counts = distinct(bids(events), "channel", minute=True)
    return counts.select(F.to_date("span.start").alias("day"), *counts.columns[1:])


def of_auctions(events: DataFrame, _: Model) -> DataFrame:
    figures = [
        F.min("price").alias("least"),
        F.max("price").alias("most"),
        F.avg("price").alias("average"),
        F.sum("price").alias("sum"),
    ]
    counts = bids(events).groupBy(in_windows(DAY), "auction").agg(*ranked(), *figures)
    return counts.select(F.to_date("span.start").alias("day"), *counts.columns[1:])


def last_bids(events: DataFrame, _: Model) -> DataFrame:
    offers = bids(events, timed=False)
    last = F.struct(millis("date_time").alias("at"), "price", "channel", "url", "extra")
    newest = offers.groupBy("bidder", "auction").agg(F.max(last).alias("last"))
    return newest.select("bidder", "auction", "last.*")


FORMS = (
    Form("q15", "dataframe", "append", of_a_day, "bids, bidders and auctions of a day, by rank"),
    Form("q16", "dataframe", "append", of_channels, "the same of each channel"),
    Form(
        "q17",
        "dataframe",
        "update",
        of_auctions,
        "bids and prices of each auction on a day",
        keys=("day", "auction"),
    ),
    Form(
        "q18",
        "dataframe",
        "update",
        last_bids,
        "the last bid of each bidder for each auction",
        keys=("bidder", "auction"),
    ),
)
