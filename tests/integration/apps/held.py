"""Counts keys batch by batch, with retention of two batches, from where its checkpoint is.

    held.py FOLDER BATCHES FORMAT

Each batch is a file of its own.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf, configure
from tests.kit.engine import engine

ROWS = 40
KEYS = 23


def main() -> None:
    root, batches, checkpoint_format = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    builder = SparkSession.builder.master("local[2]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint": "0",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": checkpoint_format,
        "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
        "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions": "4",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = configure(builder, Conf(num_buckets=8, engine=engine())).getOrCreate()
    source = root / "input"
    source.mkdir(exist_ok=True)
    there = len(list(source.glob("*.json")))
    rows = spark.readStream.schema("key long, batch long").json(str(source))
    counts = rows.groupBy("key").agg(F.count("*").alias("n"), F.max("batch").alias("last"))
    writer = counts.writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", str(root / "checkpoint")).start()
    for number in range(there, there + batches):
        lines = [json.dumps({"key": n * number % KEYS, "batch": number}) for n in range(ROWS)]
        (source / f".{number:03d}").write_text("\n".join(lines))
        (source / f".{number:03d}").rename(source / f"{number:03d}.json")
        query.processAllAvailable()
        # Maintenance gets its turn.
        time.sleep(0.15)
    time.sleep(1)
    query.stop()
    spark.stop()
    print("ANSWER {}")


if __name__ == "__main__":
    main()
