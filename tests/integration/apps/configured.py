"""Door 2: the session builder, through `configure`, beside a jar that the builder already names."""

from pyspark.sql import SparkSession

from bucketstate import configure, jar_path
from tests.integration.apps.counting import builder_options, count, folder

builder = SparkSession.builder.master("local[2]")
for key, value in builder_options().items():
    builder = builder.config(key, value)
other = folder() / "other.jar"
other.write_bytes(jar_path().read_bytes())
spark = configure(builder.config("spark.jars", str(other))).getOrCreate()
assert spark.conf.get("spark.jars") == f"{other},{jar_path()}"
count(spark, folder())
