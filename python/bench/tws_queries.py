"""`transformWithState` in Python: a value, a list, a map with TTL and a timer for each key."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

OUTPUT = "key string, n long, sum double, waited long"
NEVER_MS = 12 * 3600 * 1000
KINDS = 8


class Customers(StatefulProcessor):
    """Counts, sums and lists a customer's amounts, counts kinds, moves a timer of inactivity.

    With each answer it tells how many nanoseconds it waited for its state: for the socket to the
    JVM, and what the JVM does with the state store.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.account = handle.getValueState("account", "n long, sum double, idle long")
        self.recent = handle.getListState("recent", "amount double")
        self.kinds = handle.getMapState("kinds", "kind int", "n long", NEVER_MS)

    def take(self, key: str, amounts: list[float], now: int) -> tuple[str, int, float, int]:
        self.waited = 0
        before = self.wait(self.account.get)
        n, total, idle = before if before is not None else (0, 0.0, None)
        if idle is not None:
            self.wait(self.handle.deleteTimer, idle)
        for amount in amounts:
            self.wait(self.recent.appendValue, (amount,))
            kind = (int(amount * KINDS),)
            known = self.wait(self.kinds.getValue, kind)
            self.wait(self.kinds.updateValue, kind, (1 if known is None else known[0] + 1,))
        n, total, idle = n + len(amounts), total + sum(amounts), now + NEVER_MS
        self.wait(self.account.update, (n, total, idle))
        self.wait(self.handle.registerTimer, idle)
        return key, n, total, self.waited

    def wait(self, call: Callable[..., Any], *arguments: Any) -> Any:
        started = perf_counter_ns()
        found = call(*arguments)
        self.waited += perf_counter_ns() - started
        return found

    def close(self) -> None:
        pass


class PandasCustomers(Customers):
    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        amounts = [amount for frame in rows for amount in frame["value"].tolist()]
        said = self.take(key[0], amounts, timerValues.getCurrentProcessingTimeInMs())
        yield pd.DataFrame([said], columns=["key", "n", "sum", "waited"])


class RowCustomers(Customers):
    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,
    ) -> Iterator[Row]:
        amounts = [row["value"] for row in rows]
        said = self.take(key[0], amounts, timerValues.getCurrentProcessingTimeInMs())
        yield Row(key=said[0], n=said[1], sum=said[2], waited=said[3])


def in_pandas(read: Callable[[], DataFrame]) -> DataFrame:
    rows = read().groupBy("key")
    return rows.transformWithStateInPandas(PandasCustomers(), OUTPUT, "update", "processingTime")


def in_rows(read: Callable[[], DataFrame]) -> DataFrame:
    rows = read().groupBy("key")
    return rows.transformWithState(RowCustomers(), OUTPUT, "update", "processingTime")
