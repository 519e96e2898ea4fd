"""Settings that cannot work stop the query with a sentence that helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from bucketstate.registry import registry
from tests.integration.streams import EVENTS, SCHEMA, Streamed, events, start, write_batches
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def count_keys(spark: SparkSession, folder: Path) -> None:
    counts = spark.readStream.schema(SCHEMA).parquet(str(folder / "input")).groupBy("key").count()
    start(counts, folder / "checkpoint", Streamed(), "update").awaitTermination()


def failure(spark: SparkSession, folder: Path, setting: str, value: str, **others: str) -> str:
    wanted = {registry().prefix + name: text for name, text in {**others, setting: value}.items()}
    with settings(spark, wanted), pytest.raises(StreamingQueryException) as error:
        count_keys(spark, folder)
    return str(error.value)


def test_an_unknown_key_names_the_nearest(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "input", EVENTS, events(1))
    message = failure(spark, tmp_path, "numBucket", "16")
    assert "numBucket" in message
    assert registry().prefix + "numBuckets" in message


def test_a_bad_value_names_what_is_allowed(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "input", EVENTS, events(1))
    message = failure(spark, tmp_path, "numBuckets", "many")
    for part in ("numBuckets", "many", "from 1 to 32768"):
        assert part in message


def test_another_number_of_buckets_on_restart(spark: SparkSession, tmp_path: Path) -> None:
    first, second = events(2)
    write_batches(tmp_path / "input", EVENTS, [first])
    count_keys(spark, tmp_path)
    write_batches(tmp_path / "input", EVENTS, [second])
    message = failure(spark, tmp_path, "numBuckets", "48")
    for part in ("numBuckets", "16", "48"):
        assert part in message
    # Nothing was lost or half-applied: with the old number the query goes on.
    count_keys(spark, tmp_path)


@pytest.mark.parametrize(
    ("setting", "value", "parts"),
    [
        ("rocksdb.options.cf.write_bufer_size", "64M", ("Did you mean", "cf.write_buffer_size")),
        ("rocksdb.options.db.max_background_jobs", "many", ("'many'", "which RocksDB refuses")),
        ("rocksdb.optionsFactory", "no.such.Factory", ("no.such.Factory", "spark.jars")),
        ("rocksdb.preset", "fast", ("'fast'", "flash-ssd")),
    ],
)
def test_native_options_are_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, setting: str, value: str, parts: tuple[str, ...]
) -> None:
    write_batches(tmp_path / "input", EVENTS, events(1))
    message = failure(spark, tmp_path, setting, value, engine="rocksdb")
    for part in (setting, *parts):
        assert part in message
    assert not list((tmp_path / "checkpoint" / "state").rglob("*.changelog"))
    assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    count_keys(spark, tmp_path)
    assert list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
