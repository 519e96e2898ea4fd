"""Door 2: the session builder, through `configure`, beside a jar and an extension of others."""

from pyspark.sql import SparkSession

from bucketstate import EXTENSION_CLASS, configure, jar_path
from tests.integration.apps.counting import builder_options, count, folder

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
other = folder() / "other.jar"
other.write_bytes(jar_path().read_bytes())
# Spark goes on without a class that it does not find, with a warning in its log.
builder = builder.config("spark.jars", str(other)).config("spark.sql.extensions", "other.Rules")
spark = configure(configure(builder)).getOrCreate()
assert spark.conf.get("spark.jars") == f"{other},{jar_path()}"
# The session itself shows what the builder said; what it was made with is the context's.
extensions = spark.sparkContext.getConf().get("spark.sql.extensions")
assert extensions == f"{EXTENSION_CLASS},other.Rules"
count(spark, folder())
