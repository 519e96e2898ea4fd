"""Each carrier's delays by airport, with `transformWithStateInPandas`: a map with a time to live.

This, too, is Spark's own StatefulProcessor, which does not know of bucketstate.

An airport that a carrier has not flown to for a day of processing time leaves the carrier's map.
Spark counts a time to live by its own clock, never by event time; the demo does not take a day.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import TimerValues

NAME = "airports"
KEY = ["carrier", "dest"]
FIGURES = ["flights", "delay", "longest"]
TIME_TO_LIVE_MS = 24 * 3600 * 1000
_DELAYS = "flights long, delay long, longest long"
_OUTPUT = f"carrier string, dest string, {_DELAYS}"


class Airports(StatefulProcessor):
    """The state of one carrier: what it flew to each airport, and how late."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._delays = handle.getMapState("delays", "dest string", _DELAYS, TIME_TO_LIVE_MS)

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        found = pd.concat(rows).groupby("dest")["arr_delay"].agg(["count", "sum", "max"])
        said = []
        for dest, flights, delay, longest in found.itertuples():
            known = self._delays.getValue((dest,))
            if known is not None:
                flights, delay, longest = (
                    flights + known[0],
                    delay + known[1],
                    max(longest, known[2]),
                )
            now = (int(flights), int(delay), int(longest))
            self._delays.updateValue((dest,), now)
            said.append((key[0], dest, *now))
        yield pd.DataFrame(said, columns=[*KEY, *FIGURES])

    def close(self) -> None:
        pass


def query(flights: DataFrame) -> DataFrame:
    """The streaming query, for output mode update: an airport's last row is its final one."""
    landed = _landed(flights).groupBy("carrier")
    return landed.transformWithStateInPandas(Airports(), _OUTPUT, "update", "processingTime")


def batch(flights: DataFrame) -> DataFrame:
    """The same figures from the whole year at once."""
    return flights.sparkSession.sql(
        """
        SELECT carrier, dest, count(1) AS flights, sum(arr_delay) AS delay,
               max(arr_delay) AS longest
        FROM {landed} GROUP BY ALL
        """,
        landed=_landed(flights),
    )


def _landed(flights: DataFrame) -> DataFrame:
    landed = flights.where("arr_delay IS NOT NULL")
    return landed.selectExpr("carrier", "dest", "CAST(arr_delay AS long) AS arr_delay")
