"""A query with every kind of state variable and timers, in both of PySpark's flavours."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tests.kit.sparks import HAS_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, GroupedData

OUTPUT = "key string, seen long, latest string, by_tens string, ended boolean"
LASTS = timedelta(hours=2)
"""From the watermark when a key comes, in event time, until it is forgotten."""
NEVER_MS = int(timedelta(days=1).total_seconds() * 1000)
"""A time to live that no test waits for, but that Spark keeps an index of."""


class Following(StatefulProcessor):
    """Counts a key's values, lists the last of them and counts them by tens, until a timer ends it.

    The base of both flavours: an input row is whatever `_values` takes apart, an output row
    whatever `_row` makes.

    Args:
        by_event_time: whether a watermark ends keys. If not, state by tens has a time to live,
            which Spark allows with processing time alone.
    """

    def __init__(self, *, by_event_time: bool) -> None:
        self.by_event_time = by_event_time

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "n long")
        self.latest = handle.getListState("latest", "value long")
        lives = None if self.by_event_time else NEVER_MS
        self.tens = handle.getMapState("tens", "ten long", "n long", lives)

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,
    ) -> Iterator[Any]:
        if not self.seen.exists():
            if self.by_event_time:
                ends = timerValues.getCurrentWatermarkInMs() + int(LASTS.total_seconds() * 1000)
            else:
                ends = timerValues.getCurrentProcessingTimeInMs() + NEVER_MS
            self.handle.registerTimer(ends)
        # In one order: Spark has none within a group.
        for value in sorted(self._values(rows)):
            self.seen.update((self._seen() + 1,))
            ten = (value // 10,)
            n = self.tens.getValue(ten)[0] if self.tens.containsKey(ten) else 0
            self.tens.updateValue(ten, (n + 1,))
            self.latest.appendValue((value,))
        latest = [value for (value,) in self.latest.get()]
        if len(latest) > 5:
            self.latest.put([(value,) for value in latest[-5:]])
        yield self._row(self._said(key, ended=False))

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: Any,  # noqa: ARG002
        expiredTimerInfo: Any,  # noqa: ARG002
    ) -> Iterator[Any]:
        said = self._said(key, ended=True)
        for variable in (self.seen, self.latest, self.tens):
            variable.clear()
        yield self._row(said)

    def close(self) -> None:
        pass

    def _seen(self) -> int:
        return int(self.seen.get()[0]) if self.seen.exists() else 0

    def _said(self, key: Any, *, ended: bool) -> tuple[str, int, str, str, bool]:
        latest = [value for (value,) in self.latest.get()]
        tens = sorted((ten, n) for (ten,), (n,) in self.tens.iterator())
        return key[0], self._seen(), json.dumps(latest), json.dumps(tens), ended

    def _values(self, rows: Iterable[Any]) -> Iterator[int]:
        raise NotImplementedError

    def _row(self, said: tuple[Any, ...]) -> Any:
        raise NotImplementedError


class FollowingInPandas(Following):
    def _values(self, rows: Iterable[pd.DataFrame]) -> Iterator[int]:
        return (int(value) for frame in rows for value in frame["value"])

    def _row(self, said: tuple[Any, ...]) -> pd.DataFrame:
        names = [field.split()[0] for field in OUTPUT.split(", ")]
        return pd.DataFrame([said], columns=names)


class FollowingInRows(Following):
    def _values(self, rows: Iterable[Row]) -> Iterator[int]:
        return (row["value"] for row in rows)

    def _row(self, said: tuple[Any, ...]) -> Row:
        key, seen, latest, by_tens, ended = said
        return Row(key=key, seen=seen, latest=latest, by_tens=by_tens, ended=ended)


def in_pandas(rows: DataFrame, *, by_event_time: bool = True) -> DataFrame:
    processor = FollowingInPandas(by_event_time=by_event_time)
    return _grouped(rows).transformWithStateInPandas(
        processor, OUTPUT, "Update", _mode(by_event_time)
    )


def in_rows(rows: DataFrame, *, by_event_time: bool = True) -> DataFrame:
    processor = FollowingInRows(by_event_time=by_event_time)
    return _grouped(rows).transformWithState(processor, OUTPUT, "Update", _mode(by_event_time))


def _mode(by_event_time: bool) -> str:
    return "EventTime" if by_event_time else "ProcessingTime"


def _grouped(rows: DataFrame) -> GroupedData:
    return rows.withWatermark("at", "1 hour").groupBy("key")


needs_rows = pytest.mark.skipif(
    not HAS_ROWS, reason="PySpark 4.0 has transformWithState for pandas alone"
)

FLAVOURS = {"pandas": in_pandas} | ({"rows": in_rows} if HAS_ROWS else {})
BEST = list(FLAVOURS)[-1]
"""That of rows, where there is one."""
