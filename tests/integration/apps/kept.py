"""Door 2 where `spark-defaults.conf` says something: it stays, and its lists are added to."""

from pyspark.sql import SparkSession

from bucketstate import EXTENSION_CLASS, Conf, configure, jar_path
from bucketstate.registry import registry
from tests.integration.apps.counting import builder_options, count, folder

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = configure(builder, Conf(snapshot_mode="sync")).getOrCreate()
assert spark.conf.get(registry().prefix + "numBuckets") == "8"
assert spark.conf.get(registry().prefix + "snapshot.mode") == "sync"
assert spark.conf.get("spark.jars") == f"{folder() / 'other.jar'},{jar_path()}"
assert spark.conf.get("spark.sql.extensions") == f"{EXTENSION_CLASS},other.Rules"
count(spark, folder())
