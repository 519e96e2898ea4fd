"""Runs a query over files, batch by batch, with a restart from the checkpoint in the middle."""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bucketstate.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Event = dict[str, Any]

START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "at timestamp, key string, value long"
DELAY = timedelta(hours=1)
_FIRST_MODIFIED = 1_700_000_000


def events(batches: int = 6, rows: int = 60, seed: int = 3) -> list[list[Event]]:
    """Events of a few keys, each batch 40 minutes after the one before, out of order within it.

    A tenth of each batch's events come once more in the next batch, well before the watermark.
    """
    chance = random.Random(seed)
    made: list[list[Event]] = []
    before: list[Event] = []
    for n in range(batches):
        fresh = [
            {
                "at": START + timedelta(minutes=40 * n, seconds=chance.randrange(40 * 60)),
                "key": f"k{chance.randrange(12)}",
                "value": chance.randrange(100),
            }
            for _ in range(rows)
        ]
        made.append(fresh + chance.sample(before, min(len(before), rows // 10)))
        before = fresh
    return made


def final_watermark(batches: list[list[Event]]) -> datetime:
    latest: datetime = max(e["at"] for batch in batches for e in batch)
    return latest - DELAY


@dataclass
class Streamed:
    """What a query put out, by batch, and what Spark reported of it."""

    batches: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    progress: list[dict[str, Any]] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [row for batch in sorted(self.batches) for row in self.batches[batch]]

    def assert_on_bucketstate(self) -> None:
        operators = [o for p in self.progress for o in p["stateOperators"]]
        assert operators
        expected = {m.name for m in registry().metrics}
        for operator in operators:
            assert expected <= set(operator["customMetrics"]), operator


def write_batches(folder: Path, schema: pa.Schema, batches: Sequence[list[Event]]) -> None:
    """One file per batch, after those that are there, in the order Spark reads them."""
    folder.mkdir(exist_ok=True)
    present = len(list(folder.glob("*.parquet")))
    for number, batch in enumerate(batches, start=present):
        file = folder / f"{number:03d}.parquet"
        pq.write_table(pa.Table.from_pylist(batch, schema=schema), file)
        os.utime(file, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))


EVENTS = pa.schema(
    [("at", pa.timestamp("us", tz="UTC")), ("key", pa.string()), ("value", pa.int64())]
)


def run_with_restart(
    spark: SparkSession,
    folder: Path,
    query: Callable[[DataFrame], DataFrame],
    batches: list[list[Event]],
    *,
    mode: str = "append",
    spark_schema: str = SCHEMA,
    arrow_schema: pa.Schema = EVENTS,
    before_restart: Callable[[], None] = lambda: None,
) -> Streamed:
    """The first half of the batches, then a new query from the checkpoint with the rest."""
    streamed = Streamed()
    half = len(batches) // 2
    for part in (batches[:half], batches[half:]):
        if streamed.progress:
            before_restart()
        write_batches(folder / "input", arrow_schema, part)
        source = spark.readStream.schema(spark_schema).option("maxFilesPerTrigger", 1)
        started = start(
            query(source.parquet(str(folder / "input"))), folder / "checkpoint", streamed, mode
        )
        assert started.awaitTermination(150)
        streamed.progress += [json.loads(p.json) for p in started.recentProgress]
    return streamed


def offset_log(folder: Path) -> list[tuple[dict[str, Any], int]]:
    """What Spark decided for each batch before it ran: its clocks, and how many files are read.

    A query that is killed after its source has logged a file and before the batch is logged takes
    that file and the one after it into one batch when it starts again.
    """
    logged = (folder / "checkpoint" / "offsets").glob("[0-9]*")
    lines = [f.read_text().splitlines() for f in sorted(logged, key=lambda f: int(f.name))]
    return [(json.loads(of[1]), json.loads(of[2])["logOffset"] + 1) for of in lines]


def start(
    rows: DataFrame, checkpoint: Path, into: Streamed, mode: str, name: str | None = None
) -> StreamingQuery:
    def keep(batch: DataFrame, number: int) -> None:
        into.batches[number] = [tuple(row) for row in batch.collect()]

    writer = rows.writeStream.outputMode(mode).foreachBatch(keep).trigger(availableNow=True)
    return writer.option("checkpointLocation", str(checkpoint)).start(queryName=name)


def plain(value: Any) -> Any:
    """Spark's rows and byte arrays as the plain values they hold, and times in UTC as Spark has."""
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else value
