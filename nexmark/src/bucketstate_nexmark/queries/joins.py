"""Queries that bring people, auctions and bids together: q3, q4, q8, q9, q20."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.views import WINDOW, auctions, bids, in_windows, millis, people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bucketstate_nexmark.events.model import Model

NEAR = ("OR", "ID", "CA")
"""The states of people that q3 asks about."""
ITEM = ("item_name", "description", "initial_bid", "reserve")
"""What an auction says of its item."""
CATEGORY = 10
"""The category of auctions that q3 and q20 ask about."""


def local_items(events: DataFrame, _: Model) -> DataFrame:
    near = people(events, timed=False).where(F.col("state").isin(*NEAR))
    offered = auctions(events, timed=False).where(F.col("category") == CATEGORY)
    offered = offered.select(F.col("id").alias("auction"), "seller")
    sold = near.join(offered, F.expr("id = seller"))
    return sold.select("name", "city", "state", "auction")


def valid_bids(events: DataFrame, of: Model) -> DataFrame:
    """Each auction with each bid that came while it was open."""
    opened = auctions(events).withColumnRenamed("date_time", "opened")
    offers = bids(events).select(
        "auction",
        "bidder",
        "price",
        F.col("extra").alias("bid_extra"),
        F.col("date_time").alias("at"),
    )
    # The last condition follows from the others: with it Spark knows when an auction can leave.
    while_open = (
        "id = auction AND at >= opened AND at <= expires "
        f"AND at <= opened + INTERVAL {of.longest_auction_ms * 1000} MICROSECONDS"
    )
    return opened.join(offers, F.expr(while_open))


def average_prices(events: DataFrame, of: Model) -> DataFrame:
    # Of the two event times one is left: an aggregation takes no more.
    won = valid_bids(events, of).select("id", "category", "price", "opened")
    span = F.window("opened", WINDOW).alias("span")
    final = won.groupBy(span, "id", "category").agg(F.max("price").alias("final"))
    averages = final.groupBy("span", "category").agg(F.avg("final").alias("average"))
    return averages.select(F.col("span.start").alias("started"), "category", "average")


def new_sellers(events: DataFrame, _: Model) -> DataFrame:
    new = people(events).groupBy(in_windows(WINDOW), "id", "name").agg(F.count("*").alias("n"))
    grouped = auctions(events).groupBy(in_windows(WINDOW), "seller")
    sellers = grouped.agg(F.count("*").alias("auctions")).withColumnRenamed("span", "selling")
    both = new.join(sellers, F.expr("id = seller AND span = selling"))
    return both.select("id", "name", F.col("span.start").alias("started"))


def winning_bids(events: DataFrame, of: Model) -> DataFrame:
    offers = valid_bids(events, of)
    # An auction is in one window: with it the watermark says when its last bid has been.
    span = F.window("opened", WINDOW).alias("span")
    early = (-millis("at")).alias("early")
    best = F.max(F.struct("price", early, "bidder", "bid_extra")).alias("best")
    opened = millis("opened").alias("opened")
    item = F.any_value(
        F.struct(*ITEM, "seller", "category", opened, millis("expires").alias("expires"), "extra")
    ).alias("item")
    won = offers.groupBy(span, "id").agg(item, best)
    at = (-F.col("best.early")).alias("at")
    return won.select("id", "item.*", "best.price", "best.bidder", at, "best.bid_extra")


def expanded_bids(events: DataFrame, _: Model) -> DataFrame:
    offers = bids(events, timed=False).select(
        "auction",
        "bidder",
        "price",
        "channel",
        "url",
        millis("date_time").alias("at"),
        F.col("extra").alias("bid_extra"),
    )
    offered = auctions(events, timed=False).where(F.col("category") == CATEGORY)
    offered = offered.select(
        "id",
        *ITEM,
        "seller",
        "category",
        millis("date_time").alias("opened"),
        millis("expires").alias("expires"),
        "extra",
    )
    return offers.join(offered, F.expr("auction = id")).drop("id")


FORMS = (
    Form("q3", "dataframe", "append", local_items, "auctions of a category, by people nearby"),
    Form("q4", "dataframe", "append", average_prices, "the average price of a category's auctions"),
    Form("q8", "dataframe", "append", new_sellers, "people who sell when they are new"),
    Form("q9", "dataframe", "append", winning_bids, "the winning bid of each auction"),
    Form("q20", "dataframe", "append", expanded_bids, "bids with their auctions, of a category"),
)
