"""`spark.read.format("statestore")` on both checkpoint formats, and queries with checkpoint ids."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812

from tests.integration.streams import Streamed, events, run_with_restart
from tests.kit.sparks import GIVES_IDS_LATER, READS_IDS_UNASKED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.integration.streams import Event

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
FULL = 16
"""Groups with so many events are closed: their state is removed."""

State = dict[str, tuple[int, int]]
Change = tuple[int, str, str, int | None, int | None]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.conf.unset(FORMAT)


def counted(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def closed_when_full(source: DataFrame) -> DataFrame:
    limit = FULL

    def update(key: Any, frames: Any, state: Any) -> Any:
        n, total = state.get if state.exists else (0, 0)
        for frame in frames:
            n, total = n + len(frame), total + int(frame["value"].sum())
        if n < limit:
            state.update((n, total))
        elif state.exists:
            state.remove()
        yield pd.DataFrame({"key": [key[0]], "n": [n], "total": [total]})

    schema = "n long, total long"
    return source.groupBy("key").applyInPandasWithState(
        update, f"key string, {schema}", schema, "update", "NoTimeout"
    )


def replayed(batches: list[list[Event]], limit: float) -> tuple[list[State], list[Change]]:
    """What the state holds after each batch, and what each batch changes in it."""
    states: list[State] = []
    changes: list[Change] = []
    state: State = {}
    for number, batch in enumerate(batches):
        values = defaultdict(list)
        for event in batch:
            values[event["key"]].append(event["value"])
        for key, new in values.items():
            n, total = state.get(key, (0, 0))
            n, total = n + len(new), total + sum(new)
            if n < limit:
                state[key] = (n, total)
                changes.append((number, "update", key, n, total))
            elif state.pop(key, None) is not None:
                changes.append((number, "delete", key, None, None))
        states.append(dict(state))
    return states, changes


def reader(spark: SparkSession, checkpoint: Path, **options: Any) -> DataFrame:
    read = spark.read.format("statestore").option("path", str(checkpoint))
    for name, value in options.items():
        read = read.option(name, value)
    return read.load()


def figures(rows: DataFrame) -> tuple[str, str]:
    """Where count and sum are in a state's value: an aggregation's are its fields."""
    value = rows.schema["value"].dataType
    inside = "value.groupState." if "groupState" in value.fieldNames() else "value."  # type: ignore[attr-defined]
    count, total = ("n", "total") if "groupState" in inside else value.fieldNames()[:2]  # type: ignore[attr-defined]
    return inside + count, inside + total


def state_of(rows: DataFrame) -> State:
    found = [tuple(r) for r in rows.select("key.key", *figures(rows)).collect()]
    assert len({key for key, _, _ in found}) == len(found)
    return {key: (n, total) for key, n, total in found}


@pytest.mark.parametrize("checkpoint_format", [1, 2])
@pytest.mark.parametrize(
    ("query", "limit"), [(counted, float("inf")), (closed_when_full, FULL)], ids=["agg", "pandas"]
)
def test_the_state_reader_sees_what_the_batches_left(
    session: SparkSession, tmp_path: Path, checkpoint_format: int, query: Any, limit: float
) -> None:
    session.conf.set(FORMAT, checkpoint_format)
    batches = events()
    streamed = run_with_restart(session, tmp_path, query, batches, mode="update")
    streamed.assert_on_bucketstate()
    # The ids are in the commit log.
    if READS_IDS_UNASKED:
        session.conf.unset(FORMAT)
    states, changes = replayed(batches, limit)
    checkpoint = tmp_path / "checkpoint"
    assert any(kind == "delete" for _, kind, *_ in changes) == (limit == FULL)

    assert state_of(reader(session, checkpoint)) == states[-1]
    for batch in (0, 2, 4):
        assert state_of(reader(session, checkpoint, batchId=batch)) == states[batch]

    first, last = 1, 4
    feed = reader(
        session, checkpoint, readChangeFeed=True, changeStartBatchId=first, changeEndBatchId=last
    )
    found = [
        tuple(row)
        for row in feed.select("batch_id", "change_type", "key.key", *figures(feed)).collect()
    ]
    assert sorted(found, key=repr) == sorted(
        (change for change in changes if first <= change[0] <= last), key=repr
    )

    parts = [
        reader(session, checkpoint, batchId=4, snapshotStartBatchId=1, snapshotPartitionId=n)
        for n in range(2)
    ]
    both = [state_of(part) for part in parts]
    assert both[0] | both[1] == states[4]
    assert sum(map(len, both)) == len(states[4])


def test_a_query_with_checkpoint_ids_goes_on_after_a_restart(
    session: SparkSession, tmp_path: Path
) -> None:
    session.conf.set(FORMAT, 2)
    batches = events()
    streamed = run_with_restart(session, tmp_path, counted, batches, mode="update")
    assert_last_rows(streamed, batches)
    assert_only_files_with_ids(tmp_path / "checkpoint", 1, len(batches))


@pytest.mark.skipif(not GIVES_IDS_LATER, reason="this Spark keeps a checkpoint at its format")
def test_a_checkpoint_goes_on_with_ids_where_it_has_none(
    session: SparkSession, tmp_path: Path
) -> None:
    session.conf.set(FORMAT, 1)
    batches = events()
    streamed = run_with_restart(
        session,
        tmp_path,
        counted,
        batches,
        mode="update",
        before_restart=lambda: session.conf.set(FORMAT, 2),
    )
    assert_last_rows(streamed, batches)
    checkpoint = tmp_path / "checkpoint"
    half = len(batches) // 2
    assert_only_files_with_ids(checkpoint, half + 1, len(batches))
    states, _ = replayed(batches, float("inf"))
    for batch in (half - 1, half, len(batches) - 1):
        assert state_of(reader(session, checkpoint, batchId=batch)) == states[batch]


def assert_last_rows(streamed: Streamed, batches: list[list[Event]]) -> None:
    streamed.assert_on_bucketstate()
    states, _ = replayed(batches, float("inf"))
    assert {key: (n, total) for key, n, total in streamed.rows()} == states[-1]


def assert_only_files_with_ids(checkpoint: Path, first: int, last: int) -> None:
    """From version `first` on, and each of them the attempt that the commit log names."""
    for partition in range(2):
        folder = checkpoint / "state" / "0" / str(partition)
        expected = {f"{version}.changelog" for version in range(1, first)}
        for version in range(first, last + 1):
            # Batch n makes version n + 1. The log's first line is its format.
            log = (checkpoint / "commits" / str(version - 1)).read_text(encoding="utf-8")
            ids = json.loads(log.splitlines()[1])["stateUniqueIds"]["0"][partition]
            expected |= {f"{version}_{name}.changelog" for name in ids}
        assert {file.name for file in folder.glob("*.changelog")} == expected
