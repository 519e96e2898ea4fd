"""What it takes to move a state: time and memory of the process, beside Spark's own repartition.

    python python/bench/moving.py [--keys 10000000] [--heap 700m] [--json FILE]

An aggregation of so many keys is run once on each provider, in 4 partitions. Then each checkpoint
is moved in a process of its own, with a small heap and two cores; Spark's own repartition of the
RocksDB one stands beside. A tenth of the keys is moved, too: memory should not follow the state,
so the heap is taken whole at the start. Linux alone tells what a process has taken.

Then a clone by hard links of what this provider made, and, after one batch more, its rewind; both
without a JVM. At last many small stores, which cost by their number: an aggregation in 200
partitions, and a join whose four stores have 50 each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.move import clone, plan, rewind
from bucketstate.testing.session import local_session

_SPARKS = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "rocksdb": f"{_SPARKS}RocksDBStateStoreProvider",
    "hdfs": f"{_SPARKS}HDFSBackedStateStoreProvider",
    "bucketstate": "io.bucketstate.BucketedStateStoreProvider",
}
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PARTITIONS = "spark.sql.shuffle.partitions"
_FROM, _TO = 4, 8


_SMALL_STORES, _SMALL_KEYS, _SMALL_TO = 200, 20_000, 150


def make(spark: SparkSession, folder: Path, provider: str, keys: int) -> None:
    """A checkpoint of one batch with so many keys."""
    source = folder / "input"
    if not source.exists():
        text = spark.range(keys).selectExpr("concat('customer-', id) as user", "id % 97 as amount")
        text.repartition(_FROM).write.parquet(str(source))
    _count(spark, source, provider, folder / provider)


def _count(spark: SparkSession, source: Path, provider: str, checkpoint: Path) -> None:
    """Takes what the source has, in a batch."""
    spark.conf.set(_PROVIDER, PROVIDERS[provider])
    spark.conf.set(_PARTITIONS, str(_FROM))
    frame = (
        spark.readStream.schema("user string, amount long")
        .parquet(str(source))
        .groupBy("user")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("s"), F.max("amount").alias("m"))
    )
    frame.writeStream.outputMode("update").format("noop").option(
        "checkpointLocation", str(checkpoint)
    ).trigger(availableNow=True).start().awaitTermination()


def _import(spark: SparkSession, folder: Path, provider: str) -> int:
    target = folder / f"moved-{provider}"
    made = plan(spark, str(folder / provider), str(target), "import", partitions=_TO)
    return made.run().keys


def _rewrite(spark: SparkSession, folder: Path) -> int:
    made = plan(
        spark, str(folder / "bucketstate"), str(folder / "rewritten"), "rewrite", partitions=_TO
    )
    return made.run().keys


def _export(spark: SparkSession, folder: Path, to: str) -> int:
    made = plan(
        spark,
        str(folder / "bucketstate"),
        str(folder / f"exported-{to}"),
        "export",
        to=to,  # type: ignore[arg-type]
        partitions=_TO,
    )
    return made.run().keys


def _spark_repartition(spark: SparkSession, folder: Path) -> int:
    copied = folder / "repartitioned"
    shutil.copytree(folder / "rocksdb", copied)
    spark.conf.set(_PROVIDER, PROVIDERS["rocksdb"])
    began = time.monotonic()
    spark._streamingCheckpointManager.repartition(str(copied), _TO)
    print(json.dumps({"own_seconds": time.monotonic() - began}), flush=True)
    return 0


CASES: Mapping[str, Callable[[SparkSession, Path], int]] = {
    "rocksdb to bucketstate": lambda s, f: _import(s, f, "rocksdb"),
    "hdfs to bucketstate": lambda s, f: _import(s, f, "hdfs"),
    "bucketstate to bucketstate": _rewrite,
    "bucketstate to rocksdb": lambda s, f: _export(s, f, "rocksdb"),
    "bucketstate to hdfs": lambda s, f: _export(s, f, "hdfs"),
    "rocksdb to rocksdb, Spark's own repartition": _spark_repartition,
}


def settings(heap: str, *, touched: bool) -> dict[str, str]:
    """A session's, whose heap is there from the start, or grows."""
    java = f"-Xss4m -Xms{heap} -XX:+AlwaysPreTouch" if touched else "-Xss4m"
    return {"spark.driver.memory": heap, "spark.driver.extraJavaOptions": java}


def run_case(case: str, folder: Path, heap: str) -> None:
    """In a process of its own: tells how long it took, and the most memory that the JVM has had."""
    for spark in local_session(settings(heap, touched=True)):
        spark.streams.active  # noqa: B018 - Spark's own repartition needs what this makes
        began = time.monotonic()
        keys = CASES[case](spark, folder)
        seconds = time.monotonic() - began
        jvm = spark._jvm
        assert jvm is not None
        pid = jvm.java.lang.ProcessHandle.current().pid()
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        print(json.dumps({"keys": keys, "seconds": seconds, "peak_mb": peak >> 10}), flush=True)


