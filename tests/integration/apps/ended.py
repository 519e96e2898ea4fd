"""A move whose JVM is killed when it is first told how far the move has come.

Arguments: a checkpoint of Spark's own, and where it is to be. Prints one line of JSON: the error.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from bucketstate import configure
from bucketstate.errors import StorageError
from bucketstate.move import plan
from tests.integration.apps.counting import builder_options

if TYPE_CHECKING:
    from bucketstate.move import Progress


def main() -> None:
    source, target = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]")
    for key, value in builder_options().items():
        builder = builder.config(key, value)
    spark = configure(builder).getOrCreate()
    gateway: Any = spark.sparkContext._gateway

    def kill(_: Progress) -> None:
        gateway.proc.kill()
        gateway.proc.wait()

    try:
        plan(spark, source, target, "import").run(progress=kill)
    except StorageError as error:
        print("ANSWER " + json.dumps({"said": str(error)}))


if __name__ == "__main__":
    main()
