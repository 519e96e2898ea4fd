"""What a group costs in `bucketstate.stateful`, beside the same logic by hand, on both operators.

    python python/bench/stateful_cost.py [--groups 20000] [--batches 5] [--history 200]
        [--json FILE]

Every contender runs its own query over the same files. The queries take turns batch by batch, in an
order that rotates, so that what else the machine does falls on all of them alike. Measured are the
time Spark spent in `addBatch`, and on Linux the processor time of the JVM and its Python workers,
which other work on the machine disturbs less; the memory of the state, and how much the
checkpoint's state grew. The first batch, which starts workers, does not count. The queries' outputs
are compared too, row for row.

Then one function with a list and a map of `--history` entries per key, which each batch adds one
entry to, runs on both operators, with a tenth of the groups.
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

BY_HAND = "applyInPandasWithState by hand"
ON_TWS = "transformWithState"

Query = Callable[[DataFrame], DataFrame]


def ours(fn: Any, operator: Any = "applyInPandasWithState", **options: Any) -> Query:
    return lambda df: stateful.apply(
        df, by="key", fn=fn, operator=operator, output_mode="update", **options
    )


def queries() -> dict[str, Query]:
    def by_hand(df: DataFrame) -> DataFrame:
        return df.groupBy("key").applyInPandasWithState(
            contenders.by_hand, contenders.OUTPUT, contenders.STATE, "update", "NoTimeout"
        )

    def rows_by_hand(df: DataFrame) -> DataFrame:
        return df.groupBy("key").transformWithState(
            contenders.ByHand(), contenders.OUTPUT, "update", "None"
        )

    def frames_by_hand(df: DataFrame) -> DataFrame:
        return df.groupBy("key").transformWithStateInPandas(
            contenders.FramesByHand(), contenders.OUTPUT, "update", "None"
        )

    return {
        BY_HAND: by_hand,
        "DataFrame in and out": ours(contenders.with_frames, output=contenders.OUTPUT),
        "DataFrame in, dataclass out": ours(contenders.with_dataclasses),
        "dataclasses in and out": ours(contenders.with_records),
        f"{ON_TWS} by hand": rows_by_hand,
        f"{ON_TWS}InPandas by hand": frames_by_hand,
        f"{ON_TWS}: DataFrame in and out": ours(
            contenders.with_frames, ON_TWS, output=contenders.OUTPUT
        ),
        f"{ON_TWS}: dataclasses in and out": ours(contenders.with_records, ON_TWS),
    }


def histories(length: int) -> dict[str, Query]:
    keeps = contenders.Keeps(length)
    return {
        f"a list and a map of {length}": ours(keeps),
        f"{ON_TWS}: the same function": ours(keeps, ON_TWS),
    }


class Contender:
    """One query, run one batch at a time."""

    def __init__(self, name: str, query: Callable[[DataFrame], DataFrame], folder: Path) -> None:
        self.name = name
        self.millis: list[int] = []
        self.cpu_millis: list[int] = []
        self.written: list[int] = []
        self.memory: list[int] = []
        self.output: set[tuple[Any, ...]] = set()
        self._query = query
        self._folder = folder / name.translate({ord(c): "_" for c in " ,:"})

    def run(self, spark: SparkSession, source: Path) -> None:
        rows = spark.readStream.schema("key long, amount double").parquet(str(source))
        writer = self._query(rows).writeStream.outputMode("update").foreachBatch(self._keep)
        writer = writer.option("checkpointLocation", str(self._folder)).trigger(availableNow=True)
        before, size = processor_time(), self._size()
        query: StreamingQuery = writer.start()
        query.awaitTermination()
        self.cpu_millis.append(spent_millis(before))
        progress = [json.loads(p.json) for p in query.recentProgress]
        self.millis.append(sum(p["durationMs"].get("addBatch", 0) for p in progress))
        self.written.append(self._size() - size)
        self.memory.append(progress[-1]["stateOperators"][0]["memoryUsedBytes"])

    def _size(self) -> int:
        """The bytes of the checkpoint's state."""
        return sum(f.stat().st_size for f in self._folder.glob("state/**/*") if f.is_file())

    def _keep(self, batch: DataFrame, _number: int) -> None:
        self.output = {tuple(row) for row in batch.collect()}


