"""Savepoints as what a checkpoint is cloned at and taken back to, long after Spark forgot them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.checkpoint.store.savepoint import encoded
from bucketstate.errors import (
    CheckpointError,
    DamagedFileError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
    RefusedMoveError,
    SavepointError,
)
from bucketstate.move import clone, fork, rewind
from tests.kit.checkpoints import Built, log
from tests.kit.stops import Stopped, Writes, tree
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_savepoints import files, purge, retired
from tests.unit.checkpoint.test_state import grown, rows
from tests.unit.checkpoint.test_verify import damage
from tests.unit.move.test_cloning import assert_same
from tests.unit.move.test_rewinding import assert_at, forgotten, opened

if TYPE_CHECKING:
    from pathlib import Path


def held(root: Path, *, batch: int = 2, more: int = 9, left: int = 2, **settings: Any) -> Built:
    """A checkpoint of whose batches Spark's logs have the last ones, and a savepoint an old one."""
    built = grown(root, batches=batch + 1, **settings)
    savepoints.create(root, "kept")
    for number in range(more):
        built.batch({(f"key {number}",): (number, 1), (f"key-{number}",): None})
    oldest = built.version - left
    built.snapshot(oldest)
    retired(built, oldest, range(1, batch + 2))
    purge(built, oldest)
    return built


def names(root: Path, log_: str) -> list[int]:
    return sorted(int(p.name) for p in (root / log_).iterdir() if p.name.isdecimal())


def copied(built: Built, root: Path) -> Built:
    shutil.copytree(built.root, root)
    return Built(root, partitions=built.partitions, ids=built.ids, states=list(built.states))


