"""A query whose state's disk is full, or turns read-only: a clear error, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import StorageError
from bucketstate.move import plan
from bucketstate.move.planning import Kind
from tests.integration.streams import EVENTS, SCHEMA, Event, Streamed, events, start, write_batches
from tests.kit.cases import at_night
from tests.kit.session_settings import settings
from tests.kit.stops import tree
from tests.kit.storage.small_disk import SmallDisk, small_disk
from tests.kit.unloading import unload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

BATCHES = events(batches=6)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """The state's alone: Spark's own logs, which it writes before, are elsewhere."""
    with small_disk(tmp_path / "checkpoint" / "state", "8m") as made:
        yield made


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    often = Conf(snapshot_mode="sync", snapshot_max_versions=2)
    with settings(spark, often.to_spark()):
        yield spark


def run(spark: SparkSession, folder: Path, batches: list[list[Event]]) -> dict[int, Any]:
    """Goes on with these batches, and those that failed before; what they put out."""
    write_batches(folder / "input", EVENTS, batches)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    streamed = Streamed()
    counts = source.parquet(str(folder / "input")).groupBy("key").count()
    query = start(counts, folder / "checkpoint", streamed, "update")
    try:
        assert query.awaitTermination(150)
    finally:
        query.stop()
    return streamed.batches


def counted(batches: list[list[Event]]) -> dict[str, int]:
    return Counter(event["key"] for batch in batches for event in batch)


def stored(folder: Path) -> dict[str, int]:
    """The state of the last batch that was finished."""
    rows = Checkpoint(folder / "checkpoint").scan().to_arrow().to_pylist()
    return {row["key"]["key"]: row["value"]["count"] for row in rows}


@pytest.mark.parametrize(
    ("breaks", "mends", "told"),
    [
        (SmallDisk.fill, SmallDisk.empty, "No space left on device"),
        (SmallDisk.read_only, SmallDisk.writable, "Read-only file system"),
    ],
    ids=["full", "read-only"],
)
@pytest.mark.timeout(400)
def test_a_disk_without_room(
    session: SparkSession, tmp_path: Path, disk: SmallDisk, breaks: Any, mends: Any, told: str
) -> None:
    run(session, tmp_path, BATCHES[:3])
    breaks(disk)
    more = BATCHES[3:]
    # A query that is started again finds the same, and does no harm.
    for _ in range(2):
        with pytest.raises(StreamingQueryException) as error:
            run(session, tmp_path, more)
        more = []
        assert f"{disk.folder}/0/" in str(error.value)
        assert told in str(error.value)
        assert "not full" in str(error.value)
        assert stored(tmp_path) == counted(BATCHES[:3])
    mends(disk)
    put_out = run(session, tmp_path, [])
    assert sorted(put_out) == [3, 4, 5]
    for number, rows in put_out.items():
        so_far = counted(BATCHES[: number + 1])
        assert dict(rows) == {event["key"]: so_far[event["key"]] for event in BATCHES[number]}
    assert stored(tmp_path) == counted(BATCHES)
    report = Checkpoint(tmp_path / "checkpoint").verify()
    assert [f for f in report.findings if f.severity != "note"] == []


@at_night
@pytest.mark.parametrize("to", ["bucketstate", "rocksdb", "hdfs"])
@pytest.mark.timeout(400)
def test_a_move_onto_a_disk_without_room(
    session: SparkSession, tmp_path: Path, disk: SmallDisk, to: Any
) -> None:
    (tmp_path / "query").mkdir()
    run(session, tmp_path / "query", BATCHES)
    unload(session)
    source, target = tmp_path / "query/checkpoint", disk.folder / "moved"
    before = tree(source)
    kind: Kind = "rewrite" if to == "bucketstate" else "export"
    made = plan(session, str(source), str(target), kind, to=to)
    # Room for what is small, so that it is the state that has none.
    disk.fill(leave=40_000)
    with pytest.raises(StorageError) as error:
        made.run()
    assert "No space left on device" in str(error.value)
    assert "not full" in str(error.value)
    assert not (target / "commits").exists()
    assert tree(source) == before
    disk.empty()
    # Another plan, as the same command makes one.
    report = plan(session, str(source), str(target), kind, to=to).run()
    assert report.published
    assert report.keys == len(counted(BATCHES))
    assert (target / "commits" / str(len(BATCHES) - 1)).exists()
    assert tree(source) == before
