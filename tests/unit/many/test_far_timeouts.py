"""Timeouts of many keys in every unit of Arrow's, and where the years of Python end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import Keys, StateUsageError
from bucketstate.testing import Harness

START = datetime(2024, 6, 1, 10, 0, 15, tzinfo=UTC)
# The last whole millisecond.
LAST = datetime.max.replace(microsecond=999_000, tzinfo=UTC)
UNITS: dict[Literal["s", "ms", "us", "ns"], int] = {
    "s": 1,
    "ms": 1_000,
    "us": 1_000_000,
    "ns": 1_000_000_000,
}
ROWS = [{"k": "a"}, {"k": "b"}]


@dataclass
class Record:
    n: int = 0


def harness(step: Callable[[Keys[Record]], Any], **options: Any) -> Harness:
    def counted(keys: Keys[Record], rows: pa.RecordBatch) -> None:  # noqa: ARG001
        keys.update({"n": [1] * len(keys)})
        step(keys)

    return Harness(stateful.define(counted, output=None), by="k", clock=START, **options)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("naive", [False, True])
def test_times_of_every_unit(unit: Literal["s", "ms", "us", "ns"], naive: bool) -> None:
    # What is below a millisecond is cut.
    below = {"s": 0, "ms": 123_000, "us": 123_999, "ns": 123_999}[unit]
    at = START.replace(microsecond=below)
    given, kind = at, pa.timestamp(unit, "UTC")
    if naive:
        given = at.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
        kind = pa.timestamp(unit)
    running = harness(
        lambda keys: keys.timeout_at(pa.array([given] * len(keys), kind)),
        timeout="event",
        time_zone="Europe/Berlin",
    )
    running.run(ROWS)
    assert running.timeout("b") == at.replace(microsecond=below // 1000 * 1000)


@pytest.mark.parametrize(("unit", "per_second"), UNITS.items())
def test_spans_of_every_unit(unit: Literal["s", "ms", "us", "ns"], per_second: int) -> None:
    # One less than the next millisecond, where the unit is finer than that.
    below = max(per_second // 1_000 - 1, 0)
    spans = pa.array([2 * per_second + below, None], pa.duration(unit))
    running = harness(
        lambda keys: keys.timeout_after(spans.take(pa.array([0] * len(keys)))),
        timeout="processing",
    )
    running.run(ROWS)
    assert running.timeout("a") == START + timedelta(seconds=2)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_the_last_moment_is_one(zone: str) -> None:
    """In Berlin it is of the year 10000."""
    seen: list[Any] = []

    def step(keys: Keys[Record]) -> None:
        seen.extend(keys.timeout.cast(pa.int64()).to_pylist())
        keys.timeout_after(LAST - START)

    running = harness(step, timeout="processing", time_zone=zone)
    running.run(ROWS)
    assert set(seen) == {None}
    assert running.timeout("a") == LAST
    seen.clear()
    running.run(ROWS)
    assert set(seen) == {(LAST - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)}


@pytest.mark.parametrize("many_keys", [True, False])
@pytest.mark.parametrize(
    ("timeout", "step"),
    [
        ("processing", lambda keys: keys.timeout_after(timedelta.max)),
        ("processing", lambda keys: keys.timeout_after(LAST - START + timedelta(milliseconds=1))),
        *(
            ("processing", lambda keys, u=unit: keys.timeout_after(far(keys, pa.duration(u))))
            for unit in ("s", "ms", "us")
        ),
        # In New York.
        ("event", lambda keys: keys.timeout_at(datetime.max)),
        *(
            ("event", lambda keys, u=unit, z=zone: keys.timeout_at(far(keys, pa.timestamp(u, z))))
            for unit in ("s", "ms", "us")
            for zone in (None, "UTC")
        ),
        ("event", lambda keys: keys.timeout_at(far(keys, pa.timestamp("us"), -(2**62)))),
    ],
)
def test_beyond_the_years_of_python(timeout: Any, step: Any, many_keys: bool) -> None:
    running = harness(step, timeout=timeout, time_zone="America/New_York", many_keys=many_keys)
    told = r"timeout_(at|after) for Key\(k='\w'\) is beyond the years 1 to 9999.* Give a nearer"
    with pytest.raises(StateUsageError, match=told):
        running.run(ROWS)
    assert running.states() == {}


def far(keys: Keys[Record], kind: pa.DataType, count: int = 2**62) -> pa.Array:
    return pa.array([count] * len(keys), pa.int64()).cast(kind)


@pytest.mark.parametrize("timeout", ["processing", "event"])
def test_far_times_of_keys_that_are_left_out_hurt_nobody(timeout: Any) -> None:
    def step(keys: Keys[Record]) -> None:
        if timeout == "event":
            keys.timeout_at(far(keys, pa.timestamp("us")), where=[False] * len(keys))
        else:
            keys.timeout_after(far(keys, pa.duration("s")), where=[False] * len(keys))

    running = harness(step, timeout=timeout)
    running.run(ROWS)
    assert running.timeout("a") is None


def test_timeouts_that_earlier_versions_set_for_later_are_at_the_end() -> None:
    seen: list[Any] = []
    running = harness(
        lambda keys: seen.extend(keys.timeout.cast(pa.int64()).to_pylist()), timeout="processing"
    )
    running.run(ROWS[:1])
    (key,) = running._stored
    stored: Any = running._stored
    version, _, text = stored[key].row
    far_off = timedelta.max // timedelta(milliseconds=1)
    stored[key] = replace(stored[key], row=(version, far_off, text), timeout=far_off)
    assert running.timeout("a") == LAST
    seen.clear()
    running.run(ROWS[:1])
    assert set(seen) == {(LAST - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)}
