"""An application that reads on from where its checkpoint stands, on whatever Spark runs it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bucketstate import configure
from tests.integration.apps.counting import builder_options
from tests.kit.engine import CONF
from tests.kit.light import light
from tests.kit.sparks import HAS_ROWS

SCHEMA = "id long, key long, other long, at timestamp"
VISITS = "key bigint, n bigint, ids bigint, others bigint"
SNAPSHOTS = "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions"


class Visits(StatefulProcessor):
    """How often a key was there, and the ids by the others that it was there with."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n bigint")
        self.ids = handle.getListState("ids", "id bigint")
        self.others = handle.getMapState("others", "other bigint", "n bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002
        kept = self.count.get()
        n = kept[0] if kept else 0
        for row in self.rows_of(rows):
            n += 1
            self.ids.appendValue((row.id,))
            before = self.others.getValue((row.other,)) if self.others.exists() else None
            self.others.updateValue((row.other,), ((before[0] if before else 0) + 1,))
        self.count.update((n,))
        ids = sum(value[0] for value in self.ids.get())
        others = sum(n for (_, (n,)) in self.others.iterator())
        yield self.said({"key": key[0], "n": n, "ids": ids, "others": others})

    def rows_of(self, given: Any) -> Iterable[Any]:
        rows: Iterable[Any] = given
        return rows

    def said(self, row: dict[str, int]) -> Any:
        return Row(**row)

    def close(self) -> None:
        pass


class VisitsInPandas(Visits):
    """Takes and gives frames, which every PySpark 4 has."""

    def rows_of(self, given: Any) -> Iterable[Any]:
        return (
            Row(id=int(id_), other=int(other))
            for frame in given
            for id_, other in zip(frame["id"], frame["other"], strict=True)
        )

    def said(self, row: dict[str, int]) -> pd.DataFrame:
        return pd.DataFrame([row])


def queries(events: DataFrame) -> dict[str, DataFrame]:
    """By name; `events` is a stream."""
    right = events.select(F.col("other").alias("met"), F.col("at").alias("then"))
    right = right.withWatermark("then", "10 days")
    timed = events.withWatermark("at", "10 days")
    grouped = events.groupBy("key")
    found = {
        "counts": events.groupBy("key").count(),
        "windows": timed.groupBy(F.window("at", "1 hour").alias("w"), "key").count(),
        "joined": timed.join(right, F.expr("id = met")).select("id"),
        "seen": events.dropDuplicates(["id"]).select("id"),
        "visits_in_pandas": grouped.transformWithStateInPandas(
            VisitsInPandas(), VISITS, "Update", "None"
        ),
    }
    if HAS_ROWS:
        found["visits"] = grouped.transformWithState(Visits(), VISITS, "Update", "None")
    return found


def read_on(folder: Path, name: str, query: DataFrame) -> Callable[[], list[list[Any]]]:
    """Starts the query; what is returned waits for all that it says of files it had not read."""
    said: list[list[Any]] = []

    def take(batch: DataFrame, _: int) -> None:
        said.extend([value for value in row if isinstance(value, int)] for row in batch.collect())

    mode = "append" if name == "joined" else "update"
    started = (
        query.writeStream.outputMode(mode)
        .option("checkpointLocation", str(folder / name))
        .foreachBatch(take)
        .trigger(availableNow=True)
        .start()
    )

    def all_of_it() -> list[list[Any]]:
        started.awaitTermination()
        return said

    return all_of_it


def main(folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]")
    own = light(Path(tempfile.mkdtemp(dir=folder)) / "light")
    for key, value in {**builder_options(), SNAPSHOTS: "2", **own}.items():
        builder = builder.config(key, value)
    spark = configure(builder, CONF).getOrCreate()
    try:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        events = reader.json(str(folder / "events"))
        # Beside each other, because each waits for Python or for files half of its time.
        running = {n: read_on(folder, n, query) for n, query in queries(events).items()}
        said = {n: all_of_it() for n, all_of_it in running.items()}
        state = spark.read.format("statestore").load(str(folder / "counts"))
        stored = [list(row) for row in state.select("key.key", "value.count").collect()]
        print("ANSWER", json.dumps({"spark": spark.version, "said": said, "stored": stored}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
