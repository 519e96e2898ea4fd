"""The input of the queries from end to end, and what the aggregation has to say of it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2024, 3, 1)
BETWEEN_FILES = timedelta(minutes=1)


@dataclass(frozen=True)
class Answers:
    """What a batch of counts and sums by key gave, added up, and how many keys the state had then.

    The number of keys is None where the state has other rows than one for each.
    """

    keys: int
    counted: int
    summed: float
    state_keys: int | None

    def agree(self, other: Answers) -> bool:
        """Whether they are the same, but for the order in which fractions were added."""
        told = None not in (self.state_keys, other.state_keys)
        return (
            (self.keys, self.counted) == (other.keys, other.counted)
            and (not told or self.state_keys == other.state_keys)
            and math.isclose(self.summed, other.summed, rel_tol=1e-9)
        )


def write_input(folder: Path, keys: int, rows: int, preload: int, batches: int) -> list[Answers]:
    """One file per batch, read in the order of their times; the first ones bring all keys.

    Returns what the aggregation gives for each.
    """
    folder.mkdir(parents=True)
    random = np.random.default_rng(42)
    per_file = -(-keys // max(1, preload))
    counts, sums = np.zeros(keys, np.int64), np.zeros(keys)
    answers: list[Answers] = []
    state_keys = 0
    for number in range(preload + batches):
        if number < preload:
            ids = np.arange(number * per_file, min(keys, (number + 1) * per_file))
        else:
            ids = random.integers(0, keys, rows)
        values = random.random(len(ids))
        touched = np.unique(ids)
        state_keys += int(np.count_nonzero(counts[touched] == 0))
        np.add.at(counts, ids, 1)
        np.add.at(sums, ids, values)
        counted, summed = int(counts[touched].sum()), float(sums[touched].sum())
        answers.append(Answers(len(touched), counted, summed, state_keys))
        table = pa.table(
            {
                "key": pa.array([f"customer-{i:010d}" for i in ids]),
                "value": pa.array(values),
                "at": pa.array([START + number * BETWEEN_FILES] * len(ids), pa.timestamp("us")),
            }
        )
        file = folder / f"{number:05d}.parquet"
        pq.write_table(table, file)
        # Spark reads files in the order of these, to the millisecond; small ones are made faster.
        os.utime(file, (number + 1, number + 1))
    return answers
