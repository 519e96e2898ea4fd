"""A session that runs without the jar: `configure` comes too late and says so; `enable` works.

It says what is missing and cannot be had any more: the plugin, and from 4.2 on what
`transformWithState` needs. Queries may be started in another thread than the one that called it.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate import (
    ExtensionMissingWarning,
    PluginMissingWarning,
    SessionError,
    configure,
    enable,
)
from tests.integration.apps.counting import builder_options, count, folder
from tests.integration.following import FLAVOURS
from tests.kit.sparks import HAS_ROWS, NEEDS_EXTENSION

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with pytest.raises(SessionError, match=r"bucketstate.enable\(spark\)"):
    configure(SparkSession.builder)
warning = ExtensionMissingWarning if NEEDS_EXTENSION else PluginMissingWarning
with pytest.warns(warning) as caught:
    enable(spark)
(said,) = [str(one.message) for one in caught]
assert ("spark.sql.extensions is read only when" in said) == NEEDS_EXTENSION
for missing in ("no metrics of its state stores", "no tab State", "no warm-up"):
    assert missing in said
assert "--conf spark.plugins=io.bucketstate.BucketstatePlugin" in said
if NEEDS_EXTENSION:
    assert said.endswith("Other queries run.")
elif HAS_ROWS:
    assert said.endswith('All queries run but stateful.apply(operator="transformWithState").')
else:
    assert said.endswith("All queries run.")
with ThreadPoolExecutor(1) as threads:
    threads.submit(count, spark, folder()).result()
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
