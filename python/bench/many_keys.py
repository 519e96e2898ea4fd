"""What a key costs when a function gets many keys in a call, beside what it costs alone.

    python python/bench/many_keys.py [--keys 20000,200000] [--rounds 2] [--batches 3] [--json FILE]

Each contender runs a query of its own over the same files of one or two rows per key, one query
after the other, in an order that turns round with each round. Measured are the wall time of a batch
and, which other work on the machine disturbs less, the processor time of the JVM and of its Python
workers; both from where Spark hands the batch over, into a sink that throws it away. The first two
batches do not count. The ways that call Python once per key run with the smaller number of keys
alone: what they take per key does not fall.

The floor is what is left without a state: `mapInArrow` with the same arithmetic, behind the same
shuffle and sort.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (PySpark's own name)
from stateful_cost import processor_time, spent_millis

import contenders
from bucketstate import stateful
from bucketstate.testing.session import local_session

BY_HAND = "applyInPandasWithState by hand"
FLOOR = "mapInArrow, no state: the floor"
JVM = "groupBy().agg() in the JVM"
TYPED = "dataclasses"
FRAMES = "DataFrame in, dataclass out"
COLUMNS = "columns, with numpy"
ON_TWS = "dataclasses, on transformWithState"
READY = "stateful.reduce"
ALONE = ", one key a call"

_PARTITIONS = 2
_WARM_UP = 2
"""The batches of each query that do not count: the JVM is still compiling its way in them."""
_FIRST_MODIFIED = 1_700_000_000


@dataclass
class Contender:
    name: str
    query: Callable[[DataFrame], DataFrame]
    per_key: bool = False
    """Whether Python is called once per key."""
    per_batch: bool = False
    """Whether it is of a batch, because it has no state."""
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    output: dict[int, Any] = field(default_factory=dict)


def contestants() -> list[Contender]:
    def of(fn: Any, **options: Any) -> Callable[[DataFrame], DataFrame]:
        return lambda df: stateful.apply(df, by="key", fn=fn, output_mode="update", **options)

    tws: Any = {"operator": "transformWithState"}
    columns = stateful.define(contenders.Columns, output=contenders.OUTPUT)
    totals = stateful.reduce(
        count=stateful.count(), total=stateful.sum("amount"), largest=stateful.max("amount")
    )
    return [
        Contender(BY_HAND, _by_hand, per_key=True),
        Contender(FRAMES + ALONE, of(contenders.with_dataclasses, many_keys=False), per_key=True),
        Contender(TYPED + ALONE, of(contenders.with_records, many_keys=False), per_key=True),
        Contender(
            ON_TWS + ALONE, of(contenders.with_records, many_keys=False, **tws), per_key=True
        ),
        Contender(COLUMNS + ALONE, of(columns, many_keys=False), per_key=True),
        Contender(FRAMES, of(contenders.with_dataclasses), per_key=True),
        Contender(TYPED, of(contenders.with_records)),
        Contender(ON_TWS, of(contenders.with_records, **tws)),
        Contender(COLUMNS, of(columns)),
        Contender(READY, of(totals)),
        Contender(JVM, _in_the_jvm),
        Contender(FLOOR, _floor, per_batch=True),
    ]


def _by_hand(df: DataFrame) -> DataFrame:
    return df.groupBy("key").applyInPandasWithState(
        contenders.by_hand, contenders.OUTPUT, contenders.STATE, "update", "NoTimeout"
    )


def _in_the_jvm(df: DataFrame) -> DataFrame:
    return df.groupBy("key").agg(
        F.count("*").alias("count"),
        F.sum("amount").alias("total"),
        F.greatest(F.lit(0.0), F.max("amount")).alias("largest"),
    )


def _floor(df: DataFrame) -> DataFrame:
    rows = df.repartition(_PARTITIONS, "key").sortWithinPartitions("key")
    return rows.mapInArrow(contenders.stateless, contenders.OUTPUT)


def run(spark: SparkSession, contender: Contender, source: Path, *, check: bool) -> None:
    """All batches, from an empty checkpoint."""

    def sink(batch: DataFrame, number: int) -> None:
        rows = contender.query(batch) if contender.per_batch else batch
        if check:
            picked = rows.select("key", "count", "total", "largest")
            contender.output[number] = sorted(tuple(row) for row in picked.collect())
            return
        before, begun = processor_time(), time.perf_counter()
        rows.write.format("noop").mode("overwrite").save()
        wall = time.perf_counter() - begun
        if number >= _WARM_UP:
            contender.wall.append(wall * 1000)
            contender.processor.append(spent_millis(before))

    read = spark.readStream.schema("key long, amount double").option("maxFilesPerTrigger", 1)
    rows = read.parquet(str(source))
    made = rows if contender.per_batch else contender.query(rows)
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as folder:
        writer = made.writeStream.outputMode("append" if contender.per_batch else "update")
        writer = writer.foreachBatch(sink).option("checkpointLocation", folder)
        writer.trigger(availableNow=True).start().awaitTermination()


def write_batches(folder: Path, keys: int, batches: int) -> None:
    chance = random.Random(11)
    for number in range(batches):
        every = [key for key in range(keys) for _ in range(chance.randint(1, 2))]
        chance.shuffle(every)
        amounts = [float(chance.randrange(1000)) for _ in every]
        file = folder / f"{number:03d}.parquet"
        pq.write_table(pa.table({"key": every, "amount": amounts}), file)
        os.utime(file, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))


def measure(
    spark: SparkSession, entrants: list[Contender], keys: int, rounds: int, batches: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as name:
        source = Path(name)
        write_batches(source, keys, batches + _WARM_UP)
        for number in range(rounds):
            order = entrants[number % len(entrants) :] + entrants[: number % len(entrants)]
            for contender in order[:: -1 if number % 2 else 1]:
                run(spark, contender, source, check=False)
                print(
                    f"round {number + 1}, {keys} keys, {contender.name}: "
                    f"{contender.processor[-1] * 1000 / keys:.1f} us",
                    file=sys.stderr,
                )


def check(spark: SparkSession) -> None:
    """Exits where the contenders answer otherwise."""
    entrants = contestants()
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as name:
        write_batches(Path(name), 500, 3)
        for contender in entrants:
            run(spark, contender, Path(name), check=True)
    stateful_ones = [c for c in entrants if not c.per_batch]
    for contender in stateful_ones:
        if contender.output != stateful_ones[0].output:
            raise SystemExit(f"{contender.name} answers otherwise than {stateful_ones[0].name}.")


def report(entrants: list[Contender], keys: int) -> list[str]:
    by_name = {c.name: statistics.median(c.processor) for c in entrants}
    lines = [
        f"{keys:,} keys of 1 or 2 rows in a batch, {_PARTITIONS} partitions",
        "",
        f"{'':50}{'wall, ms':>10}{'processor, us a key':>21}{'of by hand':>12}{'of the floor':>14}",
    ]
    for c in entrants:
        spent = by_name[c.name]
        ratios = [spent / by_name[n] if n in by_name else None for n in (BY_HAND, FLOOR)]
        shown = "".join(
            f"{'-' if ratio is None else f'{ratio:.3f}':>{width}}"
            for ratio, width in zip(ratios, (12, 14), strict=True)
        )
        lines.append(
            f"{c.name:50}{statistics.median(c.wall):10.0f}{spent * 1000 / keys:21.1f}{shown}"
        )
    return [*lines, ""]


def targets(few: dict[str, float], many: dict[str, float]) -> list[tuple[str, float, float]]:
    """What was aimed at, as ratios of processor time: what, measured, allowed."""
    return [
        ("many keys: columns, of the floor", many[COLUMNS] / many[FLOOR], 2.0),
        ("many keys: columns, of groupBy().agg()", many[COLUMNS] / many[JVM], 1.75),
        ("many keys: dataclasses, of the floor", many[TYPED] / many[FLOOR], 8.0),
        ("few keys: dataclasses, of one key a call", few[TYPED] / few[TYPED + ALONE], 1 / 12),
        (
            "few keys: dataclasses on transformWithState, of one key a call",
            few[ON_TWS] / few[ON_TWS + ALONE],
            1 / 6,
        ),
        ("few keys: DataFrame in, of one key a call", few[FRAMES] / few[FRAMES + ALONE], 1 / 5),
        ("few keys: columns, of by hand", few[COLUMNS] / few[BY_HAND], 1 / 40),
        ("few keys: columns, one key a call, of by hand", few[COLUMNS + ALONE] / few[BY_HAND], 1.6),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--keys", default="20000,200000", help="the smaller and the larger number")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batches", type=int, default=3, help="that count, in each round")
    parser.add_argument("--json", type=Path, help="where to write the times")
    options = parser.parse_args()
    numbers = [int(n) for n in options.keys.split(",")]
    here = str(Path(__file__).parent)
    given = [p for p in [os.environ.get("PYTHONPATH")] if p and here not in p.split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join([*given, here])
    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning"
    sessions = local_session(
        {
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": str(_PARTITIONS),
            # As users' JVMs run, with both compilers: tests leave the second one out.
            "spark.driver.extraJavaOptions": "-Xss4m",
        }
    )
    spark = next(sessions)
    check(spark)
    made = []
    for keys in numbers:
        entrants = [c for c in contestants() if keys == numbers[0] or not c.per_key]
        measure(spark, entrants, keys, options.rounds, options.batches)
        print("\n".join(report(entrants, keys)))
        made.append((keys, entrants))
    next(sessions, None)
    few, many = ({c.name: statistics.median(c.processor) for c in e} for _, e in made)
    found = targets(few, many)
    for what, measured, allowed in found:
        print(
            f"{what:64}{measured:8.3f}  <= {allowed:.3f}  {'yes' if measured <= allowed else 'no'}"
        )
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        results = [
            {
                "keys": k,
                "results": [
                    {"name": c.name, "wall_millis": c.wall, "processor_millis": c.processor}
                    for c in e
                ],
            }
            for k, e in made
        ]
        aims = [{"what": w, "measured": m, "allowed": a} for w, m, a in found]
        options.json.write_text(json.dumps({"runs": results, "targets": aims}, indent=1))


if __name__ == "__main__":
    main()
