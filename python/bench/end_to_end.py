"""A streaming query from end to end, the same one on each provider side by side.

`aggregation`: count, sum and maximum per key in update mode. The first batches bring all keys, then
come the batches that are measured, then the query is restarted in a process of its own and one more
batch is measured. `join`: the stream with itself, each event with those of its key in the ten
batches after it, inner, with a watermark; what is measured are batches in which as many events
leave the state as enter it. Times are Spark's own, medians over batches: `batchDuration`, and
`commitTimeMs`, the commits of all partitions and operators added up (tasks run side by side, so the
sum may be more than the batch).

    .venv/bin/python python/bench/end_to_end.py --keys 1000000 --rows 50000 --batches 30
    .venv/bin/python python/bench/end_to_end.py --partitions 200 --keys 200000 --rows 20000
    .venv/bin/python python/bench/end_to_end.py --keys 10000000 --heap 4g --preload-files 8
    .venv/bin/python python/bench/end_to_end.py --query join --keys 200000 --rows 20000
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

PREFIX = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "hdfs": {"providerClass": PREFIX + "HDFSBackedStateStoreProvider"},
    "rocksdb": {
        "providerClass": PREFIX + "RocksDBStateStoreProvider",
        "rocksdb.changelogCheckpointing.enabled": "true",
    },
    "bucketed": {"providerClass": "io.bucketstate.BucketedStateStoreProvider"},
}
PARTITIONS = 2
HEAP = "6g"
START = datetime(2024, 3, 1)
BETWEEN_FILES = timedelta(minutes=1)


@dataclass(frozen=True)
class Query:
    """What runs, and how many batches come before those that count."""

    mode: str
    preload_files: int
    warm_up: int
    rows: Callable[[Callable[[], DataFrame]], DataFrame]
    wanted: dict[str, float]


def aggregated(read: Callable[[], DataFrame]) -> DataFrame:
    from pyspark.sql import functions as f

    aggregates = [f.count("*").alias("n"), f.sum("value").alias("sum"), f.max("value").alias("max")]
    return read().groupBy("key").agg(*aggregates)


def joined(read: Callable[[], DataFrame]) -> DataFrame:
    from pyspark.sql import functions as f

    left = read().withWatermark("at", "1 minute")
    right = read().selectExpr("key as other", "value as amount", "at as later")
    right = right.withWatermark("later", "1 minute")
    near = f.expr("key = other and later > at and later <= at + interval 10 minutes")
    return left.join(right, near)


QUERIES = {
    "aggregation": Query("update", 4, 5, aggregated, {"rocksdb": 0.62, "hdfs": 0.45}),
    "join": Query("append", 0, 15, joined, {}),
}


@dataclass(frozen=True)
class Batch:
    """Milliseconds of one batch, and of the commits of all its partitions and operators."""

    whole_ms: int
    commits_ms: int


@dataclass(frozen=True)
class Result:
    """Milliseconds of one provider."""

    provider: str
    partitions: int
    batch_ms: float
    commits_ms: float
    restart_ms: float


@dataclass(frozen=True)
class Case:
    """A query and what it runs on."""

    query: str
    partitions: int
    heap: str = HEAP


def write_input(folder: Path, keys: int, rows: int, preload: int, batches: int) -> None:
    """One file per batch, read in the order of their times; the first ones bring all keys."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(42)
    per_file = -(-keys // max(1, preload))
    for number in range(preload + batches):
        if number < preload:
            ids = np.arange(number * per_file, min(keys, (number + 1) * per_file))
        else:
            ids = random.integers(0, keys, rows)
        table = pa.table(
            {
                "key": pa.array([f"customer-{i:010d}" for i in ids]),
                "value": pa.array(random.random(len(ids))),
                "at": pa.array([START + number * BETWEEN_FILES] * len(ids), pa.timestamp("us")),
            }
        )
        pq.write_table(table, folder / f"{number:05d}.parquet")


def run(case: Case, provider: str, source: Path, checkpoint: Path, batches: int) -> list[Batch]:
    """Runs the query for so many batches in this process."""
    from pyspark.sql import SparkSession

    import bucketstate

    query = QUERIES[case.query]
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", case.heap)
        .config("spark.sql.shuffle.partitions", str(case.partitions))
        .config("spark.ui.enabled", "false")
        .config("spark.jars", str(bucketstate.jar_path()))
    )
    for key, value in PROVIDERS[provider].items():
        builder = builder.config(f"spark.sql.streaming.stateStore.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def read() -> DataFrame:
        schema = "key string, value double, at timestamp"
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
        return rows.parquet(str(source))

    writer = query.rows(read).writeStream.outputMode(query.mode).format("noop")
    started = writer.option("checkpointLocation", str(checkpoint)).start()
    found: dict[int, Batch] = {}
    while len(found) < batches:
        started.awaitTermination(1)
        if started.exception() is not None:
            raise RuntimeError(f"{provider}: {started.exception()}")
        for progress in started.recentProgress:
            if progress.numInputRows > 0:
                commits = sum(operator.commitTimeMs for operator in progress.stateOperators)
                found[progress.batchId] = Batch(progress.batchDuration, commits)
    started.stop()
    spark.stop()
    return [found[batch] for batch in sorted(found)]


def in_process(
    case: Case, provider: str, source: Path, checkpoint: Path, batches: int
) -> list[Batch]:
    """The same in a process of its own, as after a restart."""
    command = [sys.executable, __file__]
    command += ["--query", case.query, "--partitions", str(case.partitions)]
    command += ["--heap", case.heap]
    command += ["--run", provider, str(source), str(checkpoint)]
    done = subprocess.run(
        [*command, str(batches)], check=True, stdout=subprocess.PIPE, text=True, timeout=1800
    )
    return [Batch(*times) for times in json.loads(done.stdout.splitlines()[-1])]


def measure(case: Case, provider: str, work: Path, not_counted: int, restarts: int) -> Result:
    """All batches of the first run, then restarts of one batch each."""
    source, checkpoint = work / f"{provider}-in", work / f"{provider}-checkpoint"
    source.mkdir()
    every = sorted((work / "files").iterdir())
    first = len(every) - restarts
    for file in every[:first]:
        shutil.copy2(file, source)
    print(f"{provider}: {first} batches...", file=sys.stderr, flush=True)
    counted = in_process(case, provider, source, checkpoint, first)[not_counted:]
    cold: list[int] = []
    for file in every[first : first + restarts]:
        shutil.copy2(file, source)
        print(f"{provider}: restart {len(cold) + 1}...", file=sys.stderr, flush=True)
        cold.append(in_process(case, provider, source, checkpoint, 1)[0].whole_ms)
    return Result(
        provider,
        case.partitions,
        statistics.median(batch.whole_ms for batch in counted),
        statistics.median(batch.commits_ms for batch in counted),
        statistics.median(cold),
    )


def report(results: list[Result], wanted: dict[str, float]) -> str:
    """A table for people, with ratios to Spark's own providers."""
    lines = [
        "| provider | partitions | batch ms | sum of commits ms | first batch after a restart ms |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.provider} | {r.partitions} "
        f"| {r.batch_ms:.0f} | {r.commits_ms:.0f} | {r.restart_ms:.0f} |"
        for r in results
    ]
    by_name = {r.provider: r for r in results}
    ours = by_name.get("bucketed")
    for name, other in by_name.items():
        if ours and other is not ours:
            target = f" (wanted {wanted[name]})" if name in wanted else ""
            lines.append(
                f"\nbucketed / {name}: batch {ours.batch_ms / other.batch_ms:.2f}{target}, "
                f"commits {ours.commits_ms / max(1, other.commits_ms):.2f}, "
                f"restart {ours.restart_ms / other.restart_ms:.2f} (wanted 1)"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", choices=QUERIES, default="aggregation")
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--providers", default=",".join(PROVIDERS))
    parser.add_argument("--heap", default=HEAP, help="of the one process, such as 4g")
    parser.add_argument("--preload-files", type=int, help="batches that bring all keys")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    query = QUERIES[options.query]
    case = Case(options.query, options.partitions, options.heap)
    preload = options.preload_files or query.preload_files
    if options.run:
        provider, source, checkpoint, batches = options.run
        found = run(case, provider, Path(source), Path(checkpoint), int(batches))
        print(json.dumps([astuple(batch) for batch in found]))
        return
    with tempfile.TemporaryDirectory(prefix="bucketstate-end-to-end-") as folder:
        work = Path(folder)
        batches = query.warm_up + options.batches + options.restarts
        write_input(work / "files", options.keys, options.rows, preload, batches)
        results = [
            measure(case, name, work, preload + query.warm_up, options.restarts)
            for name in options.providers.split(",")
        ]
    # What is wanted is said of the default.
    print(report(results, query.wanted if case.partitions == PARTITIONS else {}))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
