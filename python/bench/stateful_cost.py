"""What a group costs in `bucketstate.stateful`, beside the same logic by hand.

    python python/bench/stateful_cost.py [--groups 20000] [--batches 5] [--json FILE]

Every contender runs its own query over the same files. The queries take turns batch by batch, in an
order that rotates, so that what else the machine does falls on all of them alike. Measured are the
time Spark spent in `addBatch`, and on Linux the processor time of the JVM and its Python workers,
which other work on the machine disturbs less. The first batch, which starts workers, does not
count. The queries' outputs are compared too, row for row.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import contenders
from bucketstate import stateful
from bucketstate.testing.session import local_session

BY_HAND = "by hand"


def queries() -> dict[str, Callable[[DataFrame], DataFrame]]:
    def ours(fn: Any, **options: Any) -> Callable[[DataFrame], DataFrame]:
        return lambda df: stateful.apply(df, by="key", fn=fn, output_mode="update", **options)

    def by_hand(df: DataFrame) -> DataFrame:
        return df.groupBy("key").applyInPandasWithState(
            contenders.by_hand, contenders.OUTPUT, contenders.STATE, "update", "NoTimeout"
        )

    return {
        BY_HAND: by_hand,
        "DataFrame in and out": ours(contenders.with_frames, output=contenders.OUTPUT),
        "DataFrame in, dataclass out": ours(contenders.with_dataclasses),
        "dataclasses in and out": ours(contenders.with_records),
    }


class Contender:
    """One query, run one batch at a time."""

    def __init__(self, name: str, query: Callable[[DataFrame], DataFrame], folder: Path) -> None:
        self.name = name
        self.millis: list[int] = []
        self.cpu_millis: list[int] = []
        self.output: set[tuple[Any, ...]] = set()
        self._query = query
        self._folder = folder / name.replace(" ", "_").replace(",", "")

    def run(self, spark: SparkSession, source: Path) -> None:
        rows = spark.readStream.schema("key long, amount double").parquet(str(source))
        writer = self._query(rows).writeStream.outputMode("update").foreachBatch(self._keep)
        writer = writer.option("checkpointLocation", str(self._folder)).trigger(availableNow=True)
        before = processor_millis()
        query: StreamingQuery = writer.start()
        query.awaitTermination()
        self.cpu_millis.append(processor_millis() - before)
        progress = [json.loads(p.json) for p in query.recentProgress]
        self.millis.append(sum(p["durationMs"].get("addBatch", 0) for p in progress))

    def _keep(self, batch: DataFrame, _number: int) -> None:
        self.output = {tuple(row) for row in batch.collect()}


def processor_millis() -> int:
    """What this process's descendants have used of the processors so far; 0 but on Linux."""
    tick = os.sysconf("SC_CLK_TCK")
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may hold blanks.
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        # Its own time, and that of the children it has waited for.
        used[pid] = sum(int(f) for f in fields[11:15])
    mine = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(used[p] for p in mine if p in used) * 1000 // tick


def write_batch(folder: Path, number: int, groups: int, chance: random.Random) -> None:
    keys = [key for key in range(groups) for _ in range(chance.randrange(1, 11))]
    chance.shuffle(keys)
    amounts = [float(chance.randrange(1000)) for _ in keys]
    pq.write_table(pa.table({"key": keys, "amount": amounts}), folder / f"{number:03d}.parquet")


def measure(groups: int, batches: int) -> list[dict[str, Any]]:
    """The batches' times of each contender, in milliseconds."""
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    # Spark's serializer warns of what its own pd.concat will do one day, once per Arrow batch.
    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"
    chance = random.Random(11)
    sessions = local_session({"spark.log.level": "ERROR"})
    spark = next(sessions)
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as name:
        folder = Path(name)
        source = folder / "input"
        source.mkdir()
        entrants = [Contender(n, q, folder) for n, q in queries().items()]
        for number in range(batches + 1):
            write_batch(source, number, groups, chance)
            for turn in range(len(entrants)):
                entrants[(number + turn) % len(entrants)].run(spark, source)
            if any(e.output != entrants[0].output for e in entrants):
                raise SystemExit(f"The contenders' outputs of batch {number} differ.")
            print(
                f"batch {number} of {batches}", *(e.millis[-1] for e in entrants), file=sys.stderr
            )
    next(sessions, None)
    return [
        {"name": e.name, "millis": e.millis[1:], "cpu_millis": e.cpu_millis[1:]} for e in entrants
    ]


def report(results: list[dict[str, Any]], groups: int) -> list[str]:
    """Medians; `of by hand` is the median of the ratios batch by batch."""
    hand = next(r for r in results if r["name"] == BY_HAND)
    lines = [
        f"{groups} groups of 1 to 10 rows per batch, {len(hand['millis'])} batches",
        "",
        f"{'':30}{'ms a batch':>12}{'of by hand':>12}"
        f"{'cpu ms':>10}{'us a group':>12}{'of by hand':>12}",
    ]
    for result in results:
        wall = statistics.median(result["millis"])
        cpu = statistics.median(result["cpu_millis"])
        ratios = [
            statistics.median(m / h for m, h in zip(result[k], hand[k], strict=True) if h)
            if any(hand[k])
            else float("nan")
            for k in ("millis", "cpu_millis")
        ]
        lines.append(
            f"{result['name']:30}{wall:12.0f}{ratios[0]:12.2f}{cpu:10.0f}"
            f"{cpu * 1000 / groups:12.0f}{ratios[1]:12.2f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the batches' times")
    options = parser.parse_args()
    results = measure(options.groups, options.batches)
    print("\n".join(report(results, options.groups)))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps({"groups": options.groups, "results": results}, indent=1)
        )


if __name__ == "__main__":
    main()
