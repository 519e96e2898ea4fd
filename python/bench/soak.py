"""Queries at full speed for as long as asked for: does anything grow that should not?

A deduplication, whose keys leave with the watermark, and an aggregation over always the same keys
run beside each other in one JVM, with snapshots and retention every few batches; every so often
both are stopped and started again from their checkpoints. Each sample has the threads and open
files of the process, the heap after a full collection, the memory (VmRSS), and the files in both
checkpoints. Flat is what has, in the last third of the samples, a median of at most a tenth more
than in the first third, the warm-up (a tenth of the time) left out. Exit code 1 if anything is not.

    make soak MINUTES=60
    .venv/bin/python python/bench/soak.py --minutes 10 --engine rocksdb
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from process_figures import jvm_of, open_files, process_of, status

from bucketstate import Conf, configure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEYS = 100_000
ROWS = 5_000
PATIENCE_MS = 300_000
GROWTH = 1.1
SLACK = {"threads": 4, "handles": 8, "heap": 4 << 20, "resident": 32 << 20, "files": 8}
"""What the median may be more besides: a few of what there are few of."""


@dataclass(frozen=True)
class Sample:
    seconds: float
    batches: int
    restarts: int
    threads: int
    handles: int
    heap: int
    """Bytes that are in use after a full collection."""
    resident: int
    files: int


def queries(spark: SparkSession) -> dict[str, DataFrame]:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    rows = source.option("advanceMillisPerBatch", 60_000).load()
    keyed = rows.selectExpr(f"hash(value) % {KEYS} as key", "value")
    once = rows.withWatermark("timestamp", "10 minutes").dropDuplicates(["value", "timestamp"])
    return {"dedup": once, "aggregation": keyed.groupBy("key").agg({"value": "max", "*": "count"})}


def start(rows: DataFrame, name: str, root: Path) -> StreamingQuery:
    writer = rows.writeStream.format("noop").outputMode("update").queryName(name)
    return writer.option("checkpointLocation", str(root / name)).start()


def last_batch(query: StreamingQuery) -> int:
    if query.exception() is not None:
        raise RuntimeError(f"{query.name}: {query.exception()}")
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)


def flat(samples: Sequence[Sample], field: str) -> tuple[bool, float, float]:
    """Whether it is, and the medians of the first and the last third."""
    third = max(1, len(samples) // 3)
    first = statistics.median(getattr(sample, field) for sample in samples[:third])
    last = statistics.median(getattr(sample, field) for sample in samples[-third:])
    return last <= first * GROWTH + SLACK[field], first, last


def warm(samples: Sequence[Sample]) -> list[Sample]:
    """Without the first tenth of the time."""
    return [sample for sample in samples if sample.seconds >= samples[-1].seconds / 10]


def soak(
    spark: SparkSession, root: Path, minutes: float, every: float, life: float
) -> list[Sample]:
    """Samples of so many minutes.

    Args:
        every: seconds between two samples.
        life: seconds from one restart of the queries to the next.
    """
    process = process_of(spark)
    memory = jvm_of(spark).java.lang.management.ManagementFactory.getMemoryMXBean()
    # What Spark has to tell its listeners and has not yet is no growth of the stores.
    events = spark.sparkContext._jsc.sc().listenerBus()
    began = restarted = time.monotonic()
    running = {name: start(rows, name, root) for name, rows in queries(spark).items()}
    restarts = 0
    samples: list[Sample] = []
    while time.monotonic() - began < minutes * 60:
        time.sleep(every)
        batches = sum(last_batch(query) + 1 for query in running.values())
        if time.monotonic() - restarted > life:
            for query in running.values():
                query.stop()
            running = {name: start(rows, name, root) for name, rows in queries(spark).items()}
            restarted = time.monotonic()
            restarts += 1
        events.waitUntilEmpty(PATIENCE_MS)
        # The JVM holds a stopped query, its plans and its session for as long as Python does.
        gc.collect()
        memory.gc()
        sample = Sample(
            round(time.monotonic() - began, 1),
            batches,
            restarts,
            status(process, "Threads"),
            open_files(process),
            int(memory.getHeapMemoryUsage().getUsed()),
            status(process, "VmRSS"),
            sum(1 for file in root.rglob("*") if file.is_file()),
        )
        samples.append(sample)
        print(
            f"{sample.seconds:6.0f} s  {sample.batches} batches, {restarts} restarts: "
            f"{sample.threads} threads, {sample.handles} handles, {sample.heap >> 20} MiB heap, "
            f"{sample.resident >> 20} MiB resident, {sample.files} files",
            flush=True,
        )
    for query in running.values():
        query.stop()
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--engine", choices=("heap", "rocksdb"), default="heap")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--life", type=float, default=60, help="seconds between two restarts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from pyspark.sql import SparkSession

    builder = configure(
        SparkSession.builder.master("local[2]"), Conf(engine=options.engine, num_buckets=32)
    )
    settings = {
        "spark.driver.memory": "1g",
        # The heap is resident from the start, so that what grows lies outside it; and what is only
        # softly held goes with each collection, not after minutes.
        "spark.driver.extraJavaOptions": (
            "-Xms1g -XX:+AlwaysPreTouch -XX:SoftRefLRUPolicyMSPerMB=0"
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "5",
        "spark.sql.streaming.stateStore.maintenanceInterval": "2s",
        "spark.sql.streaming.numRecentProgressUpdates": "10",
        # What Spark keeps for its UI grows until these, by default for some thousand batches.
        "spark.ui.retainedJobs": "10",
        "spark.ui.retainedStages": "10",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "10",
        # Which it takes away in time, not in a thread that full speed leaves behind.
        "spark.appStateStore.asyncTracking.enable": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # A batch that a restart cuts off is no error, but Spark logs every part of it as one.
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory(prefix="bucketstate-soak-") as folder:
        samples = soak(spark, Path(folder), options.minutes, options.every, options.life)
        spark.stop()
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        named = {"results": [asdict(sample) for sample in samples]}
        options.json.write_text(json.dumps(named, indent=2) + "\n")
    verdicts = {field: flat(warm(samples), field) for field in SLACK}
    for field, (is_flat, first, last) in verdicts.items():
        word = "flat" if is_flat else "GROWS"
        print(f"{field}: first third {first:.0f}, last third {last:.0f}: {word}")
    return 0 if all(is_flat for is_flat, _, _ in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
