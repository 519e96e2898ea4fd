"""Runs the query of `tests.integration.following` over all files, with a file of output each batch.

Argument: a folder. Whoever kills it may start it again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from bucketstate import configure
from tests.integration.apps.counting import builder_options, folder
from tests.integration.following import BEST, FLAVOURS
from tests.integration.streams import SCHEMA
from tests.kit.engine import CONF

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main() -> None:
    root = folder()
    builder = SparkSession.builder.master("local[2]")
    for key, value in builder_options().items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    spark = configure(builder.config("spark.sql.session.timeZone", "UTC"), CONF).getOrCreate()

    def keep(batch: DataFrame, number: int) -> None:
        rows = [list(row) for row in batch.collect()]
        half_written = root / f"{number}.part"
        half_written.write_text(json.dumps(rows))
        half_written.replace(root / "said" / f"{number:03d}.json")

    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = FLAVOURS[BEST](source.parquet(str(root / "input")))
    writer = rows.writeStream.outputMode("update").foreachBatch(keep).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(root / "checkpoint")).start()
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