def measure(folder: Path, keys: int, heap: str) -> list[dict[str, Any]]:
    # The provider of HDFS holds all of it in memory, in two versions.
    for spark in local_session(settings("12g", touched=False)):
        for provider in PROVIDERS:
            print(f"making {keys} keys with {provider}", file=sys.stderr, flush=True)
            make(spark, folder, provider, keys)
    found = []
    for case in CASES:
        words = [sys.executable, __file__, "--case", case, "--folder", str(folder), "--heap", heap]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        told: dict[str, Any] = {"case": case, "keys_of_state": keys}
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                told |= json.loads(line)
        told["seconds"] = told.pop("own_seconds", told["seconds"])
        found.append(told)
        print(
            f"{case:45} {told['seconds']:8.1f} s {keys / told['seconds']:10,.0f} keys/s "
            f"{told['peak_mb']:6} MB",
            flush=True,
        )
    return found + measure_copies(folder, keys)


def measure_copies(folder: Path, keys: int) -> list[dict[str, Any]]:
    """A clone of this provider's checkpoint, and a rewind of the clone by one batch."""
    cloned = folder / "cloned"
    found = []

    def timed(case: str, call: Callable[[], object]) -> None:
        began = time.monotonic()
        call()
        seconds = time.monotonic() - began
        found.append({"case": case, "keys_of_state": keys, "seconds": seconds})
        print(f"{case:45} {seconds:8.2f} s", flush=True)

    timed("clone by hard links", lambda: clone(folder / "bucketstate", cloned, how="link"))
    for spark in local_session(settings("4g", touched=False)):
        more = spark.range(1000).selectExpr("concat('new-', id) as user", "id as amount")
        more.coalesce(1).write.mode("append").parquet(str(folder / "input"))
        _count(spark, folder / "input", "bucketstate", cloned)
    timed("rewind by a batch", lambda: rewind(cloned, 0, stopped=True))
    return found


def make_small(spark: SparkSession, folder: Path, provider: str) -> None:
    """Checkpoints of 200 small stores each, of two batches."""
    source = folder / "input"
    rows = spark.range(_SMALL_KEYS).selectExpr("id", "id % 7 as n", "timestamp_seconds(id) as at")
    spark.conf.set(_PROVIDER, PROVIDERS[provider])
    for _ in range(2):
        rows.coalesce(1).write.mode("append").parquet(str(source))
        for name in ("counts", "joined"):
            stream = spark.readStream.schema("id long, n long, at timestamp").parquet(str(source))
            timed = stream.withWatermark("at", "1 day")
            counts = stream.groupBy("id").agg(F.sum("n"))
            other = stream.select(F.col("id").alias("other"), F.col("at").alias("then"))
            right = other.withWatermark("then", "1 day")
            joined = timed.join(right, F.expr("id = other and at = then"))
            spark.conf.set(_PARTITIONS, str(_SMALL_STORES if name == "counts" else 50))
            query = counts if name == "counts" else joined
            writer = query.writeStream.outputMode("update" if name == "counts" else "append")
            writer = writer.format("noop").trigger(availableNow=True)
            checkpoint = str(folder / name / provider)
            writer.option("checkpointLocation", checkpoint).start().awaitTermination()


def measure_small(folder: Path) -> list[dict[str, Any]]:
    found = []
    # A process has one JVM: its heap is that of the first session, which is no matter here.
    for spark in local_session(settings("1g", touched=False)):
        for provider in PROVIDERS:
            print(f"making small stores with {provider}", file=sys.stderr, flush=True)
            make_small(spark, folder / provider, provider)
        for provider in PROVIDERS:
            for name in ("counts", "joined"):
                source = folder / provider / name / provider
                kind: Any = "rewrite" if provider == "bucketstate" else "import"
                target = folder / f"moved-{name}-{provider}"
                to = _SMALL_TO if name == "counts" else 30
                began = time.monotonic()
                report = plan(spark, str(source), str(target), kind, partitions=to).run()
                seconds = time.monotonic() - began
                case = f"{_SMALL_STORES} small stores of {provider}: {name}"
                found.append({"case": case, "keys_of_state": report.keys, "seconds": seconds})
                print(f"{case:45} {seconds:8.1f} s {report.keys:10,} keys", flush=True)
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--keys", type=int, default=10_000_000)
    asked.add_argument("--heap", default="700m")
    asked.add_argument("--json", type=Path)
    asked.add_argument("--case", help=argparse.SUPPRESS)
    asked.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked.add_argument("--small-only", action="store_true", help="the small stores alone")
    options = asked.parse_args()
    if options.case:
        run_case(options.case, options.folder, options.heap)
        return
    found = []
    for keys in () if options.small_only else (options.keys // 10, options.keys):
        with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as place:
            found += measure(Path(place), keys, options.heap)
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as place:
        found += measure_small(Path(place))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
