"""The demo's comparison: it has to see a difference, whichever side it is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flights.check import compare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [("EWR", 1, 10), ("EWR", 2, 20), ("JFK", 1, 30)]
SCHEMA = "origin string, hour int, delay int"


@pytest.mark.parametrize(
    ("streamed", "missing", "unexpected"),
    [
        (ROWS, 0, 0),
        (ROWS[::-1], 0, 0),
        (ROWS[1:], 1, 0),
        ([*ROWS, ("LGA", 1, 0)], 0, 1),
        ([*ROWS, ROWS[0]], 0, 1),
        ([*ROWS[:2], ("JFK", 1, 31)], 1, 1),
        ([*ROWS[:2], ("JFK", 1, None)], 1, 1),
    ],
)
def test_a_difference_is_found(
    spark: SparkSession, streamed: list[tuple[str, int, int | None]], missing: int, unexpected: int
) -> None:
    one, other = (spark.createDataFrame(rows, SCHEMA) for rows in (streamed, ROWS))
    found = compare("delays", one, other, ["origin", "hour"])
    assert (found.missing, found.unexpected) == (missing, unexpected)
    assert found.equal == (missing == unexpected == 0)
    if not found.equal:
        assert found.first is not None
        assert set(found.first["only in"]) <= {"batch", "stream"}
        assert len(found.first) == missing + unexpected
