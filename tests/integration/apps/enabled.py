"""A session that runs without the jar: `configure` comes too late and says so; `enable` works.

It says what is missing for `transformWithState`, which cannot be had any more; on 4.1
nothing is.
"""

import warnings

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate import ExtensionMissingWarning, SessionError, configure, enable
from tests.integration.apps.counting import builder_options, count, folder
from tests.integration.following import FLAVOURS
from tests.kit.sparks import NEEDS_EXTENSION

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with pytest.raises(SessionError, match=r"bucketstate.enable\(spark\)"):
    configure(SparkSession.builder)
if NEEDS_EXTENSION:
    with pytest.warns(ExtensionMissingWarning, match=r"spark.sql.extensions is read only when"):
        enable(spark)
else:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtensionMissingWarning)
        enable(spark)
count(spark, folder())
for flavour in FLAVOURS.values():
    numbers = spark.readStream.schema("id long").parquet(str(folder() / "input"))
    rows = numbers.selectExpr(
        "timestamp_seconds(id) AS at", "string(id % 10) AS key", "id AS value"
    )
    writer = flavour(rows).writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", str(folder() / flavour.__name__)).start()
    if NEEDS_EXTENSION:
        with pytest.raises(StreamingQueryException, match="this session was made without"):
            query.awaitTermination()
    else:
        query.processAllAvailable()
        query.stop()
