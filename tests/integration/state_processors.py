"""Stateful processors for the tests on real Spark; in a module, so that the workers import them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600_000
FULL = 12
"""A key with so many values is forgotten, but for what expires."""


class Keeping(StatefulProcessor):
    """Keeps values by key in a variable of each kind, and registers timers.

    With `ttl` in one of each kind that expires, too; their time mode must be processing time.
    """

    def __init__(self, *, ttl: bool) -> None:
        self.ttl = ttl

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n long, told string")
        self.every = handle.getListState("every", "v long")
        self.plain = handle.getMapState("plain", "v long", "n long, told string")
        if self.ttl:
            self.last = handle.getValueState("last", "v long", HOUR)
            self.recent = handle.getListState("recent", "v long, k string", HOUR)
            self.by_value = handle.getMapState("by_value", "v long", "k string", HOUR)

    def values(self, rows: Iterator[Any]) -> list[int]:
        return [int(value) for frame in rows for value in frame["value"]]

    def put_out(self, key: str, n: int) -> Any:
        return pd.DataFrame({"key": [key], "n": [n]})

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        values = self.values(rows)
        n = (self.count.get()[0] if self.count.exists() else 0) + len(values)
        if n > FULL:
            self.forget()
            yield self.put_out(key[0], 0)
            return
        self.count.update((n, None if n % 2 else f"{key[0]} {n}"))
        for value in values:
            self.every.appendValue((value,))
            self.plain.updateValue((value % 5,), (value, None if value % 3 else "third"))
        if self.ttl:
            self.last.update((values[-1],))
            self.recent.put([(value, key[0]) for value in values])
            self.recent.appendValue((-1, key[0]))
            for value in values:
                self.by_value.updateValue((value % 3,), (key[0],))
            now = timerValues.getCurrentProcessingTimeInMs()
        else:
            now = 1_900_000_000_000
        self.handle.registerTimer(now + n * HOUR)
        yield self.put_out(key[0], n)

    def forget(self) -> None:
        self.count.clear()
        self.every.put([(0,), (1,)])
        for user_key in [key for key in self.plain.keys() if key[0]]:  # noqa: SIM118
            self.plain.removeKey(user_key)
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: ARG002
        yield self.put_out(key[0], -1)

    def close(self) -> None:
        pass


class KeepingRows(Keeping):
    """The same, of rows."""

    def values(self, rows: Iterator[Any]) -> list[int]:
        return [int(row["value"]) for row in rows]

    def put_out(self, key: str, n: int) -> Any:
        return Row(key=key, n=n)


class Evolved(Keeping):
    """`count` has lost a field, got one, and is wider; elements of the list have one more."""

    def __init__(self) -> None:
        super().__init__(ttl=False)

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "came string, n double")
        self.every = handle.getListState("every", "came array<string>, v long")
        self.plain = handle.getMapState("plain", "v long", "n long, told string")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
        values = self.values(rows)
        # Some keys keep what they had.
        if key[0] < "k5":
            self.count.update((key[0], 0.5))
            self.every.appendList([(["new", None], value) for value in values])
        yield self.put_out(key[0], len(values))


class Ringing(StatefulProcessor):
    """Counts the timers that have fired: each batch sets one, 5 s of event time behind its rows."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.rung = handle.getValueState("rung", "n long")

    def _count(self) -> int:
        return int(self.rung.get()[0]) if self.rung.exists() else 0

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
        newest = max(int(value) for frame in rows for value in frame["ms"])
        self.handle.registerTimer(newest + 5_000)
        yield pd.DataFrame({"key": [key[0]], "at": [newest], "n": [self._count()]})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: ARG002
        n = self._count() + 1
        self.rung.update((n,))
        at = expiredTimerInfo.getExpiryTimeInMs()
        yield pd.DataFrame({"key": [key[0]], "at": [at], "n": [n]})

    def close(self) -> None:
        pass
