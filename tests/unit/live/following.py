"""Checkpoints whose keys lie where Spark puts them, and what is asked of files meanwhile."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.partitioning import partition_of
from bucketstate.live import Live
from tests.kit.checkpoints import Built, Changes, Row

KEYS = [f"key-{n}" for n in range(300)]


@dataclass
class Hashed(Built):
    """Partitions as Spark's hash gives them."""

    def partition_of(self, key: Row) -> int:
        found = partition_of([T.StringType()], key, self.partitions)
        assert found is not None
        return found


def changed(built: Built, seed: int, count: int = 60) -> Changes:
    """Puts of some keys, and removals of some that are there."""
    chance = random.Random(seed)
    there = sorted(key for rows in built.states[-1].values() for key in rows)
    gone = chance.sample(there, len(there) // 6)
    put: dict[Row, Row | None] = {
        (chance.choice(KEYS),): (seed, chance.randrange(100)) for _ in range(count)
    }
    return put | dict.fromkeys(gone)


def hashed(root: Path, batches: int = 3, **settings: Any) -> Hashed:
    built = Hashed(root, **settings)
    for number in range(batches):
        built.batch(changed(built, number))
    return built


def values_of(built: Built, version: int | None = None) -> dict[str, Any]:
    """The value of each key as `get` has it."""
    return {
        key: dict(zip(("count", "total"), value, strict=True))
        for _, (key,), value in built.rows(version)
    }


def agrees(live: Live, built: Built, keys: list[str] = KEYS) -> None:
    """One by one and all at once, with those that are not there."""
    expected = values_of(built)
    answers = live.get_many(keys)
    assert answers.version == built.version
    assert answers.values == [expected.get(key) for key in keys]
    for key in keys[::7]:
        answer = live.get(key)
        assert (answer.value, answer.version) == (expected.get(key), built.version)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
