"""Which stores stay loaded of queries that were stopped?

A deduplication and an aggregation run beside each other in one JVM and are stopped and started
again, so often and so fast that some tasks are just about to open their stores. Spark's maintenance
unloads the stores of a query that has ended; what Spark's list of loaded stores still has a few
rounds of it after the last stop stays there until the process ends.

    .venv/bin/python python/bench/stopped_queries.py --provider rocksdb --restarts 60
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from end_to_end import PROVIDERS, STATE_STORE
from process_figures import jvm_of
from soak import last_batch, queries, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAINTENANCE_S = 2
ROUNDS = 5
"""Of maintenance, before what is left is counted."""


@dataclass(frozen=True)
class Left:
    provider: str
    restarts: int
    batches: int
    stores: int
    """That are loaded when all queries have ended."""


def loaded_stores(spark: SparkSession) -> int:
    """How many stores Spark's list has in the driver's process, private to Spark."""
    jvm = jvm_of(spark)
    name = "org.apache.spark.sql.execution.streaming.state.StateStore$"
    kind = jvm.java.lang.Class.forName(name)
    field = kind.getDeclaredField("loadedProviders")
    field.setAccessible(True)
    return int(field.get(kind.getField("MODULE$").get(None)).size())


def session(provider: str) -> SparkSession:
    from pyspark.sql import SparkSession

    from bucketstate import Conf, configure

    builder = configure(SparkSession.builder.master("local[2]"), Conf(num_buckets=32))
    for key, value in PROVIDERS[provider].items():
        builder = builder.config(STATE_STORE + key, value)
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.minBatchesToRetain": "10",
        STATE_STORE + "minDeltasForSnapshot": "5",
        STATE_STORE + "maintenanceInterval": f"{MAINTENANCE_S}s",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # A batch that a stop cuts off is no error, but Spark logs every part of it as one.
    spark.sparkContext.setLogLevel("OFF")
    return spark


def stopped(provider: str, restarts: int, life: float) -> Left:
    """What is left of so many lives of both queries, of so many seconds each."""
    spark = session(provider)
    batches = 0
    with tempfile.TemporaryDirectory(prefix="bucketstate-stopped-") as folder:
        for _ in range(restarts):
            running = [start(rows, name, Path(folder)) for name, rows in queries(spark).items()]
            time.sleep(life)
            for query in running:
                query.stop()
            batches = max(batches, sum(last_batch(query) + 1 for query in running))
        time.sleep(ROUNDS * MAINTENANCE_S)
        left = Left(provider, restarts, batches, loaded_stores(spark))
        spark.stop()
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", choices=PROVIDERS, default="bucketed")
    parser.add_argument("--restarts", type=int, default=60)
    parser.add_argument("--life", type=float, default=3.3, help="seconds between two restarts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    left = stopped(options.provider, options.restarts, options.life)
    print(
        f"{left.provider}: {left.stores} stores left of {left.restarts} restarts, "
        f"{left.batches} batches"
    )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"results": [asdict(left)]}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
