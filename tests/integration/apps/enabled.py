"""A session that runs without the jar: `configure` comes too late and says so; `enable` works.

It says what is missing for `transformWithState`, which cannot be had any more.
"""

import pytest
from pyspark.sql import SparkSession

from bucketstate import ExtensionMissingWarning, SessionError, configure, enable
from tests.integration.apps.counting import builder_options, count, folder

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with pytest.raises(SessionError, match=r"bucketstate.enable\(spark\)"):
    configure(SparkSession.builder)
with pytest.warns(ExtensionMissingWarning, match=r"spark.sql.extensions is read only when"):
    enable(spark)
count(spark, folder())
