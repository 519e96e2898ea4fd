"""A client of Spark Connect, whose server has the provider.

It runs an aggregation, state variables, a function with many keys in a call and a ready-made one.

Prints one line of JSON: of each query the counts, the metrics and the plan; what `enable` said; and
the server's plugins.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate import EXTENSION_CLASS, Conf, SessionError, enable, spark_settings, stateful
from bucketstate.progress import Recorder
from tests.integration.apps.counting import builder_options, counted, folder
from tests.kit.sparks import NEEDS_EXTENSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame


class Counting(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        (before,) = self.count.get() or (0,)
        self.count.update((before + sum(len(frame) for frame in rows),))
        yield pd.DataFrame({"digit": [key[0]], "count": [self.count.get()[0]]})

    def close(self) -> None:
        pass


def run(spark: SparkSession, counts: DataFrame, name: str) -> dict[str, Any]:
    query = (
        counts.writeStream.outputMode("update" if name != "counts" else "complete")
        .format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder() / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    heard = len(query.recentProgress)
    for _ in range(100):
        # A listener of a client hears of a batch a moment after it is done.
        if len([p for p in recorder.progress if p["name"] == name]) >= heard:
            break
        time.sleep(0.1)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        query.explain()
    progress = query.recentProgress
    return {
        "counts": {row.digit: row["count"] for row in spark.table(name).orderBy("count").collect()},
        "metrics": [list(o["customMetrics"]) for p in progress for o in p["stateOperators"]],
        "plan": said.getvalue(),
        "recorded": [
            [p["batchId"], p["numInputRows"]] for p in recorder.progress if p["name"] == name
        ],
        "reported": [[p.batchId, p.numInputRows] for p in progress],
    }


builder = SparkSession.builder.remote("local[2]")
# A server that PySpark itself starts is a plugin, and PySpark lets it have no other. The extension,
# which our plugin would have added, is a setting.
settings = spark_settings(Conf(num_buckets=8))
settings["spark.sql.extensions"] = EXTENSION_CLASS
for key, value in (builder_options() | settings).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
recorder = Recorder()
spark.streams.addListener(recorder)
try:
    enable(spark)
    refused = ""
except SessionError as e:
    refused = str(e)
spark.range(100).repartition(2).write.parquet(str(folder() / "input"))
DAY = timedelta(days=1)
numbers = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
digits = numbers.parquet(str(folder() / "input")).select((F.col("id") % 10).alias("digit"))
timed = numbers.parquet(str(folder() / "input")).select(
    (F.col("id") % 10).alias("digit"), F.timestamp_seconds(F.col("id") + 1_700_000_000).alias("at")
)
by_digit = digits.groupBy("digit")
answer = {
    "refused": refused,
    "plugins": spark.conf.get("spark.plugins"),
    "counts": run(spark, by_digit.count(), "counts"),
    "variables": run(
        spark,
        by_digit.transformWithStateInPandas(Counting(), "digit long, count long", "update", "none"),
        "variables",
    ),
    "many": run(
        spark, stateful.apply(digits, by="digit", fn=counted, output_mode="update"), "many"
    ),
    "windows": run(
        spark,
        timed.withWatermark("at", "1 hour").transform(
            stateful.apply,
            by="digit",
            fn=stateful.windows("at", DAY, emit="changes", count=stateful.count()),
        ),
        "windows",
    ),
}
if NEEDS_EXTENSION:
    tws = stateful.apply(
        digits, by="digit", fn=counted, output_mode="update", operator="transformWithState"
    )
    answer["many variables"] = run(spark, tws, "many_variables")
spark.streams.removeListener(recorder)
answer["recorder"] = {"columns": sorted(recorder.to_pandas().columns)}
print("ANSWER " + json.dumps(answer))
