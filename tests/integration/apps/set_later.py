"""Door 3: `spark.conf.set` before the query starts; the jar came with `spark-submit --jars`."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from bucketstate import Conf, PluginMissingWarning, configure
from tests.integration.apps.counting import count, folder

spark = SparkSession.builder.getOrCreate()
for key, value in Conf(num_buckets=8).to_spark().items():
    spark.conf.set(key, value)
jars = spark.conf.get("spark.jars")


def configured() -> SparkSession:
    """A JVM that has the jar already is fine for `configure` too, and keeps its own spark.jars."""
    with pytest.warns(PluginMissingWarning):
        return configure(SparkSession.builder, Conf(num_buckets=8)).getOrCreate()


assert configured() is spark
# The builder returns the session to other threads, too, for which Spark calls it not active.
with ThreadPoolExecutor(1) as threads:
    assert threads.submit(configured).result() is spark
assert spark.conf.get("spark.jars") == jars
count(spark, folder())
