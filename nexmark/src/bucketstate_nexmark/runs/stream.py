"""Starts a form on a session, and keeps what Spark says of its batches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bucketstate_nexmark.events.schema import spark_schema
from bucketstate_nexmark.runs.figures import Batch
from bucketstate_nexmark.runs.sink import into

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from bucketstate_nexmark.events.model import Model
    from bucketstate_nexmark.queries.form import Form
    from bucketstate_nexmark.runs.sink import SinkName

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    # Applies while batches without rows are the only ones that let the watermark end windows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # By itself Spark maintains stores each minute, and some runs take no longer.
    "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
}
"""What the queries need of a session, whatever it is otherwise."""


def read(spark: SparkSession, source: Path) -> DataFrame:
    """The events of a folder as a stream, a file with each batch."""
    rows = spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", 1)
    return rows.parquet(str(source))


def run(
    spark: SparkSession,
    form: Form,
    of: Model,
    source: Path,
    checkpoint: str,
    output: Path,
    sink: SinkName = "parquet",
) -> tuple[list[Batch], int]:
    """Runs a form over all files that are there, and stops.

    Returns what Spark said of its batches, those without rows among them, and the milliseconds from
    the query's start to the end of the first.

    Raises what Spark raises if a batch fails.
    """
    rows = form.rows(read(spark, source), of)
    writer = rows.writeStream.queryName(form.name).outputMode(form.mode)
    writer = into(writer, sink, output).option("checkpointLocation", checkpoint)
    began = time.time()
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    said = [progress for progress in query.recentProgress if progress.batchId >= 0]
    batches: dict[int, Batch] = {}
    first_ended = 0.0
    for progress in said:
        if progress.batchId not in batches:
            batches[progress.batchId] = _batch(progress)
            first_ended = first_ended or _ended(progress)
    return list(batches.values()), round((first_ended - began) * 1000)


def _batch(progress: StreamingQueryProgress) -> Batch:
    operators = progress.stateOperators
    return Batch(
        progress.batchId,
        progress.batchDuration,
        sum(operator.allUpdatesTimeMs for operator in operators),
        sum(operator.allRemovalsTimeMs for operator in operators),
        sum(operator.commitTimeMs for operator in operators),
        sum(operator.numRowsTotal for operator in operators),
        sum(operator.memoryUsedBytes for operator in operators),
    )


def _ended(progress: StreamingQueryProgress) -> float:
    """When a batch ended, in seconds since 1970: when it began, and how long it took."""
    from datetime import datetime

    begun = datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00"))
    return begun.timestamp() + progress.batchDuration / 1000
