"""A small local Spark session with the provider, for tests."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from bucketstate.session import FIXED, configure, enable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Runs this short end before the JVM's optimising compiler has paid for itself.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss4m",
}
"""What makes Spark start and run short queries quickly."""


def local_session(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yields a session with two cores and stops it; one that already runs is left as it is.

    `settings` win over SETTINGS and over the provider's defaults; jars and extensions among them
    are added to.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield enable(running)
        return
    # The workers have to be of the interpreter that runs the tests.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    wanted = {**SETTINGS, **(settings or {})}
    builder = SparkSession.builder.appName("bucketstate tests").master("local[2]")
    for key in wanted.keys() & set(FIXED):
        builder = builder.config(key, wanted.pop(key))
    builder = configure(builder)
    for key, value in wanted.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
