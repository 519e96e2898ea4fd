"""Departures and delays per airport and hour: a windowed aggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "hourly"
KEY = ["hour", "origin"]
LATE_MINUTES = 15


def query(flights: DataFrame) -> DataFrame:
    """The streaming query, for output mode update: a window's last row is its final one."""
    return (
        flights.withWatermark("scheduled", "1 hour")
        .groupBy(F.window("scheduled", "1 hour").alias("window"), "origin")
        .agg(
            F.count("*").alias("flights"),
            F.count("dep_delay").alias("departed"),
            F.sum("dep_delay").alias("delay"),
            F.max("dep_delay").alias("longest"),
            F.count(F.when(F.col("dep_delay") > LATE_MINUTES, 1)).alias("late"),
        )
        .select(F.col("window.start").alias("hour"), "origin", *FIGURES)
    )


def batch(flights: DataFrame) -> DataFrame:
    """The same figures from the whole year at once, by another road: no window, no state."""
    return flights.sparkSession.sql(
        f"""
        SELECT date_trunc('HOUR', scheduled) AS hour, origin,
               count(1) AS flights,
               sum(CASE WHEN dep_delay IS NULL THEN 0 ELSE 1 END) AS departed,
               sum(dep_delay) AS delay,
               max(dep_delay) AS longest,
               sum(CASE WHEN dep_delay > {LATE_MINUTES} THEN 1 ELSE 0 END) AS late
        FROM {{flights}} GROUP BY ALL
        """,
        flights=flights,
    )


FIGURES = ["flights", "departed", "delay", "longest", "late"]
