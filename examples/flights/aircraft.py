"""Each aircraft's rotations, with `transformWithState`: its legs are a list, a timer closes it.

This is Spark's own StatefulProcessor, as it is written for any state store: nothing in it knows of
bucketstate. What `bucketstate.stateful` makes of an operator of Spark's is in `rotations`.

A rotation is what `rotations` calls so. Here it is put out when it is closed, with its route: so
its legs are kept one by one. A leg is appended to the list without a look at those before, and they
are read once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flights import rotations
from flights.rotations import BY_GAP, BY_TIMEOUT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

NAME = "aircraft"
KEY = ["tailnum", "started"]
DAY = int(rotations.DAY.total_seconds())
WATERMARK_DELAY = int(rotations.WATERMARK_DELAY.total_seconds())
_LEG = "at long, delay long, made_up long, dest string"
_OUTPUT = (
    "tailnum string, started long, last long, legs long, delay long, made_up long, route string, "
    "closed_by string"
)


class Aircraft(StatefulProcessor):
    """The state of one aircraft: the legs of the rotation it is on, and when it left last."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._last = handle.getValueState("last", "at long")
        self._legs = handle.getListState("legs", _LEG)

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002
    ) -> Iterator[Row]:
        known = self._last.get()
        last: int | None = None if known is None else known[0]
        if last is not None:
            self._handle.deleteTimer(_closing(last))
        flown: list[tuple[Any, ...]] = []
        for leg in sorted((row.at, row.delay, row.made_up, row.dest) for row in rows):
            if last is not None and leg[0] - last > DAY:
                before = [] if known is None else list(self._legs.get())
                yield _rotation(key[0], [*before, *flown], BY_GAP)
                self._legs.clear()
                known, flown = None, []
            flown.append(leg)
            last = leg[0]
        if last is not None:
            self._legs.appendList(flown)
            self._last.update((last,))
            self._handle.registerTimer(_closing(last))

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: ARG002
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[Row]:
        yield _rotation(key[0], list(self._legs.get()), BY_TIMEOUT)
        self._legs.clear()
        self._last.clear()

    def close(self) -> None:
        pass


def query(flights: DataFrame) -> DataFrame:
    """The streaming query, for output mode update: a row for each rotation that is over."""
    flown = _legs(flights).withWatermark("scheduled", f"{WATERMARK_DELAY} seconds")
    return flown.groupBy("tailnum").transformWithState(Aircraft(), _OUTPUT, "update", "eventTime")


def batch(flights: DataFrame) -> DataFrame:
    """The same from the whole year at once, by another road: sessions, and no state."""
    ordered = "array_sort(collect_list(struct(at, delay, made_up, dest)))"
    tours = (
        _legs(flights)
        .groupBy("tailnum", F.session_window("scheduled", f"{DAY} seconds"))
        .agg(
            F.min("at").alias("started"),
            F.max("at").alias("last"),
            F.count("*").alias("legs"),
            F.sum("delay").alias("delay"),
            F.sum("made_up").alias("made_up"),
            F.expr(f"array_join(transform({ordered}, leg -> leg.dest), ' ')").alias("route"),
        )
        .drop("session_window")
    )
    return flights.sparkSession.sql(
        f"""
        SELECT * EXCEPT (newest, next) FROM (
          SELECT *, max(last) OVER () AS newest,
                 lead(started) OVER (PARTITION BY tailnum ORDER BY started) AS next
          FROM {{tours}})
        WHERE next IS NOT NULL OR last + {DAY} < newest - {WATERMARK_DELAY}
        """,
        tours=tours,
    )


def _legs(flights: DataFrame) -> DataFrame:
    return rotations.flown(flights, "unix_seconds(scheduled) AS at", "dest")


def _closing(last: int) -> int:
    """When the watermark has passed the last flight by more than a day, in milliseconds."""
    return (last + DAY) * 1000 + 1


def _rotation(tailnum: str, legs: list[tuple[Any, ...]], closed_by: str) -> Row:
    return Row(
        tailnum=tailnum,
        started=legs[0][0],
        last=legs[-1][0],
        legs=len(legs),
        delay=sum(leg[1] for leg in legs),
        made_up=sum(leg[2] for leg in legs),
        route=" ".join(leg[3] for leg in legs),
        closed_by=closed_by,
    )
