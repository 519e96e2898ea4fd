"""A streaming query from end to end, the same one on each provider side by side.

`aggregation`: count, sum and maximum per key in update mode. The first batches bring all keys, then
come the batches that are measured, then the query is restarted in a process of its own and one more
batch is measured. `join`: the stream with itself, each event with those of its key in the ten
batches after it, inner, with a watermark; what is measured are batches in which as many events
leave the state as enter it. `tws-pandas` and `tws-rows`: `transformWithState` in its two Python
forms, with how long its calls waited for the state, partitions added up. Times are Spark's own,
medians over batches: `batchDuration`, and `commitTimeMs`, the commits of all partitions and
operators added up (tasks run side by side, so the sum may be more than the batch). Beside them is
the most that a run's JVM, which is driver and executor in one, had in memory (VmHWM). `--check` has
Spark add up what each batch gave, and compares that and the number of keys in the state with what
the rows say.

    .venv/bin/python python/bench/end_to_end.py --keys 1000000 --rows 50000 --batches 30
    .venv/bin/python python/bench/end_to_end.py --partitions 200 --keys 200000 --rows 20000
    .venv/bin/python python/bench/end_to_end.py --keys 10000000 --heap 4g --preload-files 8
    .venv/bin/python python/bench/end_to_end.py --query join --keys 200000 --rows 20000
    .venv/bin/python python/bench/end_to_end.py --query tws-pandas --keys 20000 --rows 2000 \\
        --providers rocksdb-default,rocksdb,bucketed --check
    make bench-small-process
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tws_queries
from process_figures import followed, process_of, status

from counted_input import Answers, write_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

PREFIX = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "hdfs": {"providerClass": PREFIX + "HDFSBackedStateStoreProvider"},
    "rocksdb-default": {"providerClass": PREFIX + "RocksDBStateStoreProvider"},
    "rocksdb": {
        "providerClass": PREFIX + "RocksDBStateStoreProvider",
        "rocksdb.changelogCheckpointing.enabled": "true",
    },
    "rocksdb-tuned": {
        "providerClass": PREFIX + "RocksDBStateStoreProvider",
        "rocksdb.changelogCheckpointing.enabled": "true",
        "rocksdb.boundedMemoryUsage": "true",
        "rocksdb.trackTotalNumberOfRows": "false",
    },
    "bucketed": {"providerClass": "io.bucketstate.BucketedStateStoreProvider"},
    "bucketed-rocksdb": {
        "providerClass": "io.bucketstate.BucketedStateStoreProvider",
        "bucketed.engine": "rocksdb",
    },
}
DEFAULT_PROVIDERS = "hdfs,rocksdb,rocksdb-tuned,bucketed,bucketed-rocksdb"
STATE_STORE = "spark.sql.streaming.stateStore."
PARTITIONS = 2
HEAP = "6g"


@dataclass(frozen=True)
class Query:
    """What runs, and how many batches come before those that count."""

    mode: str
    preload_files: int
    warm_up: int
    rows: Callable[[Callable[[], DataFrame]], DataFrame]
    wanted: dict[str, float]
    wanted_commits: dict[str, float] = field(default_factory=dict)
    counts_keys: bool = False
    """Whether the state has a row for each key, and nothing else."""
    tells_waiting: bool = False
    checked: bool = True


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


def in_python(rows: Callable[[Callable[[], DataFrame]], DataFrame]) -> Query:
    batch, commits = (dict.fromkeys(("rocksdb-default", "rocksdb"), most) for most in (0.9, 0.2))
    return Query("update", 4, 5, rows, batch, commits, tells_waiting=True)


QUERIES = {
    "aggregation": Query(
        "update", 4, 5, aggregated, {"rocksdb": 0.62, "hdfs": 0.45}, counts_keys=True
    ),
    "join": Query("append", 0, 15, joined, {}, checked=False),
    "tws-pandas": in_python(tws_queries.in_pandas),
    "tws-rows": in_python(tws_queries.in_rows),
}


@dataclass(frozen=True)
class Batch:
    """Milliseconds of one batch, and of the commits of all its partitions and operators."""

    whole_ms: int
    commits_ms: int
    waited_ms: float
    """What the Python code waited for its state, if it tells; partitions added up."""
    answers: Answers | None


@dataclass(frozen=True)
class Run:
    """The batches of one process, and the most bytes of it that were in memory."""

    batches: list[Batch]
    resident: int


@dataclass(frozen=True)
class Result:
    """Milliseconds of one provider, and bytes of the largest of its processes."""

    provider: str
    partitions: int
    batch_ms: float
    commits_ms: float
    waited_ms: float
    restart_ms: float
    resident: int


@dataclass(frozen=True)
class Case:
    """A query and what it runs on."""

    query: str
    partitions: int
    heap: str = HEAP
    conf: tuple[str, ...] = ()
    check: bool = False

    def arguments(self) -> list[str]:
        """The command line of another process for it."""
        found = ["--query", self.query, "--partitions", str(self.partitions), "--heap", self.heap]
        found += [part for setting in self.conf for part in ("--conf", setting)]
        return [*found, "--check"] if self.check else found


def run(case: Case, provider: str, source: Path, checkpoint: Path, batches: int) -> Run:
    """Runs the query for so many batches in this process."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    import bucketstate

    query = QUERIES[case.query]
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", case.heap)
        .config("spark.sql.shuffle.partitions", str(case.partitions))
        .config("spark.ui.enabled", "false")
        .config("spark.jars", str(bucketstate.jar_path()))
        .config("spark.sql.extensions", "io.bucketstate.BucketstateExtensions")
    )
    # Workers are of this interpreter, and import what the queries are made of by name.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    for key, value in PROVIDERS[provider].items():
        builder = builder.config(STATE_STORE + key, value)
    for setting in case.conf:
        builder = builder.config(*setting.split("=", 1))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def read() -> DataFrame:
        schema = "key string, value double, at timestamp"
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
        return rows.parquet(str(source))

    rows = query.rows(read)
    if case.check:
        sums = [f.sum("n").alias("counted"), f.sum("sum").alias("summed")]
        rows = rows.observe("answers", f.count("*").alias("keys"), *sums)
    if query.tells_waiting:
        rows = rows.observe("waiting", f.sum("waited").alias("ns"))
    writer = rows.writeStream.outputMode(query.mode).format("noop")
    started = writer.option("checkpointLocation", str(checkpoint)).start()
    found: dict[int, Batch] = {}
    for progress in followed(started, provider, batches):
        commits = sum(operator.commitTimeMs for operator in progress.stateOperators)
        answers = None
        if case.check:
            state_rows = progress.stateOperators[0].numRowsTotal
            is_counted = PROVIDERS[provider].get("rocksdb.trackTotalNumberOfRows") != "false"
            state_keys = state_rows if query.counts_keys and is_counted else None
            seen = progress.observedMetrics["answers"].asDict()
            answers = Answers(state_keys=state_keys, **seen)
        waited = 0.0
        if query.tells_waiting:
            waited = progress.observedMetrics["waiting"]["ns"] / 1e6
        found[progress.batchId] = Batch(progress.batchDuration, commits, waited, answers)
    # In processing time there is always a batch that is cut off, of which Spark logs every part.
    spark.sparkContext.setLogLevel("OFF")
    started.stop()
    resident = status(process_of(spark), "VmHWM")
    spark.stop()
    return Run([found[batch] for batch in sorted(found)], resident)


