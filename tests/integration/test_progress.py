"""The recorder as a listener of real queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from bucketstate.progress import Recorder
from bucketstate.registry import registry
from tests.integration.streams import events, run_with_restart

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def counted(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"))


def test_every_progress_of_a_query_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    recorder = Recorder()
    spark.streams.addListener(recorder)
    try:
        streamed = run_with_restart(spark, tmp_path, counted, events(batches=4), mode="update")
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        spark.streams.removeListener(recorder)
    assert recorder.progress == streamed.progress
    frame = recorder.to_pandas()
    assert frame["batch"].tolist() == [0, 1, 2, 3]
    assert frame["state_rows"].is_monotonic_increasing
    assert frame["phase_addBatch"].gt(0).all()
    assert {m.name for m in registry().metrics} <= set(frame)
    assert frame["bucketedChangelogBytes"].gt(0).all()
    assert frame["run_id"].nunique() == 2
