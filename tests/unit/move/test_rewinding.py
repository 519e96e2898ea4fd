"""Checkpoints that were made without Spark, taken back to an earlier batch."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.errors import (
    CheckpointError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
    OtherProviderError,
    RefusedMoveError,
    StorageError,
)
from bucketstate.move import clone, rewind, rewinding
from tests.kit.cases import cases
from tests.kit.checkpoints import Built, log
from tests.kit.stops import Stopped, Writes, tree
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_state import grown, rows

if TYPE_CHECKING:
    from pathlib import Path


def assert_at(built: Built, version: int) -> None:
    """Nothing is left of what was after it, and all of it is there."""
    report = Checkpoint(built.root).verify()
    assert report.ok, report.findings
    # Data files of manifests that are gone are retention's to delete.
    assert {f.what for f in report.findings} <= {"no manifest names it"}
    checkpoint = Checkpoint(built.root)
    assert checkpoint.restart_version == version
    assert rows(checkpoint.scan().to_arrow()) == built.rows(version)
    for log_ in ("offsets", "commits"):
        names = [p.name for p in (built.root / log_).iterdir()]
        assert max(int(n) for n in names if n.isdecimal()) == version - 1
        assert not [n for n in names if n.startswith(".") and int(n.split(".")[1]) >= version]
    for partition in range(built.partitions):
        store = checkpoint.store(0, partition)
        versions = [c.attempt.version for c in store.changelogs]
        assert max(versions + [m.attempt.version for m in store.manifests]) == version
    assert not (built.root / "_bucketstate/rewind.json").exists()


def forgotten(built: Built, version: int) -> Built:
    """The model goes back, too."""
    del built.states[version + 1 :]
    return built


@pytest.mark.parametrize("seed", cases(range(0, 24, 3), range(24)))
def test_back_to_every_version_and_on(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batches = chance.randrange(2, 9)
    ids = chance.random() < 0.5
    for version in range(1, batches + 1):
        root = tmp_path / str(version)
        built = grown(root, batches=batches, seed=seed, ids=ids)
        if chance.random() < 0.8:
            built.snapshot(*sorted(chance.sample(range(1, batches + 1), 2)))
        planned_too = chance.random() < 0.5
        if planned_too:
            built.batch({("planned",): (1, 1)}, commit=False)
        report = rewind(root, version - 1, stopped=planned_too)
        newest = built.version - 1
        assert report.dropped == tuple(range(version, newest + 1))
        assert report.changelogs == 2 * (newest + 1 - version)
        assert_at(built, version)
        forgotten(built, version).batch({(f"new-{seed}",): (7, 7)})
        assert_at(built, version + 1)
        built.snapshot(version + 1)
        assert_at(built, version + 1)


def test_what_is_told_of_it(built: Built) -> None:
    before = tree(built.root)
    planned = rewind(built.root, 2, dry_run=True)
    assert tree(built.root) == before
    done = rewind(built.root, 2)
    assert (planned.dry_run, done.dry_run) == (True, False)
    assert (done.batch, done.version, done.dropped) == (2, 3, (3, 4, 5))
    assert (done.manifests, done.changelogs) == (2, 6)
    for name in ("dropped", "manifests", "changelogs", "bytes"):
        assert getattr(planned, name) == getattr(done, name)
    gone = before.keys() - tree(built.root).keys()
    assert len(gone) == 8 + 3 + 3
    assert json.loads(json.dumps(done.to_dict()))["dropped"] == [3, 4, 5]
    assert tree(built.root).items() <= before.items()


def test_checksums_of_hadoop_go_along(built: Built) -> None:
    for name in (
        "offsets/.5.crc",
        "commits/.5.crc",
        "offsets/.1.crc",
        "state/0/0/.6.changelog.crc",
    ):
        (built.root / name).write_text("crc")
    rewind(built.root, 2)
    assert_at(built, 3)
    assert not (built.root / "state/0/0/.6.changelog.crc").exists()
    assert (built.root / "offsets/.1.crc").exists()


def test_nothing_after_it_is_nothing_to_do(built: Built) -> None:
    before = tree(built.root)
    report = rewind(built.root, 5)
    assert (report.dropped, report.changelogs, report.manifests) == ((), 0, 0)
    assert tree(built.root) == before
    assert not (built.root / "_bucketstate").exists()


def without_keys(root: Path) -> Built:
    """An operator of one partition, of which Spark records the query's number all the same."""
    built = Built(root, key=StructType(), partitions=1)
    for number in range(4):
        built.batch({(): (number, number)})
    metadata = root / "state/0/_metadata/metadata"
    text = metadata.read_text()
    metadata.write_text(text.replace('"numPartitions": 1', '"numPartitions": 2'))
    assert metadata.read_text() != text
    return built


