"""What the rotations' function takes with many aircraft in a call of Python, and with one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from bucketstate.jar import minor_of
from flights import layout, rotations
from flights.data import SPARK_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 4
"""As much of the year as shows it; the first batch, which starts workers, does not count."""


def ways_of(spark: str) -> Mapping[str, bool]:
    """How a version of Spark can call Python: the words, and whether with many aircraft."""
    alone = {"for each aircraft": False}
    # The session extension has no function with many keys for Spark 4.0.
    return alone if minor_of(spark) == "4.0" else {**alone, "for many at once": True}


def ways_table(spark: SparkSession) -> Table | None:
    """The same query over the first files both ways, each from an empty checkpoint.

    None where Spark has one way alone.
    """
    ways = ways_of(spark.version)
    if len(ways) == 1:
        return None
    table = Table(
        title=f"Rotations, slices 2 to {FILES}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("Python is called")
    table.add_column("a batch", justify="right")
    table.add_column("an aircraft", justify="right")
    for name, many_keys in ways.items():
        millis, aircraft = _measure(spark, many_keys=many_keys)
        each = millis * 1000 / aircraft
        table.add_row(name, f"{millis / (FILES - 1):,.0f} ms", f"{each:,.0f} \u00b5s")
    return table


def _measure(spark: SparkSession, *, many_keys: bool) -> tuple[float, int]:
    """Milliseconds of all counted batches, and how many aircraft were called for in them."""
    with tempfile.TemporaryDirectory(prefix="flights-") as name:
        folder = Path(name)
        (folder / "input").mkdir()
        for file in sorted(layout.INPUT.glob("*.parquet"))[:FILES]:
            # With its time, by which Spark orders files.
            shutil.copy2(file, folder / "input" / file.name)
        source = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1)
        rows = rotations.query(source.parquet(str(folder / "input")), many_keys=many_keys)
        writer = rows.writeStream.format("noop").outputMode("update")
        query = (
            writer.option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        batches = [p for p in query.recentProgress if p["numInputRows"]][1:]
        millis = sum(p["durationMs"]["addBatch"] for p in batches)
        aircraft = sum(p["stateOperators"][0]["numRowsUpdated"] for p in batches)
        return millis, aircraft