@pytest.mark.parametrize("seed", range(16))
def test_forked_and_taken_back(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batch, more, left = chance.randrange(6), chance.randrange(2, 9), chance.randrange(1, 4)
    ids, partitions = chance.random() < 0.5, chance.choice([1, 2, 5])
    built = held(
        tmp_path / "source",
        batch=batch,
        more=more,
        left=min(left, more),
        ids=ids,
        partitions=partitions,
        seed=seed,
    )
    if chance.random() < 0.5:
        built.batch({("planned",): (1, 1)}, commit=False)
    logs = [batch - 1, batch] if batch else [0]
    before = tree(built.root)
    for move in (clone, fork):
        target = tmp_path / move.__name__
        report = move(built.root, target, savepoint="kept")
        assert (report.batch, report.version) == (batch, batch + 1)
        assert (report.savepoint, report.planned_batch) == ("kept", None)
        assert_same(built, target, batch + 1)
        assert names(target, "offsets") == names(target, "commits") == logs
        # What is held is held in the source.
        assert not (target / "_bucketstate/savepoints").exists()
    assert tree(built.root) == before

    entries = {f"{log_}/{number}" for log_ in ("offsets", "commits") for number in logs}
    planned = rewind(built.root, savepoint="kept", stopped=True, dry_run=True)
    assert tree(built.root) == before
    done = rewind(built.root, savepoint="kept", stopped=True)
    assert planned.to_dict() | {"seconds": 0, "dry_run": False} == done.to_dict() | {"seconds": 0}
    assert (done.savepoint, done.restored) == ("kept", len(entries - before.keys()))
    assert_at(built, batch + 1)
    assert names(built.root, "offsets") == names(built.root, "commits") == logs
    (savepoint,) = savepoints.listed(built.root)
    assert all((built.root / n).read_bytes() == text for n, text in savepoint.files.items())

    forgotten(built, batch + 1).batch({(f"new-{seed}",): (7, 7)})
    assert_at(built, batch + 2)
    assert rows(Checkpoint(built.root).scan(batch=batch).to_arrow()) == built.rows(batch + 1)
    rewind(built.root, savepoint="kept")
    assert_at(forgotten(built, batch + 1), batch + 1)


@pytest.mark.parametrize("ids", [False, True], ids=["format 1", "format 2"])
@pytest.mark.parametrize("planned", [False, True], ids=["committed", "planned"])
@pytest.mark.parametrize(("batch", "more"), [(0, 9), (3, 9), (3, 3), (2, 2)])
def test_stopped_at_every_write(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    more: int,
    planned: bool,
    ids: bool,
) -> None:
    """What is left is the old state, or nothing that starts, or the savepoint's."""
    built = held(tmp_path / "original", batch=batch, more=more, ids=ids)
    newest = built.version
    if planned:
        built.batch({("planned",): (1, 1)}, commit=False)
    outcomes = set()
    at = 0
    while True:
        tried = copied(built, tmp_path / f"rewound-{at}")
        with monkeypatch.context() as context:
            Writes(at).install(context)
            try:
                rewind(tried.root, savepoint="kept", stopped=planned)
            except Stopped:
                pass
            else:
                break
        version = opened(tried.root, built)
        outcomes.add(version)
        assert version in (newest, batch + 1, None)
        if version is not None:
            found = Checkpoint(tried.root).scan(version=version).to_arrow()
            assert rows(found) == built.rows(version)
        # Stopped once more, and then not.
        with monkeypatch.context() as context:
            Writes(random.Random(at).randrange(12)).install(context)
            try:
                rewind(tried.root, savepoint="kept", stopped=planned)
            except Stopped:
                assert opened(tried.root, built) in (newest, batch + 1, None)
        rewind(tried.root, savepoint="kept", stopped=planned)
        assert_at(tried, batch + 1)
        assert names(tried.root, "offsets") == ([batch - 1, batch] if batch else [0])
        at += 1
    assert at > 10
    assert outcomes == {newest, batch + 1, None}


def test_a_clone_that_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = held(tmp_path / "source", ids=True)
    for at in itertools.count():
        target = tmp_path / f"clone-{at}"
        with monkeypatch.context() as context:
            Writes(at).install(context)
            try:
                clone(built.root, target, savepoint="kept")
            except Stopped:
                if (target / "commits/2").exists():
                    # All is there but the end of the marker.
                    assert rows(Checkpoint(target).scan().to_arrow()) == built.rows(3)
            else:
                break
        clone(built.root, target, savepoint="kept")
        assert_same(built, target, 3)
    assert at > 20


def test_metadata_and_schemas_that_are_gone(tmp_path: Path) -> None:
    built = Variables(tmp_path / "source")

    def batches(first: int, last: int) -> None:
        for n in range(first, last):
            built.batch(built.families(State(count={"a": (n, "x")}, last={"b": (2, 3)})))
            built.new_schemas()

    batches(0, 2)
    expected = Checkpoint(built.root).scan(state_var="count", batch=1).to_arrow()
    made = savepoints.create(built.root, "kept")
    batches(2, 5)
    for name in {*made.files, "state/0/_metadata/v2/0"}:
        (built.root / name).unlink()
    clone(built.root, tmp_path / "clone", savepoint="kept")
    rewind(built.root, savepoint="kept")
    for root in (built.root, tmp_path / "clone"):
        newest = [p.name for p in (root / "state/0/_metadata/v2").iterdir()]
        assert newest == ["1"]
        checkpoint = Checkpoint(root)
        assert checkpoint.query.copied is None
        assert checkpoint.verify().ok, checkpoint.verify().findings
        assert checkpoint.scan(state_var="count").to_arrow().equals(expected)
    assert str(built.root) not in (tmp_path / "clone/state/0/_metadata/v2/1").read_text()
    assert all((built.root / n).read_bytes() == text for n, text in made.files.items())


def test_other_partitions_since(tmp_path: Path) -> None:
    """Those of the savepoint are read, and what the others have of later batches goes."""
    built = held(tmp_path / "source")
    place = built.root / "state/0/_metadata/metadata"
    lines = place.read_text().splitlines()
    found = json.loads(lines[1])
    found["stateStoreInfo"][0]["numPartitions"] = 3
    log(place, 1, found)
    shutil.copytree(built.folder(1), built.folder(2))
    for number in (1, 2, 3):
        (built.folder(2) / f"{number}.changelog").unlink()
    checkpoint = Checkpoint(built.root)
    assert checkpoint.verify().ok
    assert (checkpoint.overview().savepoints[0].bytes or 0) > 0
    rewind(built.root, savepoint="kept")
    assert [p for p in built.folder(2).iterdir() if p.is_file()] == []


def test_a_savepoint_of_a_later_batch(tmp_path: Path) -> None:
    built = grown(tmp_path / "source")
    for name, batch in (("early", 1), ("same", 3), ("late", 4), ("last", 5)):
        savepoints.create(built.root, name, batch=batch, stopped=True)
    before = tree(built.root)
    for where in ({"batch": 3}, {"savepoint": "same"}, {"batch": 3, "dry_run": True}):
        with pytest.raises(
            RefusedMoveError, match=r"'late' \(batch 4\), 'last' \(batch 5\)\. Drop them first, or"
        ):
            rewind(built.root, **where)
    assert tree(built.root) == before
    fork(built.root, tmp_path / "fork", 3)
    savepoints.drop(built.root, "late")
    with pytest.raises(RefusedMoveError, match=r"'last' \(batch 5\)\. Drop it first, or fork"):
        rewind(built.root, 3)
    savepoints.drop(built.root, "last")
    rewind(built.root, 3)
    assert_at(forgotten(built, 4), 4)
    built.batch({("new",): (1, 1)})
    checkpoint = Checkpoint(built.root)
    assert [s.name for s in checkpoint.savepoints] == ["early", "same"]
    for batch in (1, 3):
        assert rows(checkpoint.scan(batch=batch).to_arrow()) == built.rows(batch + 1)
    assert checkpoint.verify().ok


def test_one_that_cannot_be_read(tmp_path: Path) -> None:
    """It may be of a later batch; another one is cloned all the same."""
    built = held(tmp_path / "source")
    savepoints.create(built.root, "other")
    (path,) = (p for p in files(built.root) if p.name.startswith("other"))
    damage(path, 40)
    with pytest.raises(DamagedFileError, match=path.name):
        rewind(built.root, savepoint="kept")
    clone(built.root, tmp_path / "clone", savepoint="kept")
    assert_same(built, tmp_path / "clone", 3)
    with pytest.raises(DamagedFileError, match=path.name):
        clone(built.root, tmp_path / "another", savepoint="other")


@pytest.mark.parametrize("name", ["../other", "offsets/../../other", "metadata", "/tmp/other"])
def test_one_that_has_files_of_elsewhere(tmp_path: Path, name: str) -> None:
    built = held(tmp_path / "source")
    (savepoint,) = savepoints.listed(built.root)
    other = dataclasses.replace(savepoint, files={**savepoint.files, name: b"text"})
    files(built.root)[0].write_bytes(encoded(other))
    before = tree(tmp_path)
    with pytest.raises(DamagedFileError, match="is no file of Spark's that a savepoint has"):
        rewind(built.root, savepoint="kept")
    assert tree(tmp_path) == before


def test_what_is_asked_for(tmp_path: Path) -> None:
    built = held(tmp_path / "source")
    root, target = built.root, tmp_path / "new"
    for both in (
        lambda: clone(root, target, batch=2, savepoint="kept"),
        lambda: fork(root, target, 2, savepoint="kept"),
        lambda: rewind(root, 2, savepoint="kept"),
    ):
        with pytest.raises(InvalidArgumentError, match=r"batch=2 and savepoint='kept' are given"):
            both()
    for neither in (lambda: fork(root, target), lambda: rewind(root)):
        with pytest.raises(InvalidArgumentError, match="Neither a batch nor a savepoint"):
            neither()
    with pytest.raises(NoSuchStateError, match=r"no savepoint 'other'\. There are: kept\."):
        rewind(root, savepoint="other")
    with pytest.raises(NoSuchStateError, match=r"The savepoint 'kept' holds it: name that"):
        fork(root, target, 2)
    assert not target.exists()


def test_two_files_of_one_name(tmp_path: Path) -> None:
    built = held(tmp_path / "source")
    (path,) = files(built.root)
    other = path.with_name(path.name.replace(path.name[5:9], "0000", 1))
    shutil.copy(path, other)
    with pytest.raises(RefusedMoveError, match=r"has 2 savepoints 'kept': give the name of one"):
        clone(built.root, tmp_path / "clone", savepoint="kept")
    clone(built.root, tmp_path / "clone", savepoint=path.name)
    assert_same(built, tmp_path / "clone", 3)


def test_a_batch_that_was_made_again(tmp_path: Path) -> None:
    built = held(tmp_path / "source")
    log(built.root / "commits/2", 1, {"nextBatchWatermarkMs": 7})
    with pytest.raises(RefusedMoveError, match=r"commits/2 is not what it was when the savepoint"):
        rewind(built.root, savepoint="kept")


def test_what_it_holds_is_gone(tmp_path: Path) -> None:
    built = held(tmp_path / "source")
    (built.folder(1) / "2.changelog").unlink()
    before = tree(built.root)
    with pytest.raises(MissingFileError, match=r"2\.changelog is not there"):
        rewind(built.root, savepoint="kept")
    assert tree(built.root) == before


def test_a_checkpoint_that_ends_before_it(tmp_path: Path) -> None:
    built = grown(tmp_path / "source")
    savepoints.create(built.root, "kept")
    for name in ("offsets/5", "commits/5"):
        (built.root / name).unlink()
    with pytest.raises(RefusedMoveError, match=r"ends with batch 4, before the savepoint 'kept'"):
        rewind(built.root, savepoint="kept")
    clone(built.root, tmp_path / "clone", savepoint="kept")
    assert_same(built, tmp_path / "clone", 6)


def test_a_savepoint_that_is_created_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rewind sees it, or it sees the rewind."""
    built = held(tmp_path / "source")
    before = tree(built.root)
    make = WritableFolder.make

    def at_once(folder: WritableFolder) -> None:
        monkeypatch.setattr(WritableFolder, "make", make)
        savepoints.create(built.root, "late")
        make(folder)

    monkeypatch.setattr(WritableFolder, "make", at_once)
    with pytest.raises(RefusedMoveError, match=r"'late' \(batch 11\)"):
        rewind(built.root, savepoint="kept")
    savepoints.drop(built.root, "late")
    assert tree(built.root) == before

    with monkeypatch.context() as context:
        Writes(5).install(context)
        with pytest.raises(Stopped):
            rewind(built.root, savepoint="kept")
    with pytest.raises(CheckpointError):
        savepoints.create(built.root, "late")
    rewind(built.root, savepoint="kept")
    assert_at(built, 3)


def test_none_is_created_while_a_rewind_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path)
    with monkeypatch.context() as context:
        Writes(2).install(context)
        with pytest.raises(Stopped):
            rewind(built.root, 2)
    with pytest.raises(SavepointError, match="A rewind to batch 2 was begun"):
        savepoints.create(built.root, "a")
    assert files(built.root) == []
