"""Keys of a query's checkpoint in a harness: the next batch comes out as in the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from bucketstate import stateful
from bucketstate.checkpoint import Checkpoint
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.integration import stateful_functions as fns
from tests.integration.following import needs_rows
from tests.integration.streams import DELAY, SCHEMA, Streamed, events, start, write_batches
from tests.integration.streams import EVENTS as TYPES

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

OPERATORS: list[Any] = [
    "applyInPandasWithState",
    pytest.param("transformWithState", marks=needs_rows),
]


def streamed(
    spark: SparkSession, folder: Path, fn: Any, by: Any, **options: Any
) -> tuple[Streamed, list[Path]]:
    """A query over five batches, and the file of each."""
    write_batches(folder / "input", TYPES, events(batches=5, rows=20))
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows: DataFrame = source.parquet(str(folder / "input")).withWatermark("at", "1 hour")
    found = Streamed()
    made = stateful.apply(rows, by=by, fn=fn, output_mode="update", **options)
    assert start(made, folder / "checkpoint", found, "update").awaitTermination(150)
    return found, sorted((folder / "input").glob("*.parquet"))


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize(
    ("operator", "fn"),
    [
        ("applyInPandasWithState", fns.Remembers),
        ("applyInPandasWithState", stateful.define(fns.RemembersInColumns, output=fns.Count)),
        pytest.param("transformWithState", fns.Remembers, marks=needs_rows),
    ],
    ids=["rows", "columns", "variables"],
)
def test_each_batch_comes_out_as_in_the_query(
    spark: SparkSession, tmp_path: Path, operator: Operator, fn: Any
) -> None:
    found, files = streamed(spark, tmp_path, fn, "key", operator=operator, timeout="event")
    keys = [f"k{n}" for n in range(12)]
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    last = checkpoint.last_batch
    assert last is not None
    assert last > len(files) - 1
    fired = 0

    def harness(batch: int, keys: list[str]) -> Harness:
        return Harness.from_checkpoint(
            tmp_path / "checkpoint",
            fn,
            by="key",
            keys=keys,
            batch=batch,
            schema=SCHEMA,
            timeout="event",
            event_time="at",
            delay=DELAY,
        )

    for batch in range(1, last + 1):
        before, after = harness(batch - 1, keys), harness(batch, keys)
        rows = pq.read_table(files[batch]) if batch < len(files) else ()
        output = before.run(rows)
        assert in_order(row.values() for row in output) == in_order(found.batches[batch])
        assert before.states() == after.states()
        decoded = checkpoint.scan(decode=fns.Remembered if fn is fns.Remembers else fns.CountsV1)
        decoded = decoded.update(batch=batch)
        assert {k: decoded.get(k) for k in keys} == {k: after.state(k) for k in keys}
        assert [before.timers(k) for k in keys] == [after.timers(k) for k in keys]
        assert [before.timeout(k) for k in keys] == [after.timeout(k) for k in keys]
        assert (before.watermark or 0) == (after.watermark or 0)
        fired += sum(row["n"] < 0 for row in output)
    assert fired

    # One key of a batch alone, with the clock of that batch.
    one = harness(1, ["k3"])
    rows = pq.read_table(files[2], filters=[("key", "=", "k3")])
    expected = [row for row in found.batches[2] if row[0] == "k3"]
    assert in_order(row.values() for row in one.run(rows)) == in_order(expected)


@pytest.mark.parametrize("operator", OPERATORS)
def test_keys_of_several_columns_and_times(
    spark: SparkSession, tmp_path: Path, operator: Operator
) -> None:
    _, files = streamed(
        spark, tmp_path, fns.count_v1, ["key", "at"], operator=operator, timeout=None
    )
    row = pq.read_table(files[0]).to_pylist()[0]
    keys = [(row["key"], row["at"]), {"at": row["at"], "key": "nobody"}]

    harness = Harness.from_checkpoint(
        tmp_path / "checkpoint", fns.count_v1, by=["key", "at"], keys=keys, batch=0
    )

    assert [key.key for key in harness.states()] == [row["key"]]
    times = sum(r["key"] == row["key"] and r["at"] == row["at"] for r in events(5, 20)[0])
    assert harness.state(row["key"], row["at"]).n == times
    (counted,) = harness.run([row])
    assert counted["n"] == times + 1


def test_a_ready_made_function(spark: SparkSession, tmp_path: Path) -> None:
    fn = stateful.reduce(n=stateful.count(), most=stateful.max("value"))
    found, files = streamed(spark, tmp_path, fn, "key")
    harness = Harness.from_checkpoint(
        tmp_path / "checkpoint", fn, by="key", keys=["k1"], batch=3, schema=SCHEMA
    )
    rows = pq.read_table(files[4], filters=[("key", "=", "k1")])
    expected = [row for row in found.batches[4] if row[0] == "k1"]
    assert in_order(row.values() for row in harness.run(rows)) == in_order(expected)