def in_process(
    case: Case,
    provider: str,
    source: Path,
    checkpoint: Path,
    batches: int,
    timeout: float | None = 3600,
) -> Run:
    """The same in a process of its own, as after a restart, for so many seconds at most."""
    command = [sys.executable, __file__, *case.arguments()]
    command += ["--run", provider, str(source), str(checkpoint), str(batches)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=timeout)
    told = json.loads(done.stdout.splitlines()[-1])
    found = [
        Batch(**{**b, "answers": Answers(**b["answers"]) if b["answers"] else None})
        for b in told["batches"]
    ]
    return Run(found, told["resident"])


def check(provider: str, batches: list[Batch], expected: list[Answers]) -> None:
    """Raises if a batch gave something else than what its rows and those before them say."""
    for number, (batch, wanted) in enumerate(zip(batches, expected, strict=True)):
        if batch.answers is not None and not batch.answers.agree(wanted):
            raise RuntimeError(f"{provider}: batch {number} gave {batch.answers}, not {wanted}")


def measure(
    case: Case,
    provider: str,
    work: Path,
    expected: list[Answers],
    not_counted: int,
    restarts: int,
) -> Result:
    """All batches of the first run, then restarts of one batch each."""
    source, checkpoint = work / f"{provider}-in", work / f"{provider}-checkpoint"
    source.mkdir()
    every = sorted((work / "files").iterdir())
    first = len(every) - restarts
    for file in every[:first]:
        shutil.copy2(file, source)
    print(f"{provider}: {first} batches...", file=sys.stderr, flush=True)
    runs = [in_process(case, provider, source, checkpoint, first)]
    for file in every[first : first + restarts]:
        shutil.copy2(file, source)
        print(f"{provider}: restart {len(runs)}...", file=sys.stderr, flush=True)
        runs.append(in_process(case, provider, source, checkpoint, 1))
    check(provider, [batch for run in runs for batch in run.batches], expected)
    counted = runs[0].batches[not_counted:]
    return Result(
        provider,
        case.partitions,
        statistics.median(batch.whole_ms for batch in counted),
        statistics.median(batch.commits_ms for batch in counted),
        statistics.median(batch.waited_ms for batch in counted),
        statistics.median(run.batches[0].whole_ms for run in runs[1:]),
        max(run.resident for run in runs),
    )


