"""The queries that run while processes die, by name. Executors import this module, too."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate import stateful
from bucketstate.stateful import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    Query = Callable[[DataFrame, DataFrame], DataFrame]

DELAY = "30 minutes"
NEAR = "20 minutes"
"""How far behind a left event a right one may be to be joined with it."""
LATEST = 5
"""How many of a key's last ids are kept."""
_SAID = "key long, seen long, total long, latest string"


def aggregation(left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    """How many events, their sum and the largest, of each key."""
    return left.groupBy("key").agg(
        F.count("*").alias("seen"), F.sum("value").alias("total"), F.max("value").alias("largest")
    )


def dedup(left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    """Each event once."""
    return left.withWatermark("at", DELAY).dropDuplicates(["id", "at"]).select("id", "key", "value")


def join(left: DataFrame, right: DataFrame) -> DataFrame:
    """Ids of events of one key that are near to each other."""
    on_the_left = left.withWatermark("at", DELAY).alias("l")
    on_the_right = right.withWatermark("at", DELAY).alias("r")
    near = F.expr(f"l.key = r.key and r.at between l.at and l.at + interval {NEAR}")
    return on_the_left.join(on_the_right, near).select(
        F.col("l.id").alias("left_id"), F.col("r.id").alias("right_id")
    )


def group_state(left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    """Count, sum and the last ids of each key, by `applyInPandasWithState`."""

    def added(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        seen, total, latest = state.get if state.exists else (0, 0, "[]")
        rows = pd.concat(list(frames))
        ids = json.loads(latest) + sorted(int(i) for i in rows["id"])
        kept = seen + len(rows), total + int(rows["value"].sum()), json.dumps(ids[-LATEST:])
        state.update(kept)
        yield pd.DataFrame([(key[0], *kept)], columns=["key", "seen", "total", "latest"])

    kept = "seen long, total long, latest string"
    return left.groupBy("key").applyInPandasWithState(
        added, _SAID, kept, "update", GroupStateTimeout.NoTimeout
    )


@dataclass
class Known:
    seen: int = 0
    total: int = 0
    latest: list[int] = field(default_factory=list)


@dataclass
class Said:
    key: int
    seen: int
    total: int
    latest: str


def known(key: Any, rows: list[dict[str, Any]], state: State[Known]) -> Said:
    of = state.value
    of.seen += len(rows)
    of.total += sum(row["value"] for row in rows)
    of.latest = (of.latest + sorted(row["id"] for row in rows))[-LATEST:]
    return Said(key.key, of.seen, of.total, json.dumps(of.latest))


def many_keys(left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    """The same as `group_state`, with many keys in a call."""
    return stateful.apply(left, by="key", fn=known, output_mode="update")


class Following(StatefulProcessor):
    """The same as `group_state`, in a value, a list, and a map of sums by the id's last digit."""

    def init(self, handle: Any) -> None:
        self.seen = handle.getValueState("seen", "n long")
        self.latest = handle.getListState("latest", "id long")
        self.sums = handle.getMapState("sums", "digit long", "total long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        seen = self.seen.get()[0] if self.seen.exists() else 0
        latest = [i for (i,) in self.latest.get()]
        # In one order: Spark has none within a group.
        for row in sorted(rows, key=lambda row: int(row["id"])):
            seen += 1
            latest.append(row["id"])
            digit = (row["id"] % 10,)
            before = self.sums.getValue(digit)[0] if self.sums.containsKey(digit) else 0
            self.sums.updateValue(digit, (before + row["value"],))
        self.seen.update((seen,))
        self.latest.put([(i,) for i in latest[-LATEST:]])
        total = sum(of for (of,) in self.sums.values())
        yield Row(key=key[0], seen=seen, total=total, latest=json.dumps(latest[-LATEST:]))

    def close(self) -> None:
        pass


def transform_with_state(left: DataFrame, right: DataFrame) -> DataFrame:  # noqa: ARG001
    return left.groupBy("key").transformWithState(Following(), _SAID, "Update", "None")


QUERIES: dict[str, Query] = {
    "aggregation": aggregation,
    "dedup": dedup,
    "join": join,
    "applyInPandasWithState": group_state,
    "transformWithState": transform_with_state,
    "many keys": many_keys,
}
MODES = dict.fromkeys(QUERIES, "update") | {"dedup": "append", "join": "append"}
