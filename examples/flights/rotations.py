"""Each aircraft's rotations, with `applyInPandasWithState`.

A rotation is a run of one aircraft's flights with at most a day between two of them. It is closed
when a flight comes that is more than a day later, or when the watermark has passed its last flight
by more than a day. Both say the same: the input is ordered, so the watermark never overtakes the
next flight, and a rotation that timed out could not have been continued. Which of the two comes
first depends on where the batches end; the rotations do not. That is why one batch query over the
whole year gives exactly the same rows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.state import GroupStateTimeout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

# Spark's worker keeps thousands of small frames at once, which hold no cycles: a collector walking
# them every few hundred allocations finds nothing, and takes a tenth of the time.
gc.set_threshold(100_000, 20, 20)

NAME = "rotations"
KEY = ["tailnum", "started"]
DAY = 24 * 3600
WATERMARK_DELAY = 3600

OPEN, BY_GAP, BY_TIMEOUT = "open", "next flight", "timeout"
_STATE = "started long, last long, legs long, delay long, made_up long"
_OUTPUT = (
    "tailnum string, started long, last long, legs long, delay long, made_up long, "
    "mean_delay double, closed_by string"
)
_COLUMNS = pd.Index([column.split()[0] for column in _OUTPUT.split(", ")])


@dataclass
class Rotation:
    """The state of one aircraft. Times are seconds since 1970, the rest are whole minutes."""

    started: int
    last: int
    legs: int = 0
    delay: int = 0
    made_up: int = 0

    def fly(self, at: int, delay: int, made_up: int) -> None:
        self.last = at
        self.legs += 1
        self.delay += delay
        self.made_up += made_up

    def row(self, tailnum: str, closed_by: str) -> tuple[Any, ...]:
        return (tailnum, *astuple(self), self.delay / self.legs, closed_by)


def query(flights: DataFrame) -> DataFrame:
    """The streaming query, for output mode update: a rotation's last row is its final one."""
    legs = flown(flights).withWatermark("scheduled", f"{WATERMARK_DELAY} seconds")
    return legs.groupBy("tailnum").applyInPandasWithState(
        advance, _OUTPUT, _STATE, "update", GroupStateTimeout.EventTimeTimeout
    )


def advance(
    key: tuple[Any, ...], chunks: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Takes one aircraft's flights of a batch (or its timeout) into its rotation."""
    tailnum = str(key[0])
    rotation = Rotation(*state.get) if state.exists else None
    if state.hasTimedOut and rotation is not None:
        state.remove()
        yield _frame([rotation.row(tailnum, BY_TIMEOUT)])
        return
    rows = []
    for at, delay, made_up in _in_order(chunks):
        if rotation is not None and at - rotation.last > DAY:
            rows.append(rotation.row(tailnum, BY_GAP))
            rotation = None
        rotation = rotation or Rotation(started=at, last=at)
        rotation.fly(at, delay, made_up)
    if rotation is None:
        return
    state.update(astuple(rotation))
    state.setTimeoutTimestamp((rotation.last + DAY) * 1000)
    yield _frame([*rows, rotation.row(tailnum, OPEN)])


def final(emitted: DataFrame) -> DataFrame:
    """The answer of the stream: what it said last of each rotation."""
    latest = emitted.groupBy(*KEY).agg(
        F.max_by(F.struct(*_COLUMNS[2:]), F.col("batch")).alias("row")
    )
    return latest.select(*KEY, "row.*")


def batch(flights: DataFrame) -> DataFrame:
    """The same rotations from the whole year at once: gaps and islands over each aircraft."""
    return flights.sparkSession.sql(
        f"""
        WITH gaps AS (
          SELECT *, at - lag(at) OVER (PARTITION BY tailnum ORDER BY at) > {DAY} AS gap
          FROM (SELECT *, unix_seconds(scheduled) AS at FROM {{flown}})),
        islands AS (
          SELECT *, count_if(gap) OVER (PARTITION BY tailnum ORDER BY at) AS island FROM gaps),
        rotations AS (
          SELECT tailnum, min(at) AS started, max(at) AS last, count(1) AS legs,
                 sum(delay) AS delay, sum(made_up) AS made_up, avg(delay) AS mean_delay
          FROM islands GROUP BY tailnum, island)
        SELECT *,
               lead(started) OVER (PARTITION BY tailnum ORDER BY started) IS NOT NULL
               OR last + {DAY} < max(last) OVER () - {WATERMARK_DELAY} AS closed
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


def _in_order(chunks: Iterable[pd.DataFrame]) -> Iterator[tuple[int, int, int]]:
    # Groups are many and small: plain lists cost a fraction of what a DataFrame does here.
    flights: list[tuple[int, int, int]] = []
    for chunk in chunks:
        at = chunk["scheduled"].to_numpy().astype("datetime64[s]").astype("int64").tolist()
        flights += zip(at, chunk["delay"].tolist(), chunk["made_up"].tolist(), strict=True)
    yield from sorted(flights)


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    # One block of objects instead of a typed column each: a seventh of the cost, here and where
    # Spark puts thousands of these frames together. Spark gives the columns their types.
    return pd.DataFrame(np.array(rows, dtype=object), columns=_COLUMNS)
