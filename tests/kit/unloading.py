"""Stores of queries that have ended stay loaded, and Spark maintains their folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def unload(spark: SparkSession) -> None:
    """Nothing changes the checkpoints of queries that have ended from here on."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
