"""Compares what the streams put out with the same figures from one batch query, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from flights import aircraft, airports, hourly, rotations
from flights.stream import emitted, flights

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from flights.layout import Layout

_SHOWN = 5


@dataclass(frozen=True)
class Comparison:
    name: str
    rows: int
    missing: int
    unexpected: int
    """The first rows that only one side has, or None."""
    first: pd.DataFrame | None

    @property
    def equal(self) -> bool:
        return self.missing == 0 and self.unexpected == 0


def compare_operators(spark: SparkSession, files: Layout) -> list[Comparison]:
    year = flights(spark, streaming=False)
    by_hour = _latest(emitted(spark, files, hourly.NAME), hourly.KEY, hourly.FIGURES)
    by_aircraft = rotations.final(emitted(spark, files, rotations.NAME)).select(
        "*", (F.col("closed_by") != rotations.OPEN).alias("closed")
    )
    return [
        compare(hourly.NAME, by_hour, hourly.batch(year), hourly.KEY),
        compare(
            rotations.NAME, by_aircraft.drop("closed_by"), rotations.batch(year), rotations.KEY
        ),
    ]


def compare_transform_with_state(spark: SparkSession, files: Layout) -> list[Comparison]:
    year = flights(spark, streaming=False)
    tours = emitted(spark, files, aircraft.NAME)
    delays = _latest(emitted(spark, files, airports.NAME), airports.KEY, airports.FIGURES)
    return [
        compare(aircraft.NAME, tours, aircraft.batch(year), aircraft.KEY),
        compare(airports.NAME, delays, airports.batch(year), airports.KEY),
    ]


def _latest(emitted: DataFrame, key: list[str], figures: list[str]) -> DataFrame:
    """What a query said last of each key."""
    latest = emitted.groupBy(*key).agg(F.max_by(F.struct(*figures), F.col("batch")).alias("row"))
    return latest.select(*key, "row.*")


def compare(name: str, streamed: DataFrame, batch: DataFrame, key: list[str]) -> Comparison:
    """Counts the rows that only one side has, a row that comes twice as two rows."""
    sides = [rows.select(*batch.columns).toPandas() for rows in (batch, streamed)]
    for side in sides:
        # Equal rows are numbered, so that each finds one partner and no more.
        side["copy"] = side.groupby(list(batch.columns), dropna=False).cumcount()
    both = sides[0].merge(sides[1], how="outer", indicator="only in")
    unequal = both[both["only in"] != "both"].drop(columns="copy").sort_values(key)
    missing = int((unequal["only in"] == "left_only").sum())
    unequal["only in"] = unequal["only in"].map({"left_only": "batch", "right_only": "stream"})
    first = unequal.head(2 * _SHOWN) if len(unequal) else None
    return Comparison(name, len(sides[0]), missing, len(unequal) - missing, first)
