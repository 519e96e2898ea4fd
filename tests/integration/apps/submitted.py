"""Door 1: the application knows nothing of bucketstate; `spark-submit` turns it on."""

from pyspark.sql import SparkSession

from tests.integration.apps.counting import count, folder

count(SparkSession.builder.getOrCreate(), folder())
