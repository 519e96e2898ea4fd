"""Queries in an application with the plugin, whose pages a browser is to look at.

One is on bucketstate, with a partition that has more than the others, and one on Spark's own
provider. Prints the address of its web UI, and waits for a line before it ends.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from bucketstate import PLUGIN_CLASS, jar_path
from tests.integration.apps.counting import builder_options

BATCHES = 12
PARTITIONS = 12
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

folder = Path(sys.argv[1])
(folder / "logs").mkdir()
builder = SparkSession.builder.master("local[2]").config("spark.jars", str(jar_path()))
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = (
    builder.appName("rides")
    .config("spark.plugins", PLUGIN_CLASS)
    .config("spark.ui.enabled", "true")
    .config("spark.ui.port", "0")
    .config("spark.bucketstate.metrics.interval", "200")
    # Logs are read while it runs.
    .config("spark.bucketstate.ui.logInterval", "1000")
    .config("spark.sql.shuffle.partitions", str(PARTITIONS))
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", (folder / "logs").as_uri())
    .getOrCreate()
)


def started(name: str, rows: DataFrame) -> StreamingQuery:
    return (
        rows.writeStream.queryName(name)
        .outputMode("update")
        .format("noop")
        .trigger(processingTime="300 milliseconds")
        .option("checkpointLocation", str(folder / name))
        .start()
    )


def source(rows: int) -> DataFrame:
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).load()


ride = (F.col("value") % 150_000).alias("ride")
# Of the keys of all partitions but one a fifth.
in_one = F.pmod(F.hash("ride"), F.lit(PARTITIONS)) == PARTITIONS - 5
rides = source(20_000).select(ride).where(in_one | (F.col("ride") % 5 == 0))
ours = started("rides by <street>", rides.groupBy("ride").count())
spark.conf.set(PROVIDER, ROCKSDB)
theirs = started("elsewhere", source(100).dropDuplicates(["value"]))
until = time.monotonic() + 120
while time.monotonic() < until and not all(
    len(q.recentProgress) >= BATCHES for q in (ours, theirs)
):
    time.sleep(0.2)
time.sleep(1)
answer = {
    "web": spark.sparkContext.uiWebUrl,
    "application": spark.sparkContext.applicationId,
    "run": str(ours.runId),
    "other": str(theirs.runId),
}
print("ANSWER " + json.dumps(answer), flush=True)
sys.stdin.readline()
ours.stop()
theirs.stop()
spark.stop()
