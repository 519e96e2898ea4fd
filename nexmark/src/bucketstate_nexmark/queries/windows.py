"""Queries about windows of time: q5, q7, q11, q12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.views import WINDOW, bids, in_windows, millis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bucketstate_nexmark.events.model import Model

SLIDE = "2 seconds"


def hot_items(events: DataFrame, _: Model) -> DataFrame:
    grouped = bids(events).groupBy(in_windows(WINDOW, SLIDE), "auction")
    counts = grouped.agg(F.count("*").alias("bids"))
    most = counts.groupBy("span").agg(F.max(F.struct("bids", "auction")).alias("most"))
    return most.select(F.col("span.start").alias("started"), "most.auction", "most.bids")


def highest_bids(events: DataFrame, _: Model) -> DataFrame:
    most = bids(events).groupBy(in_windows(WINDOW)).agg(F.max("price").alias("most"))
    offers = bids(events).select(
        in_windows(WINDOW).alias("offered"),
        "auction",
        "bidder",
        "price",
        "channel",
        "extra",
        millis("date_time").alias("at"),
    )
    found = most.join(offers, F.expr("span = offered AND most = price"))
    return found.select("auction", "bidder", "price", "channel", "extra", "at")


def sessions(events: DataFrame, _: Model) -> DataFrame:
    span = F.session_window("date_time", WINDOW).alias("span")
    counts = bids(events).groupBy(span, "bidder").agg(F.count("*").alias("bids"))
    times = [F.col("span.start").alias("started"), F.col("span.end").alias("ended")]
    return counts.select("bidder", *times, "bids")


def by_processing_time(events: DataFrame, _: Model) -> DataFrame:
    # The clock of a batch is one event time like another, and what it has passed can leave.
    arriving = bids(events, timed=False).select("bidder", F.current_timestamp().alias("date_time"))
    arriving = arriving.withWatermark("date_time", "0 seconds")
    counts = arriving.groupBy(in_windows(WINDOW), "bidder").agg(F.count("*").alias("bids"))
    return counts.select("bidder", F.col("span.start").alias("started"), "bids")


FORMS = (
    Form("q5", "dataframe", "append", hot_items, "the auction with most bids, in sliding windows"),
    Form("q7", "dataframe", "append", highest_bids, "the highest bids of each window"),
    Form("q11", "dataframe", "append", sessions, "bids of each session of a bidder"),
    Form(
        "q12",
        "dataframe",
        "update",
        by_processing_time,
        "bids of each bidder, in windows of processing time",
        keys=("bidder", "started"),
    ),
)
