"""Each aircraft's rotations, with a typed function of `bucketstate.stateful`.

A rotation is a run of one aircraft's flights with at most a day between two of them. It is closed
when a flight comes that is more than a day later, or when the watermark has passed its last flight
by more than a day. Both say the same: the input is ordered, so the watermark never overtakes the
next flight, and a rotation that timed out could not have been continued. Which of the two comes
first depends on where the batches end; the rotations do not. That is why one batch query over the
whole year gives exactly the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as F  # noqa: N812

from bucketstate import stateful
from bucketstate.stateful import State, Timer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "rotations"
KEY = ["tailnum", "started"]
DAY = timedelta(days=1)
WATERMARK_DELAY = timedelta(hours=1)

ClosedBy = Literal["open", "next flight", "timeout"]
OPEN: ClosedBy = "open"
BY_GAP: ClosedBy = "next flight"
BY_TIMEOUT: ClosedBy = "timeout"


@dataclass
class Leg:
    """A row of the input: one flight, and by how many minutes it was late and caught up."""

    scheduled: datetime
    delay: int
    made_up: int


@dataclass
class Rotation:
    """The state of one aircraft: the rotation it is on. Delays are in minutes."""

    started: datetime
    last: datetime
    legs: int = 0
    delay: int = 0
    made_up: int = 0

    def fly(self, leg: Leg) -> None:
        self.last = leg.scheduled
        self.legs += 1
        self.delay += leg.delay
        self.made_up += leg.made_up


@dataclass
class Report:
    """A row of the output: a rotation as it is after a batch."""

    tailnum: str
    started: datetime
    last: datetime
    legs: int
    delay: int
    made_up: int
    mean_delay: float
    closed_by: ClosedBy


class Rotations:
    """Takes an aircraft's flights of a batch, or its timeout, into its rotation."""

    def handleInputRows(
        self, key: Any, rows: list[Leg], state: State[Rotation]
    ) -> Iterator[Report]:
        for leg in sorted(rows, key=attrgetter("scheduled")):
            if state.exists and leg.scheduled - state.value.last > DAY:
                yield _report(key, state.value, BY_GAP)
                state.clear()
            if not state.exists:
                state.update(Rotation(started=leg.scheduled, last=leg.scheduled))
            state.value.fly(leg)
        state.timeout_at(state.value.last + DAY)
        yield _report(key, state.value, OPEN)

    def handleExpiredTimer(
        self,
        key: Any,
        timer: Timer,  # noqa: ARG002
        state: State[Rotation],
    ) -> Iterator[Report]:
        yield _report(key, state.value, BY_TIMEOUT)
        state.clear()


def query(flights: DataFrame, *, many_keys: bool = True) -> DataFrame:
    """The streaming query, for output mode update: a rotation's last row is its final one."""
    legs = flown(flights).withWatermark("scheduled", f"{WATERMARK_DELAY.seconds} seconds")
    return legs.transform(
        stateful.apply,
        by="tailnum",
        fn=Rotations(),
        output_mode="update",
        timeout="event",
        many_keys=many_keys,
    )


def final(emitted: DataFrame) -> DataFrame:
    """The answer of the stream: what it said last of each rotation."""
    figures = [column for column in emitted.columns if column not in (*KEY, "batch")]
    latest = emitted.groupBy(*KEY).agg(F.max_by(F.struct(*figures), F.col("batch")).alias("row"))
    return latest.select(*KEY, "row.*")


def batch(flights: DataFrame) -> DataFrame:
    """The same rotations from the whole year at once: gaps and islands over each aircraft."""
    return flights.sparkSession.sql(
        f"""
        WITH gaps AS (
          SELECT *, scheduled - lag(scheduled) OVER (PARTITION BY tailnum ORDER BY scheduled)
                    > INTERVAL {DAY.days} DAY AS gap
          FROM {{flown}}),
        islands AS (
          SELECT *, count_if(gap) OVER (PARTITION BY tailnum ORDER BY scheduled) AS island
          FROM gaps),
        rotations AS (
          SELECT tailnum, min(scheduled) AS started, max(scheduled) AS last, count(1) AS legs,
                 sum(delay) AS delay, sum(made_up) AS made_up, avg(delay) AS mean_delay
          FROM islands GROUP BY tailnum, island)
        SELECT *,
               lead(started) OVER (PARTITION BY tailnum ORDER BY started) IS NOT NULL
               OR last + INTERVAL {DAY.days} DAY
                  < max(last) OVER () - INTERVAL {WATERMARK_DELAY.seconds} SECOND AS closed
        FROM rotations
        """,
        flown=flown(flights),
    )


def flown(flights: DataFrame, *more: str) -> DataFrame:
    """The flights that left, by aircraft: the cancelled have no delay, and some no aircraft.

    `more` are further columns, as SQL.
    """
    return flights.where("tailnum IS NOT NULL AND dep_delay IS NOT NULL").selectExpr(
        "tailnum",
        "scheduled",
        "CAST(dep_delay AS long) AS delay",
        # A flight that was diverted has no arrival delay, and makes nothing up.
        "CAST(coalesce(dep_delay - arr_delay, 0) AS long) AS made_up",
        *more,
    )


def _report(key: Any, rotation: Rotation, closed_by: ClosedBy) -> Report:
    return Report(
        tailnum=key.tailnum,
        started=rotation.started,
        last=rotation.last,
        legs=rotation.legs,
        delay=rotation.delay,
        made_up=rotation.made_up,
        mean_delay=rotation.delay / rotation.legs,
        closed_by=closed_by,
    )
