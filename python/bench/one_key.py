"""How long it takes to look one key up in the checkpoint of a query with ten million.

PYTHONPATH=. .venv/bin/python python/bench/one_key.py [KEYS]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf, configure
from bucketstate.checkpoint import Checkpoint

KEYS, BATCHES, UPDATES, ROUNDS = 10_000_000, 4, 20_000, 50


def write(folder: Path, keys: int) -> None:
    """A count by key: batches that bring new keys, a snapshot of them, batches of updates."""
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "5g")
    builder = builder.config("spark.sql.shuffle.partitions", 2)
    snapshots = Conf(snapshot_mode="sync", snapshot_max_versions=BATCHES, snapshot_max_bytes="1g")
    spark = configure(builder, snapshots).getOrCreate()
    each = keys // BATCHES
    for batch in range(2 * BATCHES - 1):
        first, count = (batch * each, each) if batch < BATCHES else (0, UPDATES)
        rows = spark.range(first, first + count).select(F.concat(F.lit("key-"), "id").alias("key"))
        rows.coalesce(1).write.mode("append").parquet(str(folder / "rows"))
    stream = spark.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    counts = stream.parquet(str(folder / "rows")).groupBy("key").count()
    writer = counts.writeStream.outputMode("update").format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    spark.stop()


def look_up(folder: Path, keys: int) -> None:
    checkpoint = Checkpoint(folder / "checkpoint")
    for store in checkpoint.overview().operators[0].stores:
        read = f"manifest {store.manifest_version} and {store.changelogs} changelogs"
        print(f"partition {store.partition}: {store.keys:,} keys, {store.bytes:,} bytes, {read}")
    chance = random.Random(1)

    def opened(key: str) -> object:
        return Checkpoint(checkpoint.location).scan().get(key)

    ways: dict[str, Callable[[str], object]] = {
        "a checkpoint that was just opened": opened,
        "one that stays open": checkpoint.scan().get,
        "its history": lambda key: checkpoint.scan("history", key=key).to_arrow(),
    }
    for way, ask in ways.items():
        for of in ("there", "missing"):
            took, worked = [], []
            for _ in range(ROUNDS):
                key = f"key-{chance.randrange(keys)}" if of == "there" else f"no-{chance.random()}"
                start, before = time.perf_counter(), time.process_time()
                found = ask(key)
                took.append(1000 * (time.perf_counter() - start))
                worked.append(1000 * (time.process_time() - before))
                assert way == "its history" or (found is None) == (of == "missing")
            of_processor = f"{median(worked):.1f} ms of a processor's time"
            print(f"{way}, {of}: median {median(took):.1f} ms, {of_processor}")


def main() -> None:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else KEYS
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), keys)
        look_up(Path(folder), keys)


if __name__ == "__main__":
    main()
