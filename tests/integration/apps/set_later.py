"""Door 3: `spark.conf.set` before the query starts; the jar came with `spark-submit --jars`."""

import warnings

from pyspark.sql import SparkSession

from bucketstate import Conf, configure
from tests.integration.apps.counting import count, folder

spark = SparkSession.builder.getOrCreate()
for key, value in Conf(num_buckets=8).to_spark().items():
    spark.conf.set(key, value)
# A JVM that has the jar already is fine for `configure` too, and keeps its own spark.jars.
jars = spark.conf.get("spark.jars")
with warnings.catch_warnings(action="error"):
    assert configure(SparkSession.builder, Conf(num_buckets=8)).getOrCreate() is spark
assert spark.conf.get("spark.jars") == jars
count(spark, folder())
