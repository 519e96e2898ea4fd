"""Every form of a session's time zone that Spark takes, but for Java's old abbreviations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bucketstate.errors import InvalidSettingError
from bucketstate.stateful.run.operators import Operator
from bucketstate.stateful.run.zones import zone_of
from bucketstate.testing import Harness
from tests.kit.scripted_parts import SCHEMA, Report
from tests.kit.scripted_parts import Scripted as Parts

pytestmark = pytest.mark.filterwarnings("ignore::bucketstate.stateful.FirstWatermarkWarning")

AT = datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        *(("UTC", 0), ("Z", 0), ("GMT", 0), ("UT", 0), ("Europe/Berlin", 2), ("Asia/Kolkata", 5.5)),
        *(("+02:00", 2), ("-02:30", -2.5), ("+2", 2), ("+02", 2), ("+0230", 2.5), ("-18:00", -18)),
        *(("GMT+2", 2), ("UTC+01:00", 1), ("UT-3", -3), ("GMT-03:30", -3.5)),
        *(("+2:00", 2), ("+02:5", 2 + 5 / 60), ("+02:00:36", 2.01)),
    ],
)
def test_what_is_a_time_zone_to_spark_is_one_here(name: str, hours: float) -> None:
    assert zone_of(name, "x").utcoffset(AT) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "+19:00", "+02:60", "+130", "2", "GMT2", "../x", None, 2, "18:00"]
)
def test_what_is_none_is_refused_with_the_setting(name: Any) -> None:
    with pytest.raises(InvalidSettingError, match=r"my.setting is .*: give a region such as"):
        zone_of(name, "my.setting")


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
@pytest.mark.parametrize("name", ["+02:00", "GMT+2", "UTC+02:00", "Africa/Maputo"])
def test_a_query_in_an_offset_answers_as_one_in_a_region(name: str, operator: Operator) -> None:
    """Rows, keys, state, parts, timers and clocks all have datetimes."""
    function = Parts(True)
    running = Harness(
        function,
        by=["key", "at"],
        operator=operator,
        schema=SCHEMA,
        timeout="event",
        event_time="at",
        time_zone=name,
        state=function.state,
        output=Report,
    )
    steps = ["last", "date", "log", "timer", "named"]
    running.run(
        [{"at": AT, "key": "k", "seq": n, "op": op, "value": 20 + n} for n, op in enumerate(steps)]
    )
    held = running.state("k", AT)
    last = held.last.get()
    assert last is not None
    assert last.at == AT
    assert [*held.dated.keys()] == [AT]
    assert running.watermark == AT
    assert running.restarted().watermark == AT
    assert [t.at.year for t in running.timers("k", AT)] == [1970, 1970]
    later = running.run([{"at": AT + timedelta(1), "key": "z", "seq": 0, "op": "skip", "value": 0}])
    assert {r["watermark"] for r in later} == {AT}
