"""Queries whose checkpoints are moved: each has the same input on either way, batch by batch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tests.integration.state_processors import Keeping, Ringing
from tests.kit.session_settings import settings as session_settings

OURS = "io.bucketstate.BucketedStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
BUCKETS = "spark.sql.streaming.stateStore.bucketed.numBuckets"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
SINKS_HAVE_NAMES = "spark.sql.streaming.queryEvolution.enableSinkEvolution"

Rows = list[str]
_FIRST_MODIFIED = 1_700_000_000


@dataclass(frozen=True)
class Moved:
    """A query whose state is moved: a name, what it does with its input, and its output mode."""

    name: str
    build: Callable[[DataFrame], DataFrame]
    mode: str
    settings: Mapping[str, str]
    once: bool = False
    """Whether all input is one batch: with times of the clock Spark never comes to an end else."""

    def __str__(self) -> str:
        return self.name


def feed(folder: Path, batch: int, rows: int = 40) -> None:
    """Input of one batch: the same for the same number."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for i in range(rows):
        key = (batch * 7 + i * 3) % 23
        second = batch * 20 + i % 10
        lines.append(
            json.dumps(
                {
                    "k": None if key == 11 else key,
                    "s": f"name-{key % 9}",
                    "d": 0.0 if key == 0 else key / 2,
                    "v": batch * 100 + i,
                    "t": f"2026-01-01T00:{second // 60:02}:{second % 60:02}",
                }
            )
        )
    part = folder / f".{batch}.tmp"
    part.write_text("\n".join(lines) + "\n")
    # Files are taken in the order of their times, and these are written within a moment.
    os.utime(part, (_FIRST_MODIFIED + batch, _FIRST_MODIFIED + batch))
    part.rename(folder / f"{batch:04}.json")


def read(spark: SparkSession, folder: Path) -> DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    return (
        spark.readStream.schema("k long, s string, d double, v long, t timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder))
    )


class Run:
    """One history of a query: its checkpoint and the rows of its batches.

    `read` makes the stream of a folder's files; each batch is one of them.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: Moved,
        place: Path,
        source: Path,
        read: Callable[[SparkSession, Path], DataFrame] = read,
    ) -> None:
        self.spark = spark
        self.query = query
        self.read = read
        self.checkpoint = place / "checkpoint"
        self.source = source
        self.rows: dict[int, Rows] = {}

    def on(self, checkpoint: Path) -> None:
        """From now on with another checkpoint."""
        self.checkpoint = checkpoint

    def run(self, settings: Mapping[str, str]) -> None:
        """Takes what input there is, and stops."""
        with session_settings(self.spark, {**self.query.settings, **settings}):
            frame = self.query.build(self.read(self.spark, self.source))
            writer = (
                frame.writeStream.outputMode(self.query.mode)
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(**({"once": True} if self.query.once else {"availableNow": True}))
                .foreachBatch(self._take)
            )
            if settings.get(SINKS_HAVE_NAMES) == "true":
                # Only the writer of Scala has a call for it.
                writer._jwrite.name("told")
            writer.start().awaitTermination()

    def _take(self, frame: DataFrame, batch: int) -> None:
        rows = sorted(json.dumps(r.asDict(True), default=repr) for r in frame.collect())
        self.rows[batch] = rows


def _count(
    key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    seen, total = state.get if state.exists else (0, 0)
    for frame in frames:
        seen += len(frame)
        total += int(frame["v"].sum())
    state.update((seen, total))
    yield pd.DataFrame({"s": [key[0]], "seen": [seen], "total": [total]})


def _watermarked(frame: DataFrame) -> DataFrame:
    return frame.withWatermark("t", "10 seconds")


def _joined(kind: str) -> Callable[[DataFrame], DataFrame]:
    def build(frame: DataFrame) -> DataFrame:
        left = _watermarked(frame.where("v % 2 = 0")).alias("l")
        right = _watermarked(frame.where("v % 3 = 0")).alias("r")
        return left.join(
            right,
            F.expr(
                "l.k = r.k and r.t between l.t - interval 15 seconds and l.t + interval 15 seconds"
            ),
            kind,
        ).select("l.k", "l.v", F.col("r.v").alias("w"), "l.t")

    return build


def transforming(
    processor: StatefulProcessor | None = None, settings: Mapping[str, str] | None = None
) -> Moved:
    """The operator with families for variables and timers; by itself some variables expire."""
    return Moved(
        "transform",
        lambda f: (
            f.selectExpr("s as key", "v as value")
            .groupBy("key")
            .transformWithStateInPandas(
                statefulProcessor=processor or Keeping(ttl=True),
                outputStructType="key string, n long",
                outputMode="Update",
                timeMode="ProcessingTime",
            )
        ),
        "update",
        settings or {},
        once=True,
    )


def ringing() -> Moved:
    """The operator with timers of event time, of which each stop finds some that have not fired."""
    return Moved(
        "timers",
        lambda f: (
            _watermarked(f)
            .selectExpr("s as key", "t", "unix_millis(t) as ms")
            .groupBy("key")
            .transformWithStateInPandas(
                statefulProcessor=Ringing(),
                outputStructType="key string, at long, n long",
                outputMode="Update",
                timeMode="EventTime",
            )
        ),
        "update",
        {},
    )


def queries() -> Sequence[Moved]:
    """Each operator of Spark that a move has a rule for, but transformWithState."""
    return [
        Moved(
            "agg",
            lambda f: f.groupBy("k", "s").agg(F.count("*").alias("n"), F.sum("v").alias("v")),
            "update",
            {},
        ),
        Moved("agg_double", lambda f: f.groupBy("d").agg(F.max("v").alias("v")), "update", {}),
        Moved(
            "agg_global",
            lambda f: f.agg(F.count("*").alias("n"), F.sum("v").alias("v")),
            "update",
            {},
        ),
        Moved(
            "agg_window",
            lambda f: _watermarked(f).groupBy(F.window("t", "20 seconds"), "s").count(),
            "append",
            {},
        ),
        Moved("dedup", lambda f: f.dropDuplicates(["k", "s"]), "append", {}),
        Moved(
            "dedup_watermark",
            lambda f: _watermarked(f).dropDuplicatesWithinWatermark(["k"]),
            "append",
            {},
        ),
        Moved(
            "session",
            lambda f: _watermarked(f).groupBy(F.session_window("t", "5 seconds"), "s").count(),
            "append",
            {},
        ),
        Moved("join_inner", _joined("inner"), "append", {}),
        Moved("join_outer", _joined("left_outer"), "append", {}),
        Moved("limit", lambda f: f.select("k", "v").limit(150), "append", {}),
        Moved(
            "pandas",
            lambda f: f.groupBy("s").applyInPandasWithState(
                _count,
                "s string, seen long, total long",
                "seen long, total long",
                "update",
                GroupStateTimeout.NoTimeout,
            ),
            "update",
            {},
        ),
        Moved(
            "dedup_agg",
            lambda f: (
                _watermarked(f)
                .dropDuplicates(["k", "s", "t"])
                .groupBy(F.window("t", "20 seconds"), "s")
                .count()
            ),
            "append",
            {},
        ),
    ]


def tree(root: Path) -> dict[str, bytes]:
    """Every file of a folder with what is in it."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
