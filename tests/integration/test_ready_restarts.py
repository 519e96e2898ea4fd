"""What Spark takes of a ready-made function that is another after a restart."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from bucketstate import stateful
from tests.integration.streams import DELAY, EVENTS, SCHEMA, Streamed, events, start, write_batches

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ALONE = stateful.reduce(n=stateful.count())
TIMED = stateful.reduce(n=stateful.count(), ttl=timedelta(hours=1), at="at")


@pytest.mark.parametrize(("before", "after"), [(ALONE, TIMED), (TIMED, ALONE)])
def test_a_query_cannot_gain_or_lose_its_clock(
    spark: SparkSession, tmp_path: Path, before: Any, after: Any
) -> None:
    """The harness says so where it is restarted: see `test_harness_refusals`."""
    write_batches(tmp_path / "input", EVENTS, events(batches=1, rows=20))
    source = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    rows = source.withWatermark("at", f"{DELAY // timedelta(minutes=1)} minutes")

    def run(fn: Any) -> Any:
        made = stateful.apply(rows, by="key", fn=fn)
        return start(made, tmp_path / "checkpoint", Streamed(), "update").awaitTermination(90)

    assert run(before)
    write_batches(tmp_path / "input", EVENTS, events(batches=1, rows=20))
    with pytest.raises(StreamingQueryException, match="STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"):
        run(after)
