"""What the queries found, as tables: the most delayed aircraft, and the longest rotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from rich.table import Table

from flights import aircraft, rotations
from flights.data import load_planes
from flights.stream import emitted

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from flights.layout import Layout

_MIN_LEGS = 50
_SHOWN = 8


def most_delayed_table(spark: SparkSession, files: Layout, count: int = 5) -> Table:
    """The aircraft with the longest mean delay, out of all their rotations."""
    worst = (
        rotations.final(emitted(spark, files, rotations.NAME))
        .groupBy("tailnum")
        .agg(*(F.sum(c).alias(c) for c in ("legs", "delay", "made_up")), F.count("*").alias("n"))
        .where(F.col("legs") >= _MIN_LEGS)
        .orderBy((F.col("delay") / F.col("legs")).desc(), "tailnum")
        .limit(count)
        .collect()
    )
    models = _models()
    table = Table(
        title=f"The {count} most delayed aircraft (of those with {_MIN_LEGS} legs or more)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("aircraft")
    table.add_column("model")
    for column in ("legs", "rotations", "mean delay", "made up in the air"):
        table.add_column(column, justify="right")
    for row in worst:
        mean = row.delay / row.legs
        table.add_row(
            row.tailnum,
            models(row.tailnum),
            f"{row.legs}",
            f"{row.n}",
            f"{mean:.1f} min",
            f"{row.made_up:,} min",
        )
    return table


def longest_table(spark: SparkSession, files: Layout, count: int = 5) -> Table:
    """The rotations with the most legs, with where they went."""
    tours = emitted(spark, files, aircraft.NAME)
    longest: list[Row] = tours.orderBy(F.col("legs").desc(), *aircraft.KEY).limit(count).collect()
    models = _models()
    table = Table(
        title=f"The {count} rotations with the most legs",
        title_justify="left",
        title_style="bold",
    )
    for column in ("aircraft", "model", "route"):
        table.add_column(column)
    for column in ("legs", "mean delay"):
        table.add_column(column, justify="right")
    for row in longest:
        mean = f"{row.delay / row.legs:.1f} min"
        table.add_row(row.tailnum, models(row.tailnum), _shortened(row.route), f"{row.legs}", mean)
    return table


def _shortened(route: str) -> str:
    stops = route.split()
    if len(stops) <= _SHOWN:
        return route
    return " ".join([*stops[: _SHOWN - 1], "...", stops[-1]])


def _models() -> Callable[[str], str]:
    planes = load_planes()

    def model(tailnum: str) -> str:
        plane = planes.loc[tailnum] if tailnum in planes.index else None
        return "unknown" if plane is None else f"{plane.manufacturer.title()} {plane.model}"

    return model