def report(
    results: list[Result],
    wanted: dict[str, float],
    wanted_commits: dict[str, float],
    limit: int | None,
) -> str:
    """A table for people, with ratios to Spark's own providers."""
    lines = [
        "| provider | partitions | batch ms | sum of commits ms | waited for the state ms "
        "| first batch after a restart ms | resident MiB at most |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.provider} | {r.partitions} "
        f"| {r.batch_ms:.0f} | {r.commits_ms:.0f} | {_or_dash(r.waited_ms)} "
        f"| {r.restart_ms:.0f} | {r.resident >> 20} |"
        for r in results
    ]
    if limit is not None:
        lines += [
            f"\n{r.provider}: {r.resident >> 20} MiB of the process in memory at most "
            f"(wanted {limit}): {'yes' if r.resident >> 20 <= limit else 'no'}"
            for r in results
        ]
    by_name = {r.provider: r for r in results}
    ours = by_name.get("bucketed")
    for name, other in by_name.items():
        if ours and other is not ours:
            target = f" (wanted {wanted[name]})" if name in wanted else ""
            commits = f" (wanted {wanted_commits[name]})" if name in wanted_commits else ""
            waited = (
                f"waiting for the state {ours.waited_ms / other.waited_ms:.2f}, "
                if other.waited_ms
                else ""
            )
            lines.append(
                f"\nbucketed / {name}: batch {ours.batch_ms / other.batch_ms:.2f}{target}, "
                f"commits {ours.commits_ms / max(1, other.commits_ms):.2f}{commits}, {waited}"
                f"restart {ours.restart_ms / other.restart_ms:.2f} (wanted 1)"
            )
    return "\n".join(lines)


def _or_dash(ms: float) -> str:
    return f"{ms:.0f}" if ms else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", choices=QUERIES, default="aggregation")
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--providers", default=DEFAULT_PROVIDERS, help=", ".join(PROVIDERS))
    parser.add_argument("--heap", default=HEAP, help="of the one process, such as 4g")
    parser.add_argument("--preload-files", type=int, help="batches that bring all keys")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's"
    )
    parser.add_argument("--check", action="store_true", help="compare what each batch gives")
    parser.add_argument("--limit", type=int, help="MiB that the process is to stay below")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    query = QUERIES[options.query]
    if options.check and not query.checked:
        parser.error(f"--check does not know what --query {options.query} gives")
    if options.restarts < 1:
        parser.error("--restarts: at least 1")
    conf = tuple(options.conf)
    case = Case(options.query, options.partitions, options.heap, conf, options.check)
    preload = options.preload_files or query.preload_files
    if options.run:
        provider, source, checkpoint, batches = options.run
        found = run(case, provider, Path(source), Path(checkpoint), int(batches))
        print(json.dumps(asdict(found)))
        return
    with tempfile.TemporaryDirectory(prefix="bucketstate-end-to-end-") as folder:
        work = Path(folder)
        batches = query.warm_up + options.batches + options.restarts
        expected = write_input(work / "files", options.keys, options.rows, preload, batches)
        results = [
            measure(case, name, work, expected, preload + query.warm_up, options.restarts)
            for name in options.providers.split(",")
        ]
    # What is wanted is said of the default.
    is_default = case.partitions == PARTITIONS
    wanted, commits = (query.wanted, query.wanted_commits) if is_default else ({}, {})
    print(report(results, wanted, commits, options.limit))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
