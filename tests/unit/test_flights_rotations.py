"""The demo's rotations, without a JVM: how each of them ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from bucketstate.testing import Harness
from flights.rotations import (
    BY_GAP,
    BY_TIMEOUT,
    DAY,
    OPEN,
    WATERMARK_DELAY,
    Rotation,
    Rotations,
)

MORNING = datetime(2013, 1, 1, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)


def flight(after: timedelta, tailnum: str = "N1", delay: int = 6) -> dict[str, Any]:
    return {"tailnum": tailnum, "scheduled": MORNING + after, "delay": delay, "made_up": 1}


def harness() -> Harness:
    clock: dict[str, Any] = {"timeout": "event", "event_time": "scheduled"}
    return Harness(Rotations(), by="tailnum", delay=WATERMARK_DELAY, **clock)


def ends(reports: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(r["tailnum"], r["legs"], r["closed_by"]) for r in reports]


def test_flights_of_a_batch_are_taken_in_their_order() -> None:
    flying = harness()
    (report,) = flying.run([flight(3 * HOUR, delay=0), flight(0 * HOUR)])
    assert (report["started"], report["last"]) == (MORNING, MORNING + 3 * HOUR)
    assert (report["legs"], report["delay"], report["made_up"]) == (2, 6, 2)
    assert (report["mean_delay"], report["closed_by"]) == (3.0, OPEN)


def test_a_day_between_two_flights_is_one_rotation_and_more_are_two() -> None:
    flying = harness()
    assert ends(flying.run([flight(0 * HOUR), flight(DAY)])) == [("N1", 2, OPEN)]
    later = [flight(2 * DAY), flight(3 * DAY + HOUR)]
    assert ends(flying.run(later)) == [("N1", 3, BY_GAP), ("N1", 1, OPEN)]
    assert flying.state("N1") == Rotation(
        MORNING + 3 * DAY + HOUR, MORNING + 3 * DAY + HOUR, 1, 6, 1
    )


def test_the_watermark_closes_what_has_not_flown_for_a_day() -> None:
    flying = harness()
    flying.run([flight(0 * HOUR)])
    assert ends(flying.run([flight(DAY + WATERMARK_DELAY, "N2")])) == [("N2", 1, OPEN)]
    # The watermark stands at the timeout: it has not passed it.
    assert ends(flying.run([flight(DAY + 2 * HOUR, "N2")])) == [("N2", 2, OPEN)]
    assert ends(flying.run()) == [("N1", 1, BY_TIMEOUT)]
    assert flying.state("N1") is None
