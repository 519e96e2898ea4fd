"""A state that is moved on executors of their own, of which one may be killed meanwhile.

Arguments: a folder, the master, and what happens: `nothing` or `killed`. Prints one line of JSON:
what each move says, how many executors were killed, and the sums that the query told afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from bucketstate.move import plan
from tests.integration.apps.clustered import executors, session
from tests.integration.apps.counting import folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bucketstate.move import Progress

KEYS = 200_000
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
OURS = "io.bucketstate.BucketedStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def batch_of(spark: SparkSession, number: int) -> None:
    """Input in which each key is there once."""
    rows = spark.range(KEYS).withColumn("value", F.lit(number + 1))
    rows.coalesce(2).write.parquet(str(folder() / "input" / str(number)))


def run(spark: SparkSession, checkpoint: str, provider: str) -> dict[str, int]:
    """The query to the end of its input: how many keys it told of, and the sum of what it said."""
    told = {"keys": 0, "sum": 0}

    def take(rows: DataFrame, _: int) -> None:
        found = rows.agg(F.count("*").alias("keys"), F.sum("total").alias("sum")).first()
        assert found is not None
        told.update(keys=found["keys"], sum=found["sum"] or 0)

    spark.conf.set(PROVIDER, provider)
    source = spark.readStream.schema("id long, value int").parquet(str(folder() / "input" / "*"))
    totals = source.groupBy("id").agg(F.sum("value").alias("total"))
    writer = totals.writeStream.outputMode("update").foreachBatch(take)
    writer = writer.trigger(availableNow=True).option("checkpointLocation", checkpoint)
    writer.start().awaitTermination()
    return told


def main() -> None:
    root, master, event = folder(), sys.argv[2], sys.argv[3]
    spark = session(master)
    killed: list[int] = []

    def disturb(progress: Progress) -> None:
        if event == "killed" and progress.step == "copy" and not killed:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    batch_of(spark, 0)
    run(spark, str(root / "source"), HDFS)
    reports: list[dict[str, Any]] = []
    for source, target, kind, partitions in (
        ("source", "moved", "import", 5),
        ("moved", "wider", "rewrite", 3),
    ):
        made = plan(spark, str(root / source), str(root / target), kind, partitions=partitions)  # type: ignore[arg-type]
        report = made.run(progress=disturb)
        reports.append({"keys": report.keys, "published": report.published})
    batch_of(spark, 1)
    told = run(spark, str(root / "wider"), OURS)
    print("ANSWER " + json.dumps({"reports": reports, "killed": len(killed), "told": told}))
    spark.stop()


if __name__ == "__main__":
    main()
