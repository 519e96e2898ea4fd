"""An application with the jar of another minor version of Spark than the one it is started with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate import spark_settings
from tests.integration.apps.counting import builder_options


def main(jar: str, folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]")
    for key, value in {**builder_options(), **spark_settings(spark=jar)}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    rows = spark.readStream.format("rate").load().groupBy("value").count()
    try:
        query = (
            rows.writeStream.format("noop")
            .outputMode("update")
            .option("checkpointLocation", str(folder))
            .start()
        )
        query.awaitTermination(120)
        query.stop()
        print("ANSWER", json.dumps({"error": "none"}))
    except StreamingQueryException as error:
        print("ANSWER", json.dumps({"error": str(error)}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