def test_what_is_recorded_of_an_operator_without_keys_stays(tmp_path: Path) -> None:
    built = without_keys(tmp_path / "checkpoint")
    # A query that runs is not asked about where nothing is done.
    planned(built, 3, ago=0)
    before = tree(built.root)
    assert rewind(built.root, 3).dropped == ()
    assert tree(built.root) == before
    metadata = "state/0/_metadata/metadata"
    clone(built.root, tmp_path / "clone")
    assert tree(tmp_path / "clone")[metadata] == before[metadata]
    assert rewind(built.root, 1, stopped=True).dropped == (2, 3)
    assert tree(built.root)[metadata] == before[metadata]


def test_metadata_of_operators_go_back(tmp_path: Path) -> None:
    built = Variables(tmp_path)
    for n in range(4):
        built.batch(built.families(State(count={"a": (n, "x")}, last={"b": (2, 3)})))
        built.new_schemas()
    expected = Checkpoint(tmp_path).scan(state_var="count", batch=1).to_arrow()
    rewind(tmp_path, 1)
    # Of the run that began after the batch there is none any more: Spark writes none where one is.
    names = sorted(p.name for p in (tmp_path / "state/0/_metadata/v2").iterdir())
    assert names == ["0", "1"]
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.verify().ok
    assert checkpoint.scan(state_var="count").to_arrow().equals(expected)


def opened(root: Path, built: Built) -> int | None:
    """The version of which Spark would run the next batch; None where it fails.

    It takes the last batch of the offset log, which needs the one before it, and looks whether that
    was committed; with checkpoint ids it takes those of the last commit.
    """
    offsets = sorted(int(p.name) for p in (root / "offsets").iterdir())
    commits = sorted(int(p.name) for p in (root / "commits").iterdir())
    last = offsets[-1]
    if last > 0 and last - 1 not in offsets:
        return None
    version = last + 1 if commits[-1] == last else last
    checkpoint = Checkpoint(root)
    try:
        for partition in range(built.partitions):
            attempt = Attempt(version)
            if built.ids:
                own = built.checkpoint_id(commits[-1] + 1, partition)
                attempt = Attempt(version, own)
            checkpoint.store(0, partition).plan(attempt)
    except CheckpointError:
        return None
    return version


@pytest.mark.parametrize("ids", [False, True], ids=["format 1", "format 2"])
@pytest.mark.parametrize("planned", [False, True], ids=["committed", "planned"])
@pytest.mark.parametrize("batch", cases([2], [0, 2, 4]))
def test_stopped_at_every_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, planned: bool, ids: bool
) -> None:
    """What is left is the old state, or nothing that starts, or the state that was asked for."""
    built = grown(tmp_path / "original", ids=ids)
    built.snapshot(2, 4)
    built.snapshot(6)
    if planned:
        built.batch({("planned",): (1, 1)}, commit=False)
    outcomes = set()
    at = 0
    while True:
        root = tmp_path / f"rewound-{at}"
        shutil.copytree(built.root, root)
        with monkeypatch.context() as context:
            Writes(at).install(context)
            try:
                rewind(root, batch, stopped=planned)
            except Stopped:
                pass
            else:
                break
        version = opened(root, built)
        outcomes.add(version)
        assert version in (6, batch + 1, None)
        if version is not None:
            found = Checkpoint(root).scan(version=version).to_arrow()
            assert rows(found) == built.rows(version)
        if at > 1:
            checkpoint = Checkpoint(root)
            half_done = checkpoint.overview().half_done
            assert half_done is not None
            assert f"A rewind to batch {batch} was begun" in half_done
            assert "run the same command again, which finishes it" in half_done
            assert not checkpoint.verify().ok
        # One that has begun is finished without being asked again whether the query is stopped.
        begun = (root / "_bucketstate/rewind.json").exists()
        rewind(root, batch, stopped=planned and not begun)
        assert_at(Built(root, partitions=2, ids=ids, states=list(built.states)), batch + 1)
        at += 1
    assert at > 8
    assert outcomes == {6, batch + 1, None}


def test_every_failure_of_the_file_system_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> StorageError:
        return StorageError("Permission denied")

    for at in range(12):
        built = grown(tmp_path / str(at))
        with monkeypatch.context() as context:
            Writes(at, refused).install(context)
            with pytest.raises(StorageError, match="Permission denied"):
                rewind(built.root, 2)
        rewind(built.root, 2)
        assert_at(built, 3)


def test_another_batch_after_one_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path)
    with monkeypatch.context() as context:
        Writes(5).install(context)
        with pytest.raises(Stopped):
            rewind(built.root, 2)
    with pytest.raises(MissingFileError, match=r"6\.changelog is not there"):
        rewind(built.root, 5)
    rewind(built.root, 1)
    assert_at(built, 2)


