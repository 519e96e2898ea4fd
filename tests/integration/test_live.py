"""`Live` beside real queries: each batch is seen when it is committed, and only then."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import Live
from bucketstate.errors import NoSuchStateError, NotACheckpointError
from tests.integration.streams import EVENTS, SCHEMA, Event, Streamed, events, start, write_batches
from tests.integration.test_checkpoint import (
    FORMAT,
    KINDS,
    aggregated,
    deduplicated,
    joined,
    sessions,
    snapshots,
    typed_keys,
    windowed,
    written,
)
from tests.integration.test_checkpoint import session as session
from tests.kit.cases import at_night, cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["session", "snapshots"]

KEYS = [f"k{n}" for n in range(14)]
"""Two of them no event has."""


def counted(batches: list[list[Event]]) -> list[int | None]:
    """How many events each key has."""
    found = Counter(event["key"] for batch in batches for event in batch)
    return [found[key] or None for key in KEYS]


def begun(session: SparkSession, folder: Path, into: Streamed) -> StreamingQuery:
    source = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = aggregated(source.parquet(str(folder / "input")))
    return start(rows, folder / "checkpoint", into, "update")


def counts(live: Live) -> tuple[int, list[int | None]]:
    answers = live.get_many(KEYS)
    return answers.version, [value and value["count"] for value in answers.values]


def test_a_query_of_this_process_is_asked_by_itself(session: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=2, rows=20)
    write_batches(tmp_path / "input", EVENTS, batches)
    query = begun(session, tmp_path, Streamed())
    assert query.awaitTermination(150)
    with Live(query) as live:
        assert counts(live) == (2, counted(batches))


@pytest.mark.parametrize("checkpoint_format", cases([1], [2]))
@pytest.mark.usefixtures("snapshots")
def test_a_query_is_followed(session: SparkSession, tmp_path: Path, checkpoint_format: int) -> None:
    """From inside of its batches, from threads beside it, over a restart, and when it is gone."""
    session.conf.set(FORMAT, checkpoint_format)
    batches = events(batches=6, rows=40)
    model = {n: counted(batches[:n]) for n in range(len(batches) + 1)}
    checkpoint = tmp_path / "checkpoint"
    seen: list[tuple[int, list[int | None]]] = []

    into = Streamed()
    write_batches(tmp_path / "input", EVENTS, batches[:2])
    assert begun(session, tmp_path, into).awaitTermination(150)
    with Live(checkpoint, max_age=0) as live:
        assert counts(live) == (2, model[2])
        stop = threading.Event()
        asking = [threading.Thread(target=ask, args=(live, stop, seen)) for _ in range(2)]
        for thread in asking:
            thread.start()
        try:
            for more in (batches[2:4], batches[4:]):
                write_batches(tmp_path / "input", EVENTS, more)
                assert begun(session, tmp_path, into).awaitTermination(150)
        finally:
            stop.set()
            for thread in asking:
                thread.join()
        assert counts(live) == (6, model[6])
        assert {version for version, _ in seen} >= {2, 4}
        assert [found for version, found in seen if found != model[version]] == []
        gone_under(live, session, tmp_path, batches)


def ask(live: Live, stop: threading.Event, into: list[tuple[int, list[int | None]]]) -> None:
    while not stop.wait(0.005):
        into.append(counts(live))


def gone_under(live: Live, session: SparkSession, folder: Path, batches: list[list[Event]]) -> None:
    """The checkpoint is deleted, and a query begins anew in its place."""
    shutil.rmtree(folder / "checkpoint")
    with pytest.raises(NotACheckpointError, match="was deleted or moved after version 6"):
        live.get("k1")
    shutil.rmtree(folder / "input")
    write_batches(folder / "input", EVENTS, batches[:1])
    again = Streamed()
    assert begun(session, folder, again).awaitTermination(150)
    assert len(again.batches) == 1
    with pytest.raises(NoSuchStateError, match="read at version 6"):
        live.get("k1")
    assert live.refresh() == 1
    assert counts(live) == (1, counted(batches[:1]))


def in_the_middle(batch: DataFrame, live: Live, seen: list[int]) -> None:
    batch.collect()
    seen.append(live.version)


@at_night
def test_a_batch_that_runs_is_not_seen(session: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "input", EVENTS, events(batches=1))
    assert begun(session, tmp_path, Streamed()).awaitTermination(150)
    write_batches(tmp_path / "input", EVENTS, events(batches=3)[1:])
    seen: list[int] = []
    with Live(tmp_path / "checkpoint", max_age=0) as live:
        source = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        writer = aggregated(source.parquet(str(tmp_path / "input"))).writeStream
        writer = writer.outputMode("update").trigger(availableNow=True)
        writer = writer.foreachBatch(lambda batch, _: in_the_middle(batch, live, seen))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        assert query.awaitTermination(150)
        assert seen == [1, 2]
        assert live.version == 3


ASKED = (aggregated, windowed, deduplicated, typed_keys, sessions, joined)
"""A query for each way in which keys are stored, or distributed."""


@at_night
@pytest.mark.parametrize("checkpoint_format", [1, 2])
@pytest.mark.parametrize(
    ("query", "mode", "stores"),
    [pytest.param(*kind, id=kind[0].__name__) for kind in KINDS if kind[0] in ASKED],
)
@pytest.mark.usefixtures("snapshots")
def test_every_key_is_found(
    session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    mode: str,
    stores: list[str],
    checkpoint_format: int,
) -> None:
    """In each encoding, also where Spark puts keys by another rule."""
    found = written(session, tmp_path, query, mode, checkpoint_format)
    for store in stores:
        with Live(found, store=store) as live:
            rows = found.scan(store=store).to_arrow().slice(0, 80).to_pylist()
            keys = list({repr(row["key"]): row["key"] for row in rows}.values())
            answers = live.get_many(keys)
            for key, answer in zip(keys, answers, strict=True):
                expected: list[Any] = found.scan(store=store, key=key).to_arrow().to_pylist()
                assert sorted(map(repr, answer.rows)) == sorted(map(repr, expected))
            assert rows
            assert answers.version == found.restart_version
