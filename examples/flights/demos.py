"""The two demos: which queries each runs, what they are held against, what it shows at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bucketstate.jar import minor_of
from flights import aircraft, airports, answers, check, hourly, rotations, ways
from flights.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.table import Table

    from flights.check import Comparison


@dataclass(frozen=True)
class Demo:
    layout: Layout
    title: str
    queries: dict[str, Callable[[DataFrame], DataFrame]]
    titles: dict[str, str]
    compare: Callable[[SparkSession, Layout], list[Comparison]]
    table: Callable[[SparkSession, Layout], Table]
    ways: Callable[[SparkSession], Table | None] | None = None
    """What shows a query's cost in two ways; it returns None where Spark has one alone."""
    of_rows: bool = False
    """Whether a query is of `transformWithState` with rows, which PySpark 4.0 does not have."""

    def refusal(self, spark: str) -> str | None:
        """Why the demo cannot run on a version of Spark; None where it can."""
        if not self.of_rows or minor_of(spark) != "4.0":
            return None
        return (
            f"{self.layout.name} cannot run on Spark {spark}, whose PySpark has no "
            f"transformWithState of rows: take a newer one, as `make {self.layout.name} SPARK=4.1`."
        )


OPERATORS = Demo(
    layout=Layout("demo"),
    title="A year of flights out of New York on bucketstate",
    queries={hourly.NAME: hourly.query, rotations.NAME: rotations.query},
    titles={
        hourly.NAME: "hourly: delays per airport (windowed aggregation)",
        rotations.NAME: "rotations: each aircraft's (bucketstate.stateful)",
    },
    compare=check.compare_operators,
    table=answers.most_delayed_table,
    ways=ways.ways_table,
)

TRANSFORM_WITH_STATE = Demo(
    layout=Layout("demo-tws"),
    title="A year of flights out of New York, with transformWithState on bucketstate",
    queries={aircraft.NAME: aircraft.query, airports.NAME: airports.query},
    titles={
        aircraft.NAME: "aircraft: legs as a list, closed by a timer (transformWithState)",
        airports.NAME: "airports: delays as a map with TTL (transformWithStateInPandas)",
    },
    compare=check.compare_transform_with_state,
    table=answers.longest_table,
    of_rows=True,
)

DEMOS = {demo.layout.name: demo for demo in (OPERATORS, TRANSFORM_WITH_STATE)}
