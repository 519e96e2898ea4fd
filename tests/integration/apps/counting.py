"""What every application of the door tests does: count numbers by their last digit, twice over.

Prints one line of JSON: the counts and, per state operator, the custom metrics it reported.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from bucketstate.stateful import State
from bucketstate.testing.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Count:
    n: int = 0


@dataclass
class Counted:
    digit: int
    count: int


def counted(key: Any, rows: list[dict[str, Any]], state: State[Count]) -> Counted:
    """How many rows there were of a digit, as a typed function counts them."""
    state.value.n += len(rows)
    return Counted(key.digit, state.value.n)


def builder_options() -> dict[str, str]:
    return {**SETTINGS, "spark.log.level": "OFF"}


def count(spark: SparkSession, folder: Path) -> None:
    spark.range(100).repartition(2).write.parquet(str(folder / "input"))
    numbers = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    counts = numbers.parquet(str(folder / "input")).groupBy((F.col("id") % 10).alias("digit"))
    writer = counts.count().writeStream.outputMode("complete").format("memory").queryName("counts")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    progress = [json.loads(p.json) for p in query.recentProgress]
    answer = {
        "counts": {row.digit: row["count"] for row in spark.table("counts").collect()},
        "metrics": [list(o["customMetrics"]) for p in progress for o in p["stateOperators"]],
    }
    print("ANSWER " + json.dumps(answer))


def folder() -> Path:
    return Path(sys.argv[1])
