"""A program: keys with times in a Spark whose machine is in another zone than its session.

Among them are the times that the machine's clock, and the session's, shows twice. It ends with the
line `all alike`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bucketstate import stateful
from bucketstate.session import configure
from bucketstate.stateful import State
from bucketstate.testing import compare
from bucketstate.testing.session import SETTINGS
from tests.kit.stateful import Total
from tests.kit.values.instants import CHANGES, GAP, MINUTE

SCHEMA = (
    "at timestamp, wall timestamp_ntz, window struct<start:timestamp,end:timestamp>, t timestamp"
)
OUTPUT = "at timestamp, wall timestamp_ntz, start timestamp, n long, timer boolean"


class Waiting:
    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], state: State[Total]
    ) -> dict[str, Any]:
        state.value.n += len(rows)
        state.registerTimer(max(row["t"] for row in rows) + GAP)
        return self.told(key, state, timer=False)

    def handleExpiredTimer(
        self, key: Any, _timer: Any, state: State[Total]
    ) -> Iterator[dict[str, Any]]:
        yield self.told(key, state, timer=True)

    def told(self, key: Any, state: State[Total], *, timer: bool) -> dict[str, Any]:
        window = getattr(key, "window", None)
        return {
            "at": getattr(key, "at", None),
            "wall": getattr(key, "wall", None),
            "start": None if window is None else window.start,
            "n": state.value.n,
            "timer": timer,
        }


def rows() -> list[dict[str, Any]]:
    made = []
    for change, *_ in CHANGES.values():
        for minute in (-45, 15):
            at = change + minute * MINUTE
            # The reading is that of the machine's clock, which may be there twice.
            wall = datetime(*at.astimezone().timetuple()[:6], 123456)
            window = {"start": at, "end": at + GAP}
            made.append({"at": at.replace(microsecond=7), "wall": wall, "window": window})
    return made


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("keys with times").master("local[2]")
    zone = {"spark.sql.session.timeZone": "Asia/Kolkata", "spark.log.level": "OFF"}
    for name, value in {**SETTINGS, **zone}.items():
        builder = builder.config(name, value)
    spark = configure(builder).getOrCreate()
    start = CHANGES["Europe/Berlin"][0]
    keys = rows()
    for by in ("at", "wall", "window"):
        found = compare(
            spark,
            stateful.define(Waiting(), state=Total, output=OUTPUT),
            [
                [{**key, "t": start} for key in keys],
                [{**keys[0], by: None, "t": start + 60 * MINUTE}],
            ],
            by=by,
            operator="transformWithState",
            schema=SCHEMA,
            timeout="event",
            event_time="t",
        )
        fired = [row for batch in found for row in batch if row["timer"]]
        assert len(fired) == len({key[by] if by != "window" else key["at"] for key in keys}), found
        assert all(row["n"] for row in fired), fired
    spark.stop()
    print("all alike")


if __name__ == "__main__":
    main()
