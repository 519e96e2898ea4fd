"""A cluster's session that was enabled and stopped, and the next one in the same JVM.

The JVM still finds the provider's class, and the executors of the next session know nothing of it.
Arguments: a folder, the master, and what turns the next session on: `configure` or `enable`.
"""

import sys
import warnings

from pyspark.sql import SparkSession

from bucketstate import SessionError, configure, enable
from bucketstate.testing.session import SETTINGS
from tests.integration.apps.counting import builder_options, count, folder


def builder() -> SparkSession.Builder:
    made = SparkSession.builder.master(sys.argv[2])
    options = builder_options() | {
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
        "spark.task.maxFailures": "1",
    }
    for key, value in options.items():
        made = made.config(key, value)
    return made


# All of it is told of what is missing: that is another test's.
warnings.simplefilter("ignore")
spark = enable(builder().getOrCreate())
assert spark.range(10).count() == 10
spark.stop()
if sys.argv[3] == "configure":
    spark = configure(builder()).getOrCreate()
else:
    spark = builder().getOrCreate()
    refusal = "nothing"
    try:
        configure(builder())
    except SessionError as error:
        refusal = str(error)
    assert "Call `bucketstate.enable(spark)`" in refusal, refusal
    enable(spark)
count(spark, folder())
