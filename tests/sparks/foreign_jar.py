"""An application with the jar of another minor version of Spark than the one it is started with."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate import spark_settings
from tests.integration.apps.counting import builder_options


def main(jar: str, folder: Path) -> None:
    log = folder.with_name("log")
    # What the JVM logs, which is started with this process's own files.
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    settings = {**builder_options(), **spark_settings(spark=jar), "spark.log.level": "ERROR"}
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
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
        answer = {"error": "none"}
    except StreamingQueryException as error:
        answer = {"error": str(error)}
    finally:
        spark.stop()
    lines = log.read_text(encoding="utf-8").splitlines()
    of_plugin = [line for line in lines if " DriverSide: " in line or "plugin" in line]
    print("ANSWER", json.dumps({**answer, "plugin": of_plugin}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
