"""The driver: runs all queries until it is killed, or a file says that it may end.

Arguments: a folder, the master, JSON of settings, and the queries' names. What a query puts out
goes into a file of its own each time that Spark runs the batch; a query that fails is started again
from its checkpoint.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from bucketstate import configure
from tests.chaos.events import SIDES, SPARK_SCHEMA
from tests.chaos.queries import MODES, QUERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

STOP = "stop"
SAID, FAILED, CHECKPOINTS, INPUT = "said", "failed", "checkpoints", "input"


def checkpoints(root: Path, name: str) -> list[Path]:
    """Those of a query: the first one, and what each move has made of the one before."""
    folder = root / CHECKPOINTS / name
    folder.mkdir(parents=True, exist_ok=True)
    return sorted(folder.iterdir(), key=lambda found: int(found.name)) or [folder / "0"]


def start(spark: SparkSession, root: Path, name: str) -> StreamingQuery:
    def keep(batch: DataFrame, number: int) -> None:
        rows = [list(row) for row in batch.collect()]
        publish(root / SAID / name, {"batch": number, "rows": rows})

    def source(side: str) -> DataFrame:
        files = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1)
        return files.parquet(str(root / INPUT / side))

    answers = QUERIES[name](*(source(side) for side in SIDES))
    writer = answers.writeStream.queryName(name).outputMode(MODES[name]).foreachBatch(keep)
    return writer.option("checkpointLocation", str(checkpoints(root, name)[-1])).start()


def publish(folder: Path, content: object) -> None:
    """A new file, which is there when it is whole."""
    name = uuid.uuid4().hex
    hidden = folder / f".{name}"
    hidden.write_text(json.dumps(content))
    hidden.rename(folder / f"{name}.json")


def main() -> None:
    root, master, settings = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    queries = sys.argv[4:]
    builder = configure(SparkSession.builder.master(master).appName("chaos"))
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    running = {name: start(spark, root, name) for name in queries}
    while not (root / STOP).exists():
        time.sleep(0.1)
        for name, query in running.items():
            if not query.isActive:
                publish(root / FAILED, {"query": name, "error": str(query.exception())})
                running[name] = start(spark, root, name)
    for query in running.values():
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
