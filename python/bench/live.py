"""What it takes to look keys up in a running query's state from another process, and what it costs.

    PYTHONPATH=. .venv/bin/python python/bench/live.py [--keys 1000000] [--rows 20000]

A count by key runs in this process, a batch a second; `Live` runs in one of its own, which is told
when to ask. First as fast as it can: single keys, a hundred at once, keys that are not there. Then
at a pace, in turns with the query alone: what the query's batches take in the one and in the other
is compared pair by pair. Each answer is held against the newest batch that Spark's log had before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from process_figures import status

from bucketstate import Conf, Live, configure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

AT_ONCE, SECONDS = 100, 3.0


def main() -> None:
    options = parsed()
    if options.asked is not None:
        served(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder), options)
    print(json.dumps(figures, indent=2))
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000, help="of each batch")
    parser.add_argument("--cores", type=int, default=1, help="that the query has")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--turns", type=int, default=6, help="of both")
    parser.add_argument("--batches", type=int, default=8, help="of a turn")
    parser.add_argument("--pace", type=int, default=10_000, help="keys a second beside the query")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--asked", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    builder = SparkSessions.builder(options)
    spark = builder.getOrCreate()
    query = began(spark, folder, options)
    other = Asking(folder / "checkpoint", options)
    figures: dict[str, Any] = {"alone": other.told("alone")}
    ratios, own, beside, answers = [], [], [], []
    for turn in range(options.turns):
        # The one that begins changes with each turn.
        pair = {}
        for asks in (True, False) if turn % 2 else (False, True):
            if asks:
                other.begin()
            pair[asks] = batches(query, options.batches)
            if asks:
                answers.append(other.end())
        own.append(median(pair[False]))
        beside.append(median(pair[True]))
        ratios.append(beside[-1] / own[-1])
    query.stop()
    other.close()
    spark.stop()
    figures["beside"] = {
        "ms_of_a_batch_alone": round(median(own)),
        "ms_of_a_batch_beside": round(median(beside)),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "median_ratio": round(median(ratios), 3),
        "keys_a_second": round(median(a["keys_a_second"] for a in answers)),
        "batches_behind_at_most": max(a["behind"] for a in answers),
        "processor_of_asking": round(median(a["processor"] for a in answers), 2),
        "slowest_call_ms": round(max(a["slowest_ms"] for a in answers), 1),
    }
    return figures


class SparkSessions:
    """The session of the query."""

    @staticmethod
    def builder(options: argparse.Namespace) -> SparkSession.Builder:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[{options.cores}]")
        builder = builder.config("spark.sql.shuffle.partitions", options.partitions)
        builder = builder.config("spark.driver.memory", "3g").config("spark.ui.enabled", "false")
        return configure(builder, Conf(snapshot_max_versions=10))


def began(spark: SparkSession, folder: Path, options: argparse.Namespace) -> StreamingQuery:
    """A query whose first batch brings all keys, and each other one some of them, chosen anew."""
    from pyspark.sql import functions as F  # noqa: N812

    at = options.rows
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", at).load()
    batch = (F.col("value") / at).cast("long")
    spread = F.when(batch == 0, F.col("value")).otherwise(F.abs(F.xxhash64("value")) % options.keys)
    first = F.when(batch == 0, F.sequence(F.col("value"), F.lit(options.keys - 1), F.lit(at)))
    rows = rate.select(
        batch.alias("batch"), F.explode(F.coalesce(first, F.array(spread))).alias("n")
    )
    keyed = rows.select(F.concat(F.lit("key-"), "n").alias("key"), "batch")
    newest = keyed.groupBy("key").agg(F.max("batch").alias("batch"), F.count("*").alias("rows"))
    writer = newest.writeStream.outputMode("update").format("noop")
    writer = writer.trigger(processingTime="1 second")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    # Behind the first snapshot: before that all keys are in the changelog of the first batch.
    batches(query, 14)
    return query


def batches(query: StreamingQuery, count: int) -> list[int]:
    """Milliseconds that the next batches take."""
    first = (query.lastProgress or {"batchId": -1})["batchId"]
    took: dict[int, int] = {}
    while len(took) < count:
        time.sleep(0.1)
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
        for progress in query.recentProgress:
            # The one under way had begun before.
            if progress["batchId"] > first + 1 and progress["numInputRows"]:
                took[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
    return list(took.values())[:count]


class Asking:
    """The process that asks, told what to do by lines."""

    def __init__(self, checkpoint: Path, options: argparse.Namespace) -> None:
        command = [sys.executable, __file__, "--asked", str(checkpoint)]
        command += ["--keys", str(options.keys), "--pace", str(options.pace)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def told(self, what: str) -> dict[str, Any]:
        self._say(what)
        return self._heard()

    def begin(self) -> None:
        self._say("pace")

    def end(self) -> dict[str, Any]:
        return self.told("stop")

    def close(self) -> None:
        self._say("end")
        self._process.wait()

    def _say(self, what: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


def served(options: argparse.Namespace) -> None:
    """The other process."""
    from threading import Event, Thread

    with Live(options.asked, max_age=0.1) as live:
        stop, told = Event(), {}

        def ask() -> None:
            told.update(paced(live, options, stop.is_set))

        thread = Thread(target=ask)
        for line in sys.stdin:
            if line.strip() == "alone":
                say(alone(live, options.keys))
            elif line.strip() == "pace":
                stop.clear()
                thread = Thread(target=ask)
                thread.start()
            elif line.strip() == "stop":
                stop.set()
                thread.join()
                say(told)
            else:
                return


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def alone(live: Live, keys: int) -> dict[str, Any]:
    """As fast as it goes, while the query runs a batch a second beside it."""
    chance = random.Random(1)

    def some(count: int, name: str = "key") -> list[str]:
        return [f"{name}-{chance.randrange(keys)}" for _ in range(count)]

    live.get_many(some(5_000))
    ways: dict[str, Callable[[], int]] = {
        "get": lambda: answered(live.get(some(1)[0]).value is not None, 1),
        "get_of_what_is_not_there": lambda: answered(not live.get(some(1, "no")[0]), 1),
        f"get_many_of_{AT_ONCE}": lambda: answered(
            all(live.get_many(some(AT_ONCE)).values), AT_ONCE
        ),
        f"get_many_of_{AT_ONCE}_as_columns": lambda: answered(
            live.get_many(some(AT_ONCE)).to_arrow().num_rows == AT_ONCE, AT_ONCE
        ),
    }
    figures: dict[str, Any] = {}
    for name, ask in ways.items():
        began, worked, count, slowest = time.perf_counter(), time.process_time(), 0, 0.0
        first = live.version
        while (now := time.perf_counter()) - began < SECONDS:
            count += ask()
            slowest = max(slowest, time.perf_counter() - now)
        figures[name] = {
            "keys_a_second": round(count / (time.perf_counter() - began)),
            "processor_us_a_key": round(1e6 * (time.process_time() - worked) / count, 1),
            "slowest_call_ms": round(1000 * slowest, 1),
            "new_versions": live.version - first,
        }
    figures["memory_bytes"] = status(os.getpid(), "VmRSS")
    return figures


def answered(as_it_should: bool, count: int) -> int:
    assert as_it_should
    return count


def paced(live: Live, options: argparse.Namespace, stopped: Callable[[], bool]) -> dict[str, Any]:
    """So many keys a second, until it is told to stop."""
    chance = random.Random(2)
    began, worked, count, slowest, behind = time.perf_counter(), time.process_time(), 0, 0.0, 0
    commits = Path(options.asked) / "commits"
    while not stopped():
        now = time.perf_counter()
        newest = committed(commits) if count % (20 * AT_ONCE) == 0 else None
        answers = live.get_many([f"key-{chance.randrange(options.keys)}" for _ in range(AT_ONCE)])
        count += sum(value is not None for value in answers.values)
        slowest = max(slowest, time.perf_counter() - now)
        if newest is not None and answers.batch is not None:
            behind = max(behind, newest - answers.batch)
        ahead = count / options.pace - (time.perf_counter() - began)
        if ahead > 0:
            time.sleep(ahead)
    took = time.perf_counter() - began
    return {
        "keys_a_second": count / took,
        "processor": (time.process_time() - worked) / took,
        "slowest_ms": 1000 * slowest,
        "behind": behind,
    }


def committed(commits: Path) -> int:
    """The newest batch in Spark's log before the call."""
    return max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())


if __name__ == "__main__":
    main()