def processor_time() -> dict[int, int]:
    """What each of this process's descendants has used of the processors, in ticks; none but on
    Linux."""
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
    return {p: used[p] for p in mine if p in used}


def spent_millis(before: dict[int, int]) -> int:
    """What was used since then. Spark ends workers that were idle for a minute, and nobody waits
    for them: what is not there any more counts as nothing."""
    ticks = sum(used - before.get(pid, 0) for pid, used in processor_time().items())
    return ticks * 1000 // os.sysconf("SC_CLK_TCK")


def write_batch(folder: Path, number: int, groups: int, chance: random.Random) -> None:
    keys = [key for key in range(groups) for _ in range(chance.randrange(1, 11))]
    chance.shuffle(keys)
    amounts = [float(chance.randrange(1000)) for _ in keys]
    pq.write_table(pa.table({"key": keys, "amount": amounts}), folder / f"{number:03d}.parquet")


def measure(contestants: dict[str, Query], groups: int, batches: int) -> list[dict[str, Any]]:
    """What each contender's batches cost."""
    here = str(Path(__file__).parent)
    given = [p for p in [os.environ.get("PYTHONPATH")] if p and here not in p.split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join([*given, here])
    # Spark's serializer warns of what its own pd.concat will do one day, once per Arrow batch.
    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"
    chance = random.Random(11)
    sessions = local_session({"spark.log.level": "ERROR"})
    spark = next(sessions)
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as name:
        folder = Path(name)
        source = folder / "input"
        source.mkdir()
        entrants = [Contender(n, q, folder) for n, q in contestants.items()]
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
        {
            "name": e.name,
            "millis": e.millis[1:],
            "cpu_millis": e.cpu_millis[1:],
            "written_bytes": e.written[1:],
            "memory_bytes": e.memory[1:],
        }
        for e in entrants
    ]


def report(results: list[dict[str, Any]], groups: int) -> list[str]:
    """Medians; the ratios, to the first contender, are the medians of those batch by batch."""
    hand = results[0]
    lines = [
        f"{groups} groups of 1 to 10 rows per batch, {len(hand['millis'])} batches",
        "",
        f"{'':42}{'ms a batch':>12}{'ratio':>8}{'us a group':>12}{'ratio':>8}"
        f"{'B in memory':>12}{'B written':>12}",
        f"{'':42}{'':>20}{'(processor)':>12}{'':>8}{'a group':>12}{'a group':>12}",
    ]
    for result in results:
        middle = {k: statistics.median(v) for k, v in result.items() if k != "name"}
        ratios = [
            statistics.median(m / h for m, h in zip(result[k], hand[k], strict=True) if h)
            if any(hand[k])
            else float("nan")
            for k in ("millis", "cpu_millis")
        ]
        lines.append(
            f"{result['name']:42}{middle['millis']:12.0f}{ratios[0]:8.2f}"
            f"{middle['cpu_millis'] * 1000 / groups:12.0f}{ratios[1]:8.2f}"
            f"{middle['memory_bytes'] / groups:12.0f}{middle['written_bytes'] / groups:12.0f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--history", type=int, default=200, help="entries per key")
    parser.add_argument("--json", type=Path, help="where to write the batches' times")
    options = parser.parse_args()
    few = max(options.groups // 10, 1)
    made = []
    for contestants, groups in ((queries(), options.groups), (histories(options.history), few)):
        results = measure(contestants, groups, options.batches)
        print("\n".join([*report(results, groups), ""]))
        made.append({"groups": groups, "results": results})
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**made[0], "history": made[1]}, indent=1))


if __name__ == "__main__":
    main()
