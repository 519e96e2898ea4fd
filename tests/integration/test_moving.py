"""Clones, forks and rewinds of real checkpoints: a query goes on as one that was never moved.

The source makes each batch of its number, so what a batch puts out can be compared whatever ran
before. Each start runs one batch.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.move import clone, fork, rewind
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
from tests.integration.test_checkpoint import FORMAT, JOIN_FORMAT, aggregated, joined
from tests.integration.test_elsewhere import NO_EMPTY_BATCHES
from tests.kit.cases import at_night, cases
from tests.kit.session_settings import settings
from tests.kit.sparks import JOIN_FORMATS
from tests.kit.stops import Stopped, Writes, tree
from tests.kit.unloading import unload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ENGINES = {
    "heap": Conf(engine="heap", snapshot_mode="sync", snapshot_max_versions=2),
    "rocksdb": Conf(
        engine="rocksdb",
        snapshot_mode="sync",
        snapshot_max_versions=2,
        rocksdb_preset="small-memory",
    ),
}
BATCHES = 5


@dataclass(frozen=True)
class Kind:
    query: Callable[[DataFrame], DataFrame]
    mode: str


KINDS = {
    "aggregation": Kind(aggregated, "update"),
    "join": Kind(joined, "append"),
    "transformWithState": Kind(FLAVOURS[BEST], "update"),
}


@dataclass
class Going:
    """A query that is started again and again on some checkpoint."""

    spark: SparkSession
    kind: Kind

    def source(self) -> DataFrame:
        rate = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 40)
        rows = rate.option("advanceMillisPerBatch", 2_400_000).option("numPartitions", 2).load()
        return rows.selectExpr(
            "timestamp as at", "concat('k', value * 7 % 11) as key", "value * 13 % 100 as value"
        )

    def on(self, checkpoint: Path, batches: int) -> dict[int, list[Any]]:
        """What each batch put out, in order."""
        streamed = Streamed()
        for _ in range(batches):
            rows = self.kind.query(self.source())
            query = start(rows, checkpoint, streamed, self.kind.mode)
            try:
                assert query.awaitTermination(150)
            finally:
                query.stop()
        return {n: sorted(rows) for n, rows in streamed.batches.items()}


EVERY = [
    (kind, form, engine_)
    for kind in KINDS
    for form in ("1", "2")
    for engine_ in ENGINES
    # The second engine is asked once for each format.
    if engine_ == "heap" or kind == "aggregation"
]


FEW = [("aggregation", "2", "heap")]


@pytest.fixture(params=cases(FEW, EVERY), ids="-".join)
def going(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Going]:
    kind, form, engine_ = request.param
    # From format 3 on a join has whole paths in its metadata. Spark starts none in 4 by default.
    given = {FORMAT: form, JOIN_FORMAT: str(max(f for f in JOIN_FORMATS if f < 4))}
    with settings(spark, ENGINES[engine_].to_spark() | given | NO_EMPTY_BATCHES):
        yield Going(spark, KINDS[kind])


def assert_sound(checkpoint: Path) -> None:
    report = Checkpoint(checkpoint).verify()
    assert report.ok, report.findings


def test_moved_at_an_older_batch(going: Going, tmp_path: Path) -> None:
    """A clone without its source, a fork beside it, and the source itself, taken back."""
    twin = going.on(tmp_path / "twin", BATCHES)
    assert sorted(twin) == list(range(BATCHES))
    original = tmp_path / "original"
    going.on(original, 4)
    before = tree(original)
    clone(original, tmp_path / "clone")
    fork(original, tmp_path / "fork", 1)
    assert tree(original) == before
    assert going.on(tmp_path / "fork", 2) == {n: twin[n] for n in (2, 3)}
    assert {n: of for n, of in tree(original).items() if n in before} == before

    report = rewind(original, 1, stopped=True)
    assert report.dropped == (2, 3)
    assert_sound(original)
    assert going.on(original, 3) == {n: twin[n] for n in (2, 3, 4)}
    assert_sound(original)

    shutil.rmtree(original)
    assert going.on(tmp_path / "clone", 1) == {4: twin[4]}
    for name in ("clone", "fork"):
        assert_sound(tmp_path / name)
    assert len({Checkpoint(tmp_path / n).query.id for n in ("twin", "clone", "fork")}) == 3


@at_night
def test_a_batch_that_was_planned_runs_as_it_was(going: Going, tmp_path: Path) -> None:
    twin = going.on(tmp_path / "twin", 4)
    original = tmp_path / "original"
    going.on(original, 3)
    for path in (original / "commits").glob("*2*"):
        path.unlink()
    assert clone(original, tmp_path / "clone").planned_batch == 2
    shutil.rmtree(original)
    # It runs that one, and the next.
    assert going.on(tmp_path / "clone", 1) == {n: twin[n] for n in (2, 3)}


@pytest.mark.parametrize(
    ("form", "engine_"),
    cases([], [("1", "heap"), ("2", "heap"), ("1", "rocksdb"), ("2", "rocksdb")]),
)
def test_a_rewind_that_was_stopped(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    engine_: str,
) -> None:
    """Wherever it was: a query that is started then runs on the old state, the new, or not."""
    of_engine = ENGINES[engine_].to_spark()
    with settings(spark, of_engine | {FORMAT: form} | NO_EMPTY_BATCHES):
        going = Going(spark, KINDS["aggregation"])
        twin = going.on(tmp_path / "twin", BATCHES)
        original = tmp_path / "original"
        going.on(original, 4)
        unload(spark)
        with monkeypatch.context() as context:
            counted = Writes()
            counted.install(context)
            shutil.copytree(original, tmp_path / "counted")
            rewind(tmp_path / "counted", 1, stopped=True)
        last = counted.count
        # Within manifests and changelogs, and after each entry of the logs.
        for at in (3, *range(last - 5, last)):
            root = tmp_path / f"rewound-{at}"
            shutil.copytree(original, root)
            with monkeypatch.context() as context:
                Writes(at).install(context)
                with pytest.raises(Stopped):
                    rewind(root, 1, stopped=True)
            tried = tmp_path / f"tried-{at}"
            shutil.copytree(root, tried)
            try:
                found = going.on(tried, 1)
            except StreamingQueryException:
                # Nothing was put out, and what was begun is undone.
                rewind(tried, 1, stopped=True)
                found = going.on(tried, 1)
                assert min(found) == 2
            assert found == {n: twin[n] for n in found}
            rewind(root, 1, stopped=True)
            assert going.on(root, 2) == {n: twin[n] for n in (2, 3)}
            assert_sound(root)


@at_night
def test_a_machine_that_has_kept_the_dropped_state(spark: SparkSession, tmp_path: Path) -> None:
    """A lasting folder of the second engine has the databases of versions that were dropped."""
    conf = Conf(
        engine="rocksdb",
        snapshot_mode="sync",
        snapshot_max_versions=1,
        local_dir=str(tmp_path / "kept"),
    )
    with settings(spark, conf.to_spark() | NO_EMPTY_BATCHES):
        going = Going(spark, KINDS["aggregation"])
        twin = going.on(tmp_path / "twin", BATCHES)
        original = tmp_path / "original"
        going.on(original, 4)
        assert any((tmp_path / "kept").rglob("local-*"))
        rewind(original, 1, stopped=True)
        assert going.on(original, 3) == {n: twin[n] for n in (2, 3, 4)}
        assert_sound(original)


@at_night
def test_a_file_source_reads_what_it_has_seen_since_as_one_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events(6)
    with settings(spark, NO_EMPTY_BATCHES):
        (tmp_path / "twin").mkdir()
        run_with_restart(spark, tmp_path / "twin", aggregated, batches, mode="update")
        original = tmp_path / "original"
        write_batches(tmp_path / "input", EVENTS, batches[:4])

        def run(checkpoint: Path) -> dict[int, Any]:
            streamed = Streamed()
            source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            rows = aggregated(source.parquet(str(tmp_path / "input")))
            assert start(rows, checkpoint, streamed, "update").awaitTermination(150)
            return streamed.batches

        assert sorted(run(original)) == [0, 1, 2, 3]
        clone(original, tmp_path / "clone", batch=1)
        rewind(original, 1, stopped=True)
        write_batches(tmp_path / "input", EVENTS, batches[4:])
        for root in (original, tmp_path / "clone"):
            # Two files that it had seen and the next one, then one at a time.
            assert sorted(run(root)) == [2, 3]
    expected = state(tmp_path / "twin/checkpoint")
    assert state(original) == state(tmp_path / "clone") == expected


def state(checkpoint: Path) -> list[str]:
    return sorted(map(str, Checkpoint(checkpoint).scan().to_arrow().to_pylist()))