def planned(built: Built, batch: int, *, ago: float) -> None:
    """Has a batch planned so many seconds ago."""
    conf = Checkpoint(built.root).query.settings(batch)
    ms = round((time.time() - ago) * 1000)
    log(built.root / f"offsets/{batch}", 1, {"batchTimestampMs": ms, "conf": conf}, "0")


def test_a_query_that_seems_to_run(built: Built) -> None:
    planned(built, 5, ago=20)
    before = tree(built.root)
    with pytest.raises(RefusedMoveError, match=r"batch 5 was planned 2\d s ago, so the query"):
        rewind(built.root, 2)
    assert "Stop it" in rewind(built.root, 2, dry_run=True).notes[0]
    assert tree(built.root) == before
    rewind(built.root, 2, stopped=True)
    assert_at(built, 3)


def test_a_query_that_seems_to_run_where_no_batch_is_dropped(built: Built) -> None:
    """There are files of a later version, which it may be writing."""
    built.write_changelog(7, 1, [], 0)
    planned(built, 5, ago=20)
    before = tree(built.root)
    with pytest.raises(RefusedMoveError, match=r"batch 5 was planned 2\d s ago, so the query"):
        rewind(built.root, 5)
    assert "Stop it" in rewind(built.root, 5, dry_run=True).notes[0]
    assert tree(built.root) == before
    report = rewind(built.root, 5, stopped=True)
    assert (report.dropped, report.changelogs) == ((), 1)
    assert_at(built, 6)


@pytest.mark.parametrize("ago", [300, 20])
def test_a_query_that_seems_to_be_within_a_batch(built: Built, ago: int) -> None:
    """However long ago that was planned: one that crashed within it leaves the same."""
    built.plan_batch(6)
    planned(built, 6, ago=ago)
    before = tree(built.root)
    with pytest.raises(RefusedMoveError) as refused:
        rewind(built.root, 2)
    said = str(refused.value)
    assert re.search(rf"batch 6 was planned {ago // 10}\d s ago and is not committed", said)
    assert "crashed within a batch looks the same" in said
    assert "--stopped" in said
    assert "is not committed" in rewind(built.root, 2, dry_run=True).notes[0]
    assert tree(built.root) == before
    assert rewind(built.root, 2, stopped=True).dropped == (3, 4, 5, 6)
    assert_at(built, 3)


def test_a_batch_that_is_not_committed_and_does_not_say_when_it_was_planned(built: Built) -> None:
    built.plan_batch(6)
    with pytest.raises(RefusedMoveError, match="batch 6 was planned and is not committed"):
        rewind(built.root, 5)
    assert rewind(built.root, 5, stopped=True).dropped == (6,)
    assert_at(built, 6)


def test_a_query_that_stopped_a_minute_ago(built: Built) -> None:
    planned(built, 5, ago=61)
    rewind(built.root, 2)
    assert_at(built, 3)


def test_a_query_that_runs_meanwhile(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    delete = rewinding._each_store

    def runs(*arguments: Any) -> None:
        delete(*arguments)
        built.plan_batch(9)

    with monkeypatch.context() as context:
        context.setattr(rewinding, "_each_store", runs)
        with pytest.raises(RefusedMoveError, match=r"offsets/9 was written while it was rewound"):
            rewind(built.root, 2)
    assert Checkpoint(built.root).overview().half_done is not None
    rewind(built.root, 2)
    assert_at(built, 3)


def test_batches_that_are_not_there(built: Built) -> None:
    before = tree(built.root)
    for batch in (6, -1):
        with pytest.raises(NoSuchStateError, match=f"no committed batch {batch}: .* 0 to 5"):
            rewind(built.root, batch)
    with pytest.raises(InvalidArgumentError, match="give a whole number"):
        rewind(built.root, "2")  # type: ignore[arg-type]
    built.drop_changelogs(4)
    with pytest.raises(MissingFileError, match=r"3\.changelog is not there"):
        rewind(built.root, 2)
    (built.root / "commits/2").unlink()
    with pytest.raises(NoSuchStateError, match=r"no committed batch 2: .* 0 to 1, 3 to 5"):
        rewind(built.root, 2)
    assert tree(built.root).items() <= before.items()
    rewind(built.root, 3)


def test_of_another_provider(tmp_path: Path) -> None:
    built = grown(tmp_path, provider="org.example.Other")
    with pytest.raises(OtherProviderError):
        rewind(built.root, 2)


def test_leftovers_of_attempts_go_too(tmp_path: Path) -> None:
    """Of a batch that was planned and failed, and of attempts that lost."""
    built = grown(tmp_path, ids=True)
    other = "11111111-1111-1111-1111-111111111111"
    for version in (2, 4, 7):
        built.write_changelog(version, 1, [], 0, checkpoint_id=other)
    rewind(built.root, 2)
    left = {p.name for p in built.folder(1).glob("*.changelog")}
    assert {n.split("_")[0] for n in left} == {"1", "2", "3"}
    assert f"2_{other}.changelog" in left
