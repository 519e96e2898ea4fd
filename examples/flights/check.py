"""Compares what the streams put out with the same figures from one batch query, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from flights import hourly, rotations
from flights.stream import emitted, flights

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

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


def compare_all(spark: SparkSession) -> list[Comparison]:
    year = flights(spark, streaming=False)
    by_hour = emitted(spark, hourly.NAME)
    latest = by_hour.groupBy(*hourly.KEY).agg(
        F.max_by(F.struct(*hourly.FIGURES), F.col("batch")).alias("row")
    )
    by_aircraft = rotations.final(emitted(spark, rotations.NAME)).select(
        "*", (F.col("closed_by") != rotations.OPEN).alias("closed")
    )
    return [
        compare(hourly.NAME, latest.select(*hourly.KEY, "row.*"), hourly.batch(year), hourly.KEY),
        compare(
            rotations.NAME, by_aircraft.drop("closed_by"), rotations.batch(year), rotations.KEY
        ),
    ]


def compare(name: str, streamed: DataFrame, batch: DataFrame, key: list[str]) -> Comparison:
    streamed = streamed.select(*batch.columns).cache()
    batch = batch.cache()
    missing, unexpected = batch.exceptAll(streamed), streamed.exceptAll(batch)
    counts = missing.count(), unexpected.count()
    first = None
    if any(counts):
        sides = [
            rows.withColumn("only in", F.lit(side))
            for rows, side in ((missing, "batch"), (unexpected, "stream"))
        ]
        first = sides[0].unionByName(sides[1]).orderBy(*key).limit(2 * _SHOWN).toPandas()
    return Comparison(name, batch.count(), *counts, first)
