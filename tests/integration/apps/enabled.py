"""A session that runs without the jar: `configure` comes too late and says so; `enable` works.

It says what is missing for `transformWithState`, which cannot be had any more.
"""

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate import ExtensionMissingWarning, SessionError, configure, enable
from tests.integration.apps.counting import builder_options, count, folder
from tests.integration.following import FLAVOURS
from tests.integration.streams import SCHEMA

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with pytest.raises(SessionError, match=r"bucketstate.enable\(spark\)"):
    configure(SparkSession.builder)
with pytest.warns(ExtensionMissingWarning, match=r"spark.sql.extensions is read only when"):
    enable(spark)
count(spark, folder())
for flavour in FLAVOURS.values():
    stream = spark.readStream.schema(SCHEMA).parquet(str(folder() / "input"))
    writer = flavour(stream).writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", str(folder() / flavour.__name__)).start()
    with pytest.raises(StreamingQueryException, match="this session was made without"):
        query.awaitTermination()
