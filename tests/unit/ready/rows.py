"""Rows for ready-made functions, and their times."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

SCHEMA = "k string, at timestamp, x double, n long, name string, price decimal(6, 2)"
START = datetime(2024, 3, 30, 22, tzinfo=UTC)
"""Not long before Europe's clocks change."""
MINUTE = timedelta(minutes=1)
DELAY = 10 * MINUTE
BESIDE = [timedelta(microseconds=n) for n in (-1000, -999, -1, 1, 500, 999, 1000, 1500)]
"""From a whole millisecond, which is as fine as a watermark is, to what is not one."""

Row = dict[str, Any]


def at(minutes: float) -> datetime:
    return START + minutes * MINUTE


def row(key: str | None, minutes: float, **more: Any) -> Row:
    return {"k": key, "at": at(minutes), "x": None, "n": None, "name": None, "price": None, **more}


def times(minutes: int) -> st.SearchStrategy[datetime]:
    """Times around this one: most of whole minutes, so that some are a gap apart to the letter."""
    whole = st.integers(minutes - 40, minutes + 40).map(at)
    return whole | st.builds(operator.add, whole, st.sampled_from(BESIDE))


@st.composite
def batches(draw: st.DrawFn) -> list[list[Row]]:
    """Batches of few keys, the null one among them, whose times go on with some disorder."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        one = st.fixed_dictionaries(
            {
                "k": st.sampled_from([None, "a", "b", "c"]),
                "at": st.none() | times(30 * number),
                "x": st.none() | st.sampled_from([float("nan"), 0.0, 0.5, 1.5, -2.0, 1e12]),
                "n": st.none() | st.integers(-3, 3),
                "name": st.none() | st.sampled_from(["", "a", "b", 'q"\\', "\n", "é"]),
                "price": st.none() | st.decimals(-9, 9, places=2),
            }
        )
        made.append(draw(st.lists(one, max_size=10)))
    return made
