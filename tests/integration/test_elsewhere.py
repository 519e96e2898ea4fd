"""Checkpoints in sessions that know nothing of the query, and in other folders than their own."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.config import PROVIDER_KEY
from bucketstate.registry import registry
from tests.integration.following import BEST, FLAVOURS
from tests.integration.streams import (
    EVENTS,
    SCHEMA,
    Streamed,
    events,
    run_with_restart,
    start,
    write_batches,
)
from tests.kit.cases import at_night
from tests.kit.session_settings import settings
from tests.kit.unloading import unload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BUCKETS = registry().prefix + "numBuckets"
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


def counted(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"))


def test_a_session_that_knows_nothing_reads_and_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events()
    before = {key: spark.conf.get(key, None) for key in (BUCKETS, PROVIDER_KEY)}

    def forget() -> None:
        spark.conf.unset(BUCKETS)

    with settings(spark, {BUCKETS: "7"}):
        streamed = run_with_restart(
            spark, tmp_path, counted, batches, mode="update", before_restart=forget
        )
        streamed.assert_on_bucketstate()
        spark.conf.unset(PROVIDER_KEY)
        try:
            rows = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
            found = {row[0]: row[1] for row in rows.select("key.key", "value.count").collect()}
        finally:
            for key, value in before.items():
                if value is not None:
                    spark.conf.set(key, value)
    assert found == Counter(event["key"] for batch in batches for event in batch)
    assert Checkpoint(tmp_path / "checkpoint").plan().num_buckets == 7


@at_night
def test_a_copy_goes_on_by_itself_once_its_paths_are_replaced(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events(4)
    (tmp_path / "twin").mkdir()
    with settings(spark, NO_EMPTY_BATCHES):
        twin = run_with_restart(spark, tmp_path / "twin", FLAVOURS[BEST], batches, mode="update")
        streamed = Streamed()
        original, copy = tmp_path / "original", tmp_path / "copy"

        def run(checkpoint: Path) -> None:
            source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            rows = FLAVOURS[BEST](source.parquet(str(tmp_path / "input")))
            start(rows, checkpoint, streamed, "update").awaitTermination(150)

        write_batches(tmp_path / "input", EVENTS, batches[:2])
        run(original)
        assert Checkpoint(original).query.copied is None
        unload(spark)
        shutil.copytree(original, copy)
        assert [f.severity for f in Checkpoint(copy).verify().findings] == ["warning"]
        shutil.rmtree(original)
        found = Checkpoint(copy).query.copied
        assert found is not None
        assert found.gone
        assert not Checkpoint(copy).verify().ok
        write_batches(tmp_path / "input", EVENTS, batches[2:])
        with pytest.raises(StreamingQueryException, match="original"):
            run(copy)
        for path in (copy / "state/0/_metadata/v2").iterdir():
            if path.name.endswith(".crc"):
                path.unlink()
            else:
                path.write_text(path.read_text().replace(found.original, found.location))
        assert Checkpoint(copy).verify().ok
        run(copy)
    assert {n: sorted(rows) for n, rows in streamed.batches.items()} == {
        n: sorted(rows) for n, rows in twin.batches.items()
    }
