"""One real local Spark for all integration tests, turned on through `configure`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from bucketstate import Conf, configure

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers import the demo's functions by name.
    os.environ["PYTHONPATH"] = str(EXAMPLES)
    builder = SparkSession.builder.appName("bucketstate tests").master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
        # Runs this short end before the JVM's optimising compiler has paid for itself.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss4m",
    }.items():
        builder = builder.config(key, value)
    session = configure(builder, Conf(num_buckets=16)).getOrCreate()
    yield session
    session.stop()
