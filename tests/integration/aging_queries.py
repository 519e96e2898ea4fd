"""Queries whose state ages out: its rules once more, and what was run, read back."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from tests.integration.streams import EVENTS, SCHEMA, Streamed, start, write_batches
from tests.integration.test_checkpoint import same
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.streams import Event

    Query = Callable[[DataFrame], DataFrame]

# Snapshots are there when the batch is done, so that states are read from runs, too.
BASE = Conf(num_buckets=16, snapshot_mode="sync", snapshot_max_versions=2)
AFTER = 5400
AFTER_TEXT = "90min"
SPAN = 300  # what auto makes of it: the longest that goes into it 16 times or more, without a rest


def run(
    spark: SparkSession,
    folder: Path,
    query: Query,
    batches: list[list[Event]],
    conf: Conf,
    *,
    mode: str = "append",
    name: str | None = None,
) -> Streamed:
    """These batches, on top of those that the checkpoint has."""
    write_batches(folder / "input", EVENTS, batches)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    streamed = Streamed()
    with settings(spark, conf.to_spark()):
        rows = query(source.parquet(str(folder / "input")))
        started = start(rows, folder / "checkpoint", streamed, mode, name)
        assert started.awaitTermination(150)
        streamed.progress = [json.loads(p.json) for p in started.recentProgress]
    assert len(streamed.progress) >= len(batches)
    return streamed


def figures(streamed: Streamed, operator: int = 0) -> list[tuple[int, int, int]]:
    """Of each batch: keys that are there, that expired, and writes that were too late."""
    found = []
    for progress in streamed.progress:
        of = progress["stateOperators"][operator]
        custom = of["customMetrics"]
        expired, late = custom["bucketedExpiredKeys"], custom["bucketedLateWrites"]
        found.append((of["numRowsTotal"], expired, late))
    return found


def sound(spark: SparkSession, folder: Path, operator: int = 0) -> Checkpoint:
    """Every version is what Spark's own reader says that it is, and all files are sound."""
    found = Checkpoint(folder / "checkpoint")
    states, spark_s = [], []
    for version in found.versions:
        state = found.scan(operator=operator, version=version).to_arrow()
        counted = (
            found.scan(operator=operator, version=version)
            .keys_per_time_bucket()["keys"]
            .to_pylist()
        )
        assert sum(counted) == state.num_rows
        number = pa.array([version] * state.num_rows, pa.int32())
        states.append(state.add_column(0, "version", number))
        read = spark.read.format("statestore").options(operatorId=operator, batchId=version - 1)
        spark_s.append(read.load(found.location).select(F.lit(version).alias("version"), "*"))
    same(reduce(DataFrame.unionAll, spark_s), pa.concat_tables(states))
    assert found.restart_version < 4 or found.plan(operator).base is not None
    report = found.verify()
    assert report.findings == ()
    return found


def keys(found: Checkpoint, version: int | None = None) -> list[str]:
    return sorted(row["key"] for row in found.scan(version=version).to_arrow()["key"].to_pylist())


def at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def batch(**seconds: int | None) -> list[Event]:
    """An event for each key, at that second."""
    return [
        {"key": key, "at": None if second is None else at(second), "value": 1}
        for key, second in seconds.items()
    ]


class Partition:
    """What a partition holds: the rules of `docs/expiry.md`, once more.

    Times are in seconds since 1970; None for keys that never expire.
    """

    def __init__(self) -> None:
        self.state: dict[Any, tuple[int | None, Any]] = {}
        self.expired = self.late = 0
        self._newest = self._horizon = 0

    def begin(self) -> None:
        self._horizon = max(self._horizon, (self._newest - AFTER) // SPAN * SPAN)
        gone = [k for k, (start, _) in self.state.items() if self._is_behind(start)]
        for key in gone:
            del self.state[key]
        self.expired, self.late = len(gone), 0

    def put(self, key: Any, time: int | None, value: Any = None) -> None:
        before = self.state.get(key)
        start = None if time is None else time // SPAN * SPAN
        if start is not None:
            self._newest = max(self._newest, start)
            if before is not None:
                start = max(start, self._horizon if before[0] is None else before[0])
        if before is None and self._is_behind(start):
            self.late += 1
        else:
            self.state[key] = (start, value)

    @property
    def figures(self) -> tuple[int, int, int]:
        return len(self.state), self.expired, self.late

    @property
    def time_buckets(self) -> dict[datetime | None, int]:
        starts = (start for start, _ in self.state.values())
        return Counter(None if start is None else at(start) for start in starts)

    def _is_behind(self, start: int | None) -> bool:
        return start is not None and start < self._horizon


def second_of(event: Event) -> int:
    return int(event["at"].timestamp())


def time_buckets(found: Checkpoint, version: int | None = None) -> dict[datetime | None, int]:
    rows = found.scan(version=version).keys_per_time_bucket().to_pylist()
    of_keys = found.scan(version=version, times=True).to_arrow()["time_bucket"].to_pylist()
    counted = {row["time_bucket"]: row["keys"] for row in rows}
    assert counted == Counter(of_keys)
    return counted
