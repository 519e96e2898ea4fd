"""Many small stores in one process: a query of three stateful operators in 200 partitions.

Duplicates are dropped, what is left is counted by key and minute, and those counts are added up by
hour: 600 stores in one JVM that is driver and executor in one. Measured are the first batch of a
new query, the median of those after the warm-up, the first batch after a restart in a process of
its own, and the threads and memory (VmRSS after a collection, VmHWM) of the process when the last
batch is through. All providers must agree about the number of rows that each operator keeps.

    .venv/bin/python python/bench/many_stores.py --json artifacts/bench/many-stores.json
    .venv/bin/python python/bench/many_stores.py --providers bucketed --partitions 50
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from end_to_end import PROVIDERS, STATE_STORE
from process_figures import jvm_of, process_of, status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPERATORS = 3
WARM_UP = 2
ROWS = 4000
DEFAULT_PROVIDERS = "hdfs,rocksdb,bucketed,bucketed-rocksdb"


@dataclass(frozen=True)
class Run:
    """Milliseconds of batches, and of a process: threads, and bytes at the end and at most."""

    batches: list[int]
    threads: int
    resident: int
    resident_most: int
    state_rows: list[int]
    """Of each operator, after the last batch."""


@dataclass(frozen=True)
class Result:
    provider: str
    stores: int
    start_ms: int
    batch_ms: float
    restart_ms: int
    threads: int
    """The most of both processes, as are those below."""
    resident: int
    resident_most: int
    state_rows: list[int]


def three_operators(spark: SparkSession) -> DataFrame:
    """Each batch brings `ROWS` rows, an eighth of them again, and goes on by 20 seconds."""
    from pyspark.sql import functions as f

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    rows = source.option("advanceMillisPerBatch", 20_000).load()
    events = rows.selectExpr("value div 8 * 8 + least(value % 8, 6) as id", "timestamp as at")
    once = events.withWatermark("at", "30 seconds").dropDuplicatesWithinWatermark(["id"])
    key = f.expr("id % 500").alias("key")
    minutes = once.groupBy(f.window("at", "1 minute"), key).agg(f.count("*").alias("n"))
    hours = minutes.groupBy(f.window(f.window_time("window"), "1 hour"), "key")
    return hours.agg(f.sum("n").alias("n"))


def run(provider: str, partitions: int, heap: str, checkpoint: Path, batches: int) -> Run:
    from pyspark.sql import SparkSession

    import bucketstate

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", heap)
        .config("spark.sql.shuffle.partitions", str(partitions))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.jars", str(bucketstate.jar_path()))
    )
    for key, value in PROVIDERS[provider].items():
        builder = builder.config(STATE_STORE + key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    writer = three_operators(spark).writeStream.outputMode("append").format("noop")
    started = writer.option("checkpointLocation", str(checkpoint)).start()
    found: dict[int, int] = {}
    state_rows: list[int] = []
    while len(found) < batches:
        started.awaitTermination(1)
        if started.exception() is not None:
            raise RuntimeError(f"{provider}: {started.exception()}")
        for progress in started.recentProgress:
            if progress.numInputRows > 0:
                found[progress.batchId] = progress.batchDuration
                state_rows = [operator.numRowsTotal for operator in progress.stateOperators]
    process = process_of(spark)
    jvm_of(spark).java.lang.System.gc()
    made = Run(
        [found[batch] for batch in sorted(found)],
        status(process, "Threads"),
        status(process, "VmRSS"),
        status(process, "VmHWM"),
        state_rows,
    )
    started.stop()
    spark.stop()
    return made


def in_process(provider: str, partitions: int, heap: str, checkpoint: Path, batches: int) -> Run:
    command = [sys.executable, __file__, "--partitions", str(partitions), "--heap", heap]
    command += ["--run", provider, str(checkpoint), str(batches)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=3600)
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def measure(provider: str, partitions: int, heap: str, checkpoint: Path, batches: int) -> Result:
    print(f"{provider}: {batches} batches, and one after a restart...", file=sys.stderr, flush=True)
    first = in_process(provider, partitions, heap, checkpoint, batches)
    second = in_process(provider, partitions, heap, checkpoint, 1)
    return Result(
        provider,
        partitions * OPERATORS,
        first.batches[0],
        statistics.median(first.batches[WARM_UP:]),
        second.batches[0],
        max(first.threads, second.threads),
        max(first.resident, second.resident),
        max(first.resident_most, second.resident_most),
        second.state_rows,
    )


def report(results: list[Result]) -> str:
    lines = [
        "| provider | stores | first batch ms | batch p50 ms | first batch after a restart ms "
        "| threads | resident MiB | at most |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.provider} | {r.stores} | {r.start_ms} | {r.batch_ms:.0f} | {r.restart_ms} "
        f"| {r.threads} | {r.resident >> 20} | {r.resident_most >> 20} |"
        for r in results
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--heap", default="2g", help="of the one process")
    parser.add_argument("--providers", default=DEFAULT_PROVIDERS, help=", ".join(PROVIDERS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batches <= WARM_UP:
        parser.error(f"--batches: at least {WARM_UP + 1}")
    if options.run:
        provider, checkpoint, batches = options.run
        made = run(provider, options.partitions, options.heap, Path(checkpoint), int(batches))
        print(json.dumps(asdict(made)))
        return
    with tempfile.TemporaryDirectory(prefix="bucketstate-many-stores-") as folder:
        results = [
            measure(name, options.partitions, options.heap, Path(folder) / name, options.batches)
            for name in options.providers.split(",")
        ]
    print(report(results))
    if any(result.state_rows != results[0].state_rows for result in results):
        raise RuntimeError(f"the providers disagree: {[r.state_rows for r in results]}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
