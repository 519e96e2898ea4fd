"""Checkpoints that are rewritten in place: the query goes on as one that never was."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.errors import NoSuchStateError, RefusedMoveError
from bucketstate.move import Progress, calls, clone, fork, plan, rewind, undo
from bucketstate.report import write_report
from tests.integration.moved_queries import (
    FORMAT,
    OURS,
    PARTITIONS,
    PROVIDER,
    Run,
    feed,
    read,
    tree,
)
from tests.integration.rewritten import Twins, begun, keys, sound
from tests.integration.test_move import BY_NAME, JOIN_3
from tests.kit.cases import at_night, cases
from tests.kit.session_settings import settings
from tests.kit.sparks import JOIN_FORMATS, MINOR
from tests.kit.unloading import unload

pytestmark = pytest.mark.skipif(
    MINOR in ("4.0", "4.1"), reason="Spark would start on what is not finished"
)

IDS = {FORMAT: "2"}
EVERY: list[tuple[str, int, int, Mapping[str, str]]] = [
    (name, *counts, ids)
    for name in ("agg", "agg_global", "dedup", "join_inner", "session", "transform")
    for counts in ((4, 8), (8, 3))
    for ids in ({}, IDS)
]
if 3 in JOIN_FORMATS:
    EVERY += [("join_outer", 3, 5, JOIN_3)]
EVERY += [("transform", 3, 5, IDS), ("agg", 3, 1, {}), ("agg", 1, 3, {}), ("limit", 2, 3, {})]


@pytest.mark.parametrize(
    ("name", "before", "after", "others"),
    cases([("agg", 4, 2, {})], EVERY),
    ids=str,
)
def test_it_goes_on_beside_a_twin(
    spark: SparkSession,
    tmp_path: Path,
    name: str,
    before: int,
    after: int,
    others: Mapping[str, str],
) -> None:
    twins = Twins(spark, BY_NAME[name], tmp_path, before, **others)
    twins.go()
    then = tree(twins.root)
    report = twins.rewrite(after)
    sound(twins.root)
    # Of state nothing was changed.
    now = tree(twins.root)
    assert {n for n in then if now.get(n) != then[n]} <= {
        n for n in then if n.endswith(("/_metadata/metadata", "/_metadata/.metadata.crc"))
    }
    twins.go()
    sound(twins.root)
    assert plan(spark, str(twins.root), str(tmp_path / "x"), "rewrite").partitions == after
    if name == "agg":
        assert keys(twins.root, report.batch) == keys(twins.root, report.last_batch)
    again = before + 1 if before + 1 != after else before
    twins.rewrite(again)
    twins.go()
    sound(twins.root)
    write_report(twins.root, tmp_path / "report.html")
    assert main(["inspect", str(twins.root)]) == 0


@pytest.mark.parametrize(("before", "after"), cases([(3, 2)], [(4, 8), (3, 1)]))
def test_undone_and_rewound(
    spark: SparkSession,
    tmp_path: Path,
    before: int,
    after: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, before)
    twins.go()
    then = tree(twins.root)
    twins.rewrite(after)
    undone = undo(spark, str(twins.root))
    assert (undone.batch, undone.partitions) == (1, before)
    left = {name: of for name, of in then.items() if not name.endswith(".crc")}
    assert {name: of for name, of in tree(twins.root).items() if not name.endswith(".crc")} == left
    with pytest.raises(RefusedMoveError, match="nothing to undo"):
        undo(spark, str(twins.root))
    sound(twins.root)
    twins.go()

    rows = dict(twins.own.rows)
    batch = twins.rewrite(after).batch
    state = keys(twins.root)
    twins.go()
    with pytest.raises(RefusedMoveError, match=f"rewind --batch {batch}"):
        undo(spark, str(twins.root))
    rewind(twins.root, batch, stopped=True)
    sound(twins.root)
    assert Checkpoint(twins.root).last_batch == batch
    assert keys(twins.root) == state
    assert plan(spark, str(twins.root), str(tmp_path / "x"), "rewrite").partitions == before
    # What came since is read once more; the file source gives it as one batch.
    again = Run(spark, BY_NAME["agg"], tmp_path / "again", twins.source)
    again.on(twins.root)
    again.run(twins.settings)
    assert min(again.rows) == batch + 1
    sound(twins.root)
    assert keys(twins.root) == keys(twins.twin.checkpoint)
    # The rewrite that was taken back leaves nothing that another one trips over.
    twins.rewrite(after)
    sound(twins.root)
    assert keys(twins.root) == keys(twins.twin.checkpoint)
    assert rows
    last = Checkpoint(twins.root).last_batch
    capsys.readouterr()
    assert main(["move", "rewrite", str(twins.root), "--in-place", "--undo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["undone"]
    assert last is not None
    assert (told["batch"], told["partitions"]) == (last - 1, before)
    assert Checkpoint(twins.root).last_batch == last - 1


@pytest.mark.parametrize("manifests", cases([True], [False]))
def test_killed_in_between_no_query_starts(
    spark: SparkSession, tmp_path: Path, manifests: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 3)
    twins.go()
    last = Checkpoint(twins.root).last_batch
    before = keys(twins.root)
    twins.rewrite(5)
    begun(twins.root, manifests=manifests)
    copy = tmp_path / "copy"
    unload(spark)
    shutil.copytree(twins.root, copy)
    found = Checkpoint(copy)
    said = found.overview().half_done
    assert said is not None
    assert "in place to 5 partitions was begun" in said
    assert found.last_batch == last
    assert keys(copy) == before
    assert [f.what for f in found.verify().findings if f.severity == "error"] == [said]
    assert said in str(of_checkpoint(found.overview()))
    for refused in (
        lambda: clone(copy, tmp_path / "clone"),
        lambda: rewind(copy, 0, stopped=True),
    ):
        with pytest.raises(RefusedMoveError, match="is not finished"):
            refused()
    feed(twins.source, twins.fed)
    with pytest.raises(StreamingQueryException, match="UNFINISHED_REPARTITION"):
        twins.own.run(twins.settings)
    undo(spark, str(copy))
    sound(copy)
    assert keys(copy) == before
    assert main(["move", "rewrite", str(twins.root), "--in-place", "--partitions", "5"]) == 0
    assert "as batch 2" in capsys.readouterr().out
    sound(twins.root)
    twins.go()
    other = Run(spark, BY_NAME["agg"], tmp_path / "other", twins.source)
    other.on(copy)
    other.run(twins.settings)
    assert keys(copy) == keys(twins.root)


@at_night
def test_copies_of_before_and_after(spark: SparkSession, tmp_path: Path) -> None:
    for name, before, after in (("agg", 4, 2), ("agg", 2, 5), ("transform", 3, 5)):
        twins = Twins(spark, BY_NAME[name], tmp_path / f"{name}-{before}", before)
        twins.go()
        last = Checkpoint(twins.root).last_batch
        assert last is not None
        savepoints.create(twins.root, "before", stopped=True)
        twins.rewrite(after)
        own = dict(twins.own.rows)
        for copy, batch in (("at", last + 1), ("older", last)):
            target = twins.place / copy
            fork(twins.root, target, batch)
            sound(target)
            assert plan(spark, str(target), "/x", "rewrite").partitions == (
                before if copy == "older" else after
            )
        twins.go()
        clone(twins.root, twins.place / "held", savepoint="before")
        sound(twins.place / "held")
        expected = {n: of for n, of in twins.own.rows.items() if n not in own}
        for copy in ("at", "older", "held"):
            run = Run(spark, BY_NAME[name], twins.place / f"{copy}-run", twins.source)
            run.on(twins.place / copy)
            run.run(twins.settings)
            if copy == "held" or run.query.once:
                # The file source had seen the rest by then, and gives it as one batch.
                assert len(run.rows) == 1
            else:
                assert [run.rows[n] for n in sorted(run.rows)] == [
                    expected[n] for n in sorted(expected)
                ]
            if name == "agg":
                assert keys(twins.place / copy) == keys(twins.root)
            sound(twins.place / copy)
        rewind(twins.root, savepoint="before", stopped=True)
        sound(twins.root)
        assert plan(spark, str(twins.root), "/x", "rewrite").partitions == before


@at_night
def test_what_is_asked_of_it_knows_both_divisions(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 4)
    twins.go(3)
    batch = twins.rewrite(3).batch
    twins.go(3)
    found = Checkpoint(twins.root)
    own, twin = found.history().to_pylist(), Checkpoint(twins.twin.checkpoint).history().to_pylist()
    for version in range(1, batch + 2):
        assert sum(r["keys"] for r in own if r["version"] == version) == sum(
            r["keys"] for r in twin if r["version"] == version
        )
    assert {r["partition_id"] for r in own if r["version"] == batch + 1} == {0, 1, 2, 3}
    assert {r["partition_id"] for r in own if r["version"] == batch + 2} == {0, 1, 2}
    for key in ((1, "name-1"), (5, "name-5"), (7, "name-7")):
        rows = found.scan("history", key=key).to_arrow().to_pylist()
        others = Checkpoint(twins.twin.checkpoint).scan("history", key=key).to_arrow().to_pylist()
        values = [r["value"] for r in rows if r["version"] != batch + 2]
        assert values == [r["value"] for r in others]
    with pytest.raises(NoSuchStateError, match="rewritten in place between"):
        found.scan(kind="diff", since=batch + 1, version=batch + 3).to_arrow()
    assert found.scan(kind="diff", since=batch + 2, version=batch + 3).to_arrow().num_rows


def test_what_cannot_be_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 2)
    twins.go(1)
    before = tree(twins.root)
    root = str(twins.root)
    for wanted, said in (
        ({"partitions": 2}, "in 2 partitions already"),
        ({}, "how many partitions"),
        ({"partitions": 3, "buckets": 8}, "buckets was asked for"),
        ({"partitions": 3, "target": str(tmp_path / "x")}, "a target was asked for"),
        ({"partitions": 3, "checkpoint_format": 2}, "a format was asked for"),
        ({"partitions": 3, "batch": 0}, "a batch was asked for"),
    ):
        arguments = {"target": None, **wanted}
        with pytest.raises(RefusedMoveError, match=said):
            plan(spark, root, kind="rewrite", in_place=True, **arguments).run()  # type: ignore[arg-type]
    assert main(["move", "rewrite", root]) == 2
    assert main(["move", "rewrite", root, str(tmp_path / "x"), "--in-place"]) == 2
    assert tree(twins.root) == before


@at_night
def test_a_file_sink_misses_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """What docs/moving-in.md warns of: its log has to have every batch."""
    for in_place in (False, True):
        place = tmp_path / str(in_place)
        out, root = place / "out", place / "checkpoint"
        for number in range(4):
            feed(place / "input", number)
            with settings(spark, {PROVIDER: OURS, PARTITIONS: "2"}):
                rows = read(spark, place / "input").dropDuplicates(["k", "s"])
                writer = rows.writeStream.format("json").trigger(availableNow=True)
                writer.option("checkpointLocation", str(root)).start(str(out)).awaitTermination()
            if number == 1:
                moved = None if in_place else str(place / "moved")
                plan(spark, str(root), moved, "rewrite", partitions=3, in_place=in_place).run()
                root = root if in_place else place / "moved"
        if in_place:
            with pytest.raises(Exception, match="_spark_metadata/2 doesn't exist"):
                spark.read.json(str(out)).count()
        else:
            assert spark.read.json(str(out)).count() > 0


class ImpatientError(Exception):
    """What a callback may raise."""


@pytest.mark.parametrize("step", cases(["publish state"], ["copy"]))
def test_what_is_given_up_is_taken_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    # Steps are short here.
    monkeypatch.setattr(calls, "_POLL_SECONDS", 0.001)
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 4)
    twins.go()
    before = tree(twins.root)
    beside = spark.readStream.format("rate").load().writeStream.format("noop").start()
    steps = ["copy", "publish state", "verify", "publish"]

    def give_up(progress: Progress) -> None:
        if progress.step in steps[steps.index(step) :]:
            raise ImpatientError

    made = plan(spark, str(twins.root), None, "rewrite", partitions=2, in_place=True)
    try:
        with pytest.raises(ImpatientError) as raised:
            made.run(progress=give_up)
        now = tree(twins.root)
        assert "commits/2" not in now
        assert "offsets/2" not in now
        assert _without_runs(now) == _without_runs(before)
        sound(twins.root)
        # A query of somebody else has lost nothing by it.
        beside.processAllAvailable()
        assert beside.isActive
        (note,) = raised.value.__notes__
        assert "cancelled" in note
    finally:
        beside.stop()
    assert made.run().published
    twins.go()
    sound(twins.root)


def _without_runs(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """All but data files, which nothing may name, and sums that Hadoop has beside what it wrote."""
    return {n: of for n, of in files.items() if "/runs/" not in n and not n.endswith(".crc")}


def test_what_is_given_up_too_late_is_told_of(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 4)
    twins.go()

    def give_up(_: Progress) -> None:
        while not (twins.root / "commits" / "2").exists():
            time.sleep(0.01)
        raise ImpatientError

    made = plan(spark, str(twins.root), None, "rewrite", partitions=2, in_place=True)
    with pytest.raises(ImpatientError) as raised:
        made.run(progress=give_up)
    (note,) = raised.value.__notes__
    assert "was made all the same" in note
    sound(twins.root)


def test_an_interrupt_is_the_moves_alone(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 4)
    twins.go()
    cancelled: list[int] = []

    def sparks(*_: object) -> None:
        cancelled.append(1)

    sparks.__module__ = "pyspark.core.context"
    before = signal.signal(signal.SIGINT, sparks)
    try:
        made = plan(spark, str(twins.root), None, "rewrite", partitions=2, in_place=True)
        with pytest.raises(KeyboardInterrupt) as raised:
            made.run(progress=lambda _: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) is sparks
    finally:
        signal.signal(signal.SIGINT, before)
    assert not cancelled
    assert "cancelled" in raised.value.__notes__[0]
    sound(twins.root)
    twins.go()
