"""What the queries read: made from a seed and a number of a file, the same each time."""

from __future__ import annotations

import os
import random
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2024, 3, 1, tzinfo=UTC)
SPAN = timedelta(minutes=10)
"""What a file covers: all of its events lie in it, each file's behind those of the file before."""
SPARK_SCHEMA = "id long, at timestamp, key long, value long"
SIDES = ("left", "right")
"""Two streams; a query that joins reads both, others the first."""
KEYS = 24
_ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("key", pa.int64()),
        ("value", pa.int64()),
    ]
)
_ROWS = 24
_FIRST_MODIFIED = 1_700_000_000


@dataclass(frozen=True)
class Event:
    id: int
    at: datetime
    key: int
    value: int


def fresh(seed: int, side: str, number: int) -> list[Event]:
    """The events of a file that no file before had."""
    chance = random.Random(f"{seed} {side} {number}")
    seconds = int(SPAN.total_seconds())
    return [
        Event(
            number * _ROWS + n,
            START + number * SPAN + timedelta(seconds=chance.randrange(seconds)),
            chance.randrange(KEYS),
            chance.randrange(100),
        )
        for n in range(_ROWS)
    ]


def events(seed: int, side: str, number: int) -> list[Event]:
    """All events of a file: on the left, a few of the file before come once more."""
    made = fresh(seed, side, number)
    if side == "left" and number > 0:
        made += random.Random(f"{seed} {number}").sample(fresh(seed, side, number - 1), 4)
    return made


def write(folder: Path, seed: int, side: str, number: int) -> None:
    """Puts the file where the queries look for it, whole, in the order that Spark reads them by."""
    rows = pa.Table.from_pylist([asdict(e) for e in events(seed, side, number)], schema=_ARROW)
    hidden = folder / side / f".{number:06d}.parquet"
    pq.write_table(rows, hidden)
    os.utime(hidden, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))
    hidden.rename(folder / side / f"{number:06d}.parquet")
