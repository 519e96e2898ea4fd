"""Queries drawn by lot go to other partitions and buckets and back: nothing of them changes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from tests.integration.moved_queries import BUCKETS, FORMAT, OURS, PARTITIONS, PROVIDER, Moved
from tests.integration.test_move import Twins
from tests.kit.cases import cases
from tests.kit.session_settings import settings as session_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# Without collations: Spark takes no key whose equal values may have other bytes.
KEYS: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "int": ["0", "-1", "2147483647"],
    "bigint": ["0", "-9223372036854775808", "9223372036854775807"],
    "float": ["'-0.0'", "'0.0'", "'NaN'", "'-Infinity'"],
    "double": ["'-0.0'", "'0.0'", "'NaN'", "1.5D"],
    "decimal(10,2)": ["0.00", "-0.01", "99999999.99"],
    "decimal(38,18)": ["'-12345678901234567890.123456789012345678'", "'0'"],
    "string": ["''", "'a'", "'A'", "'ä€😀'", "repeat('x', 300)"],
    "binary": ["''", "X'00ff'", "X'00'"],
    "date": ["'1969-12-31'", "'2026-02-28'"],
    "timestamp": ["'2026-03-29 01:30:00'", "'1900-01-01 00:00:00.000001'"],
    "timestamp_ntz": ["'2026-03-29 02:30:00'", "'1900-01-01 00:00:00'"],
    "array<int>": ["array()", "array(1, null)", "array(2)"],
    "struct<a:int,b:string>": [
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', null, 'b', '')",
    ],
    "struct<a:struct<b:array<string>>,c:double>": [
        "named_struct('a', named_struct('b', array('x', null)), 'c', double('NaN'))",
        "named_struct('a', null, 'c', -0.0D)",
    ],
}
"""What a column of each type may hold, beside null."""


def _watermarked(frame: DataFrame) -> DataFrame:
    return frame.withWatermark("t", "10 seconds")


def _joined(frame: DataFrame, keys: list[str]) -> DataFrame:
    left = _watermarked(frame.where("v % 2 = 0")).alias("l")
    right = _watermarked(frame.where("v % 3 = 0")).alias("r")
    near = "r.t between l.t - interval 15 seconds and l.t + interval 15 seconds"
    same = " and ".join(f"l.{key} = r.{key}" for key in keys)
    return left.join(right, F.expr(f"{same} and {near}"), "left_outer").select("l.*", "r.v")


@dataclass(frozen=True)
class Operator:
    """What a query does with its keys, and the stores that its state is in."""

    mode: str
    build: Callable[[DataFrame, list[str]], DataFrame]
    stores: tuple[str, ...] = ("default",)


OPERATORS: dict[str, Operator] = {
    "aggregation": Operator(
        "update", lambda f, keys: f.groupBy(*keys).agg(F.count("*").alias("n"), F.max("v"))
    ),
    "windows": Operator(
        "append",
        lambda f, keys: _watermarked(f).groupBy(F.window("t", "20 seconds"), *keys).count(),
    ),
    "sessions": Operator(
        "append",
        lambda f, keys: _watermarked(f).groupBy(F.session_window("t", "5 seconds"), *keys).count(),
    ),
    "deduplication": Operator("append", lambda f, keys: f.dropDuplicates(keys)),
    "within": Operator(
        "append", lambda f, keys: _watermarked(f).dropDuplicatesWithinWatermark(keys)
    ),
    "join": Operator(
        "append",
        _joined,
        tuple(
            f"{side}-{store}"
            for side in ("left", "right")
            for store in ("keyToNumValues", "keyWithIndexToValue")
        ),
    ),
}


class Drawn:
    """A query of one seed: operator, types of its keys, and what its batches hold."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.name = self.chance.choice(list(OPERATORS))
        self.operator = OPERATORS[self.name]
        self.types = self.chance.sample(list(KEYS), self.chance.randint(1, 3))
        self.keys = [f"k{n}" for n in range(len(self.types))]
        self.schema = ", ".join(
            f"{key} {kind}" for key, kind in zip(self.keys, self.types, strict=True)
        )
        self.schema += ", v bigint, t timestamp"
        self.fed = 0

    def __str__(self) -> str:
        return f"{self.name} by {', '.join(self.types)}"

    def query(self) -> Moved:
        build = self.operator.build
        return Moved(str(self), lambda frame: build(frame, self.keys), self.operator.mode, {})

    def feed(self, spark: SparkSession, folder: Path) -> None:
        """One more file of rows."""
        rows = []
        for row in range(self.chance.randint(1, 40)):
            keys = [
                f"cast({self.chance.choice([*KEYS[kind], 'null'])} as {kind})"
                for kind in self.types
            ]
            second = self.fed * 20 + row % 10
            at = f"timestamp'2026-01-01 00:{second // 60:02}:{second % 60:02}'"
            rows.append(f"select {', '.join(keys)}, bigint({self.fed * 100 + row}), {at}")
        frame = spark.sql(" union all ".join(rows)).toDF(*self.keys, "v", "t")
        frame.coalesce(1).write.mode("append").parquet(str(folder))
        self.fed += 1

    def read(self, spark: SparkSession, folder: Path) -> DataFrame:
        rows = spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return rows.parquet(str(folder))


def _state(spark: SparkSession, checkpoint: Path, stores: tuple[str, ...]) -> list[list[str]]:
    """All rows of each store with their partitions, as Spark's own reader has them."""
    found = []
    for store in stores:
        rows = spark.read.format("statestore").option("storeName", store).load(str(checkpoint))
        found.append(sorted(repr(row) for row in rows.collect()))
    return found


@pytest.mark.parametrize("seed", cases([1], range(2, 40)))
def test_there_and_back(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    drawn = Drawn(seed)
    chance = drawn.chance
    twins = Twins(
        spark, drawn.query(), tmp_path, lambda folder, _: drawn.feed(spark, folder), drawn.read
    )
    here, there = chance.sample(range(1, 8), 2)
    buckets, others = chance.sample([1, 2, 16, 64], 2)
    version, other = chance.choice([(1, 2), (2, 1), (1, 1), (2, 2)])
    settings = {
        PROVIDER: OURS,
        PARTITIONS: str(here),
        BUCKETS: str(buckets),
        FORMAT: str(version),
    }

    def move(name: str, partitions: int, buckets: int, version: int) -> None:
        target = twins.move(
            name, "rewrite", partitions=partitions, buckets=buckets, checkpoint_format=version
        )
        report = Checkpoint(target).verify()
        assert report.ok, report

    def state() -> list[list[str]]:
        with session_settings(spark, settings):
            return _state(spark, twins.moved.checkpoint, drawn.operator.stores)

    twins.go(settings, settings, chance.randint(1, 3))
    began = state()
    move("there", there, others, other)
    move("back", here, buckets, version)
    assert state() == began, drawn
    twins.go(settings, settings, chance.randint(1, 3))
    twins.check()
