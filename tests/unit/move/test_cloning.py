"""Clones of checkpoints that were made without Spark."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from bucketstate import __version__
from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.names import RunName, parse
from bucketstate.checkpoint.format.origin import read_origin
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.errors import (
    BucketstateError,
    DamagedFileError,
    MissingFileError,
    NoSuchStateError,
    NotACheckpointError,
    RefusedMoveError,
    StorageError,
)
from bucketstate.move import CloneReport, clone, cloning, contents, fork, marker, rewind
from tests.kit.cases import each, places
from tests.kit.checkpoints import Built, log, manifest
from tests.kit.stops import Stopped, Writes, tree
from tests.kit.storage.far_files import FarFiles
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_state import grown, rows


def sourced(built: Built) -> Built:
    """With what Spark has beside state and logs: the logs of sources, checksums, writes."""
    for name, text in {
        "sources/0/0": "v1\n{}",
        "sources/0/.0.crc": "crc",
        "sources/0/9.compact": "v1\n{}\n{}",
        "sources/1/0": "v1\n{}",
        "offsets/.5.crc": "crc",
        "state/0/0/.6.changelog.crc": "crc",
        "state/0/0/_metadata/.schema.crc": "crc",
        ".metadata.crc": "crc",
    }.items():
        path = built.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return built


def assert_same(built: Built, target: Path, version: int) -> None:
    checkpoint = Checkpoint(target)
    report = checkpoint.verify()
    assert report.ok, report.findings
    assert [f.what for f in report.findings if f.severity != "note"] == []
    assert checkpoint.restart_version == version
    assert rows(checkpoint.scan().to_arrow()) == built.rows(version)


def test_all_that_a_clone_has(built: Built, tmp_path: Path) -> None:
    sourced(built)
    before = tree(built.root)
    target = tmp_path / "clone"
    report = clone(built.root, target)
    assert tree(built.root) == before
    assert_same(built, target, 6)
    of_state = {n for n in tree(target) if n.startswith("state/0/") and n.count("/") > 2}
    runs = {n for n in of_state if "/runs/" in n}
    assert runs
    assert set(tree(target)) - runs == {
        "_bucketstate/move.json",
        "commits/4",
        "commits/5",
        "metadata",
        "offsets/4",
        "offsets/5",
        "sources/0/0",
        "sources/0/9.compact",
        "sources/1/0",
        "state/0/_metadata/metadata",
        "state/0/0/_metadata/schema",
        *(f"state/0/{p}/{f}" for p in (0, 1) for f in ("4.manifest", "5.changelog", "6.changelog")),
    }
    same = tree(target)
    for name in same.keys() - {"_bucketstate/move.json", "metadata"}:
        assert same[name] == before[name], name
    assert (report.batch, report.version, report.planned_batch) == (5, 6, None)
    assert (report.operators, report.stores, report.files) == (1, 2, len(runs) + 6)
    assert report.linked == report.files
    assert report.keys == len(built.rows())
    assert report.bytes == sum((target / n).stat().st_size for n in of_state if "_meta" not in n)
    assert report.query_id == json.loads((target / "metadata").read_text())["id"]
    assert report.query_id != json.loads((built.root / "metadata").read_text())["id"]
    assert json.loads(json.dumps(report.to_dict())) == {**report.to_dict(), "notes": []}


def test_the_marker_says_where_it_came_from(built: Built, tmp_path: Path) -> None:
    report = clone(built.root, tmp_path / "clone", batch=3)
    marker = json.loads((tmp_path / "clone/_bucketstate/move.json").read_text())
    assert marker.pop("startedMs") <= marker.pop("finishedMs")
    assert len(marker.pop("token")) == 36
    assert marker == {
        "format": 1,
        "kind": "clone",
        "status": "finished",
        "source": f"file:{built.root}",
        "batch": 3,
        "tool": __version__,
        "stores": 2,
        "keys": report.keys,
        "bytes": report.bytes,
    }
    origin = Checkpoint(tmp_path / "clone").overview().origin
    assert origin is not None
    assert origin.summary.startswith(f"This is a clone of file:{built.root} after batch 3, made on")
    assert origin.summary.endswith(f"by bucketstate {__version__}.")


@pytest.mark.parametrize("seed", range(24))
def test_clones_at_every_version(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batches = chance.randrange(1, 9)
    built = grown(
        tmp_path / "source",
        batches=batches,
        seed=seed,
        ids=chance.random() < 0.5,
        partitions=chance.choice([1, 2, 5]),
        buckets=chance.choice([1, 8]),
    )
    if chance.random() < 0.8:
        built.snapshot(*sorted(chance.sample(range(1, batches + 1), min(batches, 2))))
    else:
        built.stand_alone(chance.randrange(1, batches + 1))
    before = tree(built.root)
    for version in range(1, batches + 1):
        target = tmp_path / f"clone-{version}"
        how: Any = chance.choice([None, "link", "copy"])
        report = clone(built.root, target, batch=version - 1, how=how)
        assert report.linked == (0 if how == "copy" else report.files)
        assert_same(built, target, version)
        # A clone can be cloned like any other.
        clone(target, tmp_path / f"second-{version}")
        assert_same(built, tmp_path / f"second-{version}", version)
    assert tree(built.root) == before


def test_a_clone_needs_nothing_of_its_source(built: Built, tmp_path: Path) -> None:
    clone(built.root, tmp_path / "clone")
    shutil.rmtree(built.root)
    assert_same(built, tmp_path / "clone", 6)


def test_a_batch_that_was_planned_is_taken_along(tmp_path: Path) -> None:
    built = grown(tmp_path / "source")
    built.batch({("more",): (1, 2)}, commit=False)
    report = clone(built.root, tmp_path / "clone")
    assert (report.batch, report.planned_batch) == (5, 6)
    assert (tmp_path / "clone/offsets/6").read_bytes() == (built.root / "offsets/6").read_bytes()
    assert not (tmp_path / "clone/state/0/0/7.changelog").exists()
    assert_same(built, tmp_path / "clone", 6)
    report = clone(built.root, tmp_path / "at", batch=5)
    assert report.planned_batch is None
    assert not (tmp_path / "at/offsets/6").exists()


def test_the_first_batch(tmp_path: Path) -> None:
    built = grown(tmp_path / "source")
    clone(built.root, tmp_path / "clone", batch=0)
    assert sorted(p.name for p in (tmp_path / "clone/offsets").iterdir()) == ["0"]
    assert_same(built, tmp_path / "clone", 1)


def test_a_query_id_is_kept_if_that_is_asked_for(built: Built, tmp_path: Path) -> None:
    report = clone(built.root, tmp_path / "clone", keep_query_id=True)
    assert report.query_id == Checkpoint(built.root).query.id
    assert report.query_id == Checkpoint(tmp_path / "clone").query.id


def test_a_fork_never_keeps_it(built: Built, tmp_path: Path) -> None:
    report = fork(built.root, tmp_path / "fork", 3)
    assert (report.kind, report.batch) == ("fork", 3)
    assert report.query_id == Checkpoint(tmp_path / "fork").query.id
    assert report.query_id != Checkpoint(built.root).query.id
    origin = Checkpoint(tmp_path / "fork").overview().origin
    assert origin is not None
    assert origin.kind == "fork"
    assert_same(built, tmp_path / "fork", 4)


def test_a_dry_run_writes_nothing(built: Built, tmp_path: Path) -> None:
    report = clone(built.root, tmp_path / "clone", dry_run=True)
    assert not (tmp_path / "clone").exists()
    assert (report.dry_run, report.files > 0, report.linked) == (True, True, 0)
    done = clone(built.root, tmp_path / "clone")
    assert (done.files, done.bytes, done.keys) == (report.files, report.bytes, report.keys)


def test_paths_of_schema_files_are_those_of_the_clone(tmp_path: Path) -> None:
    built = Variables(tmp_path / "source")
    for n in range(3):
        built.batch(built.families(State(count={"a": (n, "x")}, last={"b": (2, 3)})))
        built.new_schemas()
    expected = Checkpoint(built.root).scan(state_var="count", batch=1).to_arrow()
    target = tmp_path / "clone"
    clone(built.root, target, batch=1)
    shutil.rmtree(built.root)
    # The newest that was there when the batch was planned.
    assert [p.name for p in (target / "state/0/_metadata/v2").iterdir()] == ["1"]
    assert str(built.root) not in (target / "state/0/_metadata/v2/1").read_text()
    checkpoint = Checkpoint(target)
    assert checkpoint.query.copied is None
    assert checkpoint.verify().ok
    assert checkpoint.scan(state_var="count").to_arrow().equals(expected)


def test_metadata_of_later_batches_alone_are_an_error(tmp_path: Path) -> None:
    built = Variables(tmp_path / "source")
    for n in range(3):
        built.batch(built.families(State(count={"a": (n, "x")})))
    (built.root / "state/0/_metadata/v2/0").rename(built.root / "state/0/_metadata/v2/2")
    with pytest.raises(MissingFileError, match=r"has no metadata of batch 1 or before, only of"):
        clone(built.root, tmp_path / "clone", batch=1)
    assert not (tmp_path / "clone").exists()


def stopped(built: Built, target: Path, at: int, patch: pytest.MonkeyPatch, **how: Any) -> None:
    with patch.context() as context:
        Writes(at, **how).install(context)
        with pytest.raises((Stopped, BucketstateError)):
            clone(built.root, target)


def writes(built: Built, target: Path, patch: pytest.MonkeyPatch) -> int:
    with patch.context() as context:
        counted = Writes()
        counted.install(context)
        clone(built.root, target)
    return counted.count


def startable(target: Path) -> bool:
    """Whether Spark would begin a query, anew or not: it reads this file before anything else."""
    if not any(target.rglob("*")):
        return False
    file = target / "metadata"
    return not file.exists() or file.read_text().startswith("{")


@pytest.mark.parametrize("ids", [False, True])
def test_stopped_at_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: bool) -> None:
    built = sourced(grown(tmp_path / "source", ids=ids))
    built.snapshot(2, 4)
    before = tree(built.root)
    total = writes(built, tmp_path / "whole", monkeypatch)
    assert total > 40
    for at in places(total):
        target = tmp_path / f"clone-{at}"
        stopped(built, target, at, monkeypatch)
        starts = target.exists() and startable(target)
        assert starts == (at == total - 1)
        if starts:
            # All is there but the end of the marker.
            assert rows(Checkpoint(target).scan().to_arrow()) == built.rows()
            assert Checkpoint(target).overview().half_done is not None
        elif (
            target.exists()
            and any(target.iterdir())
            and (target / "_bucketstate/move.json").exists()
        ):
            told = "was begun as a clone of .*, and not finished: run the same command again"
            if (target / "offsets").exists():
                found = Checkpoint(target).verify()
                assert any("run the same command again" in f.what for f in found.findings)
                assert not any("metadata is damaged" in f.what for f in found.findings)
                assert not found.ok
            else:
                with pytest.raises(NotACheckpointError, match=told):
                    Checkpoint(target)
        report = clone(built.root, target)
        assert ("only its marker" in "".join(report.notes)) == (at == total - 1)
        assert_same(built, target, 6)
        names = tree(target).keys()
        assert names == tree(tmp_path / "whole").keys()
    assert tree(built.root) == before


def test_a_write_of_the_marker_that_was_cut(built: Built, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    (target / "_bucketstate").mkdir(parents=True)
    (target / "_bucketstate/.move.json.1.tmp").write_text("{")
    (target / ".metadata.1.tmp").write_text("The")
    clone(built.root, target)
    assert [p.name for p in (target / "_bucketstate").iterdir()] == ["move.json"]
    assert not (target / ".metadata.1.tmp").exists()
    other = tmp_path / "other"
    (other / "_bucketstate").mkdir(parents=True)
    (other / "_bucketstate/mine").write_text("text")
    with pytest.raises(RefusedMoveError, match="is not empty"):
        clone(built.root, other)


def test_stopped_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while what the first left is deleted."""
    built = grown(tmp_path / "source")
    total = writes(built, tmp_path / "whole", monkeypatch)
    for at in range(0, total + 6, 3):
        target = tmp_path / f"clone-{at}"
        stopped(built, target, total - 3, monkeypatch)
        with monkeypatch.context() as context:
            Writes(at).install(context)
            try:
                clone(built.root, target)
            except Stopped:
                pass
            else:
                continue
        clone(built.root, target)
        assert_same(built, target, 6)
        assert tree(target).keys() == tree(tmp_path / "whole").keys()


def test_a_query_that_ran_on_what_lacked_its_marker_alone_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path / "source")
    total = writes(built, tmp_path / "whole", monkeypatch)
    target = tmp_path / "clone"
    stopped(built, target, total - 1, monkeypatch)
    log(target / "commits/6", 1, {})
    with pytest.raises(RefusedMoveError, match=r"is complete, of .* after batch 5"):
        clone(built.root, target, batch=4)
    report = clone(built.root, target)
    assert "only its marker was completed" in report.notes[0]
    assert (target / "commits/6").exists()
    assert Checkpoint(target).overview().half_done is None


def test_every_failure_of_the_file_system_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = sourced(grown(tmp_path / "source"))
    total = writes(built, tmp_path / "whole", monkeypatch)

    def full() -> StorageError:
        return StorageError("No space left on device")

    for at in places(total):
        target = tmp_path / f"clone-{at}"
        with monkeypatch.context() as context:
            Writes(at, full).install(context)
            with pytest.raises(StorageError, match="No space left"):
                clone(built.root, target)
        clone(built.root, target)
        assert_same(built, target, 6)


def test_a_full_disk_names_the_file(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(
        StorageError, match=r"\.sst cannot be copied to .*: .*No space left on device"
    ):
        clone(built.root, tmp_path / "clone", how="copy")


@pytest.mark.parametrize("kind", ["finished", "file", "checkpoint"])
def test_a_folder_that_is_not_empty(built: Built, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "clone"
    if kind == "finished":
        clone(built.root, target)
    elif kind == "checkpoint":
        shutil.copytree(built.root, target)
    else:
        target.mkdir()
        (target / "mine.txt").write_text("text")
    before = tree(target)
    for _ in range(2):
        with pytest.raises(RefusedMoveError, match=r"is not empty: .*[gG]ive a folder"):
            clone(built.root, target)
    assert tree(target) == before


@pytest.mark.parametrize("inside", ["", "state", "new/folder"])
def test_never_into_the_source(built: Built, inside: str) -> None:
    before = tree(built.root)
    with pytest.raises(RefusedMoveError, match="or within it: give a folder elsewhere"):
        clone(built.root, built.root / inside)
    assert tree(built.root) == before


def test_batches_that_are_not_there(built: Built, tmp_path: Path) -> None:
    with pytest.raises(NoSuchStateError, match=r"no committed batch 6: .* has the batches 0 to 5"):
        clone(built.root, tmp_path / "clone", batch=6)
    with pytest.raises(NoSuchStateError, match="no committed batch -1"):
        clone(built.root, tmp_path / "clone", batch=-1)
    for n in range(6):
        (built.root / f"commits/{n}").unlink()
    with pytest.raises(NoSuchStateError, match="has no committed batch: nothing in it can be"):
        clone(built.root, tmp_path / "clone")


def test_a_version_that_retention_has_taken(built: Built, tmp_path: Path) -> None:
    built.drop_changelogs(4)
    clone(built.root, tmp_path / "clone", batch=3)
    with pytest.raises(MissingFileError, match=r"3\.changelog is not there"):
        clone(built.root, tmp_path / "older", batch=2)
    (built.root / "offsets/2").unlink()
    with pytest.raises(MissingFileError, match=r"offsets/2 is not there, and no query starts"):
        clone(built.root, tmp_path / "offsets", batch=3)
    assert not (tmp_path / "older").exists()
    assert not (tmp_path / "offsets").exists()


def test_damage_of_what_is_needed_is_told_and_of_other_files_is_not(
    built: Built, tmp_path: Path
) -> None:
    (built.folder() / "3.changelog").write_bytes(b"rubbish")
    clone(built.root, tmp_path / "clone")
    (built.folder() / "6.changelog").write_bytes(b"rubbish")
    with pytest.raises(DamagedFileError, match=r"6\.changelog is damaged"):
        clone(built.root, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_what_is_damaged_is_passed_over_as_a_reader_does(built: Built, tmp_path: Path) -> None:
    (built.folder() / "4.manifest").write_bytes(b"rubbish")
    clone(built.root, tmp_path / "clone")
    assert not (tmp_path / "clone/state/0/0/4.manifest").exists()
    assert_same(built, tmp_path / "clone", 6)


def test_a_file_that_retention_takes_meanwhile(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = contents.stores_at

    def taken(*arguments: Any) -> Any:
        found = begin(*arguments)
        (built.folder(1) / "5.changelog").unlink()
        return found

    with monkeypatch.context() as context:
        context.setattr(contents, "stores_at", taken)
        for how in ("link", "copy"):
            built.write_changelog(5, 1, [], 0)
            with pytest.raises(MissingFileError, match=r"5\.changelog is not there any more.*run"):
                clone(built.root, tmp_path / "clone", how=how)


def test_a_source_that_changes_meanwhile(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = contents.stores_at

    def replaced(*arguments: Any) -> Any:
        found = begin(*arguments)
        built.write_changelog(6, 1, [], 1)
        return found

    with monkeypatch.context() as context:
        context.setattr(contents, "stores_at", replaced)
        with pytest.raises(RefusedMoveError, match="/state/0/1 changed while it was cloned"):
            clone(built.root, tmp_path / "clone")
    assert not (tmp_path / "clone/offsets").exists()


def test_a_source_that_moves_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = grown(tmp_path / "source")
    begin = contents.stores_at

    def goes_on(*arguments: Any) -> Any:
        found = begin(*arguments)
        built.batch({("new",): (1, 2)})
        return found

    with monkeypatch.context() as context:
        context.setattr(contents, "stores_at", goes_on)
        clone(built.root, tmp_path / "clone")
    assert_same(built, tmp_path / "clone", 6)


def test_of_two_clones_into_one_folder_the_later_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, target = grown(tmp_path / "source"), tmp_path / "clone"
    check = cloning._check_source
    later: list[CloneReport] = []

    def overtaken(*arguments: Any) -> None:
        check(*arguments)
        monkeypatch.setattr(cloning, "_check_source", check)
        later.append(clone(built.root, target))

    monkeypatch.setattr(cloning, "_check_source", overtaken)
    with pytest.raises(RefusedMoveError, match=r"Another move into .* was begun since"):
        clone(built.root, target)
    assert json.loads((target / "metadata").read_text())["id"] == later[0].query_id
    origin = Checkpoint(target).overview().origin
    assert origin is not None
    assert origin.finished
    assert_same(built, target, later[0].version)


@pytest.mark.parametrize("begun", [False, True])
def test_a_clone_that_another_one_overtook_while_it_looked_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """It may take minutes to look at a source; meanwhile the other one has come to its end."""
    built, target = grown(tmp_path / "source"), tmp_path / "clone"
    if begun:
        total = writes(built, tmp_path / "whole", monkeypatch)
        stopped(built, target, total - 3, monkeypatch)
    look = contents.contents_of
    other: list[CloneReport] = []

    def overtaken(point: Any) -> Any:
        found = look(point)
        monkeypatch.setattr(cloning, "contents_of", look)
        other.append(clone(built.root, target))
        return found

    monkeypatch.setattr(cloning, "contents_of", overtaken)
    with pytest.raises(RefusedMoveError, match="is not empty: "):
        clone(built.root, target)
    assert json.loads((target / "metadata").read_text())["id"] == other[0].query_id
    assert_same(built, target, other[0].version)


def test_a_clone_that_began_while_this_one_looked_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, target = grown(tmp_path / "source"), tmp_path / "clone"
    total = writes(built, tmp_path / "whole", monkeypatch)
    look = contents.contents_of

    def overtaken(point: Any) -> Any:
        found = look(point)
        monkeypatch.setattr(cloning, "contents_of", look)
        stopped(built, target, total - 3, monkeypatch)
        return found

    monkeypatch.setattr(cloning, "contents_of", overtaken)
    with pytest.raises(RefusedMoveError, match="was empty when this move looked at it"):
        clone(built.root, target)
    clone(built.root, target)
    assert_same(built, target, 6)


def test_a_clone_that_ended_as_the_next_one_began_is_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, target = grown(tmp_path / "source"), tmp_path / "clone"
    total = writes(built, tmp_path / "whole", monkeypatch)
    stopped(built, target, total - 3, monkeypatch)
    begin = marker.begin

    def too_late(*arguments: Any) -> None:
        begin(*arguments)
        # The last write of the one before, which has looked at the marker already.
        (target / "metadata").write_text('{"id":"of a query"}')

    monkeypatch.setattr(marker, "begin", too_late)
    with pytest.raises(RefusedMoveError, match="was begun since"):
        clone(built.root, target)
    assert any((target / "state").rglob("*.changelog"))
    assert json.loads((target / "metadata").read_text()) == {"id": "of a query"}


def test_a_clone_that_is_overtaken_at_its_last_write_lets_no_query_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, target = grown(tmp_path / "source"), tmp_path / "clone"
    write = cloning._written

    def overtaken(folder: WritableFolder, name: str, data: bytes) -> None:
        if name == marker.OF_QUERY:
            own = read_origin(folder)
            assert own is not None
            marker.begin(folder, replace(own, token="another"))
        write(folder, name, data)

    with monkeypatch.context() as context:
        context.setattr(cloning, "_written", overtaken)
        with pytest.raises(RefusedMoveError, match="was begun since"):
            clone(built.root, target)
    assert not startable(target)
    clone(built.root, target)
    assert_same(built, target, 6)


def test_disks_without_links(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlinked(*_: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", unlinked)
    with pytest.raises(RefusedMoveError, match=r"cannot be linked .*Leave the links out"):
        clone(built.root, tmp_path / "clone", how="link")
    report = clone(built.root, tmp_path / "clone")
    assert report.linked == 0
    assert "files were copied: they cannot be linked" in report.notes[0]
    assert_same(built, tmp_path / "clone", 6)


def test_links_are_of_files_of_state_alone(built: Built, tmp_path: Path) -> None:
    sourced(built)
    clone(built.root, tmp_path / "clone")
    for name in tree(tmp_path / "clone"):
        path = tmp_path / "clone" / name
        of_store = parse("/".join(name.split("/")[3:])) if name.startswith("state") else None
        assert (path.stat().st_nlink == 2) == (of_store is not None), name
        if isinstance(of_store, RunName):
            assert path.samefile(built.root / name)


class AnotherFiles(FarFiles):
    """As a local folder, and written to, but none to the reader: files come by its own requests."""

    def __init__(
        self, during: Callable[[str, str], None] = lambda _kind, _path: None, *, copies: bool
    ) -> None:
        super().__init__(during)
        self._copies = copies

    def open_input_stream(self, path: str) -> Any:
        return self._local.open_input_stream(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002
        with self.request("put", path):
            return self._local.open_output_stream(path)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._local.create_dir(path, recursive=recursive)

    def move(self, src: str, dest: str) -> None:
        self._local.move(src, dest)

    def delete_file(self, path: str) -> None:
        self._local.delete_file(path)

    def delete_dir(self, path: str) -> None:
        self._local.delete_dir(path)

    def copy_file(self, src: str, dest: str) -> None:
        if not self._copies:
            raise NotImplementedError("no such request")
        with self.request("copy", src):
            self._local.copy_file(src, dest)


@pytest.mark.parametrize("copies", [True, False])
def test_files_far_away(built: Built, tmp_path: Path, copies: bool) -> None:
    far = AnotherFiles(copies=copies)
    both = fs.PyFileSystem(far)
    with pytest.raises(RefusedMoveError, match="not both on a local disk"):
        clone(str(built.root), str(tmp_path / "clone"), how="link", filesystem=both)
    report = clone(str(built.root), str(tmp_path / "clone"), filesystem=both)
    assert report.linked == 0
    # Files of state, and the schema: by the file system itself where it can.
    assert far.requests["copy"] == (report.files + 1 if copies else 0)
    assert_same(built, tmp_path / "clone", 6)


def test_every_request_that_fails_is_told(built: Built, tmp_path: Path) -> None:
    """At the source and at the target: what was begun is then begun anew."""
    asked = 0
    fails_at = None

    def request(kind: str, path: str) -> None:
        nonlocal asked
        asked += 1
        if asked == fails_at:
            raise OSError(f"{kind} of {path} was refused")

    far = fs.PyFileSystem(AnotherFiles(request, copies=True))
    clone(str(built.root), str(tmp_path / "whole"), filesystem=far)
    total, told = asked, 0
    for at in range(1, total + 1, each(7, 3)):
        asked, fails_at = 0, at
        target = tmp_path / f"clone-{at}"
        with pytest.raises(StorageError, match="was refused"):
            clone(str(built.root), str(target), filesystem=far)
        told += 1
        fails_at = None
        clone(str(built.root), str(target), filesystem=far)
        assert_same(built, target, 6)
    assert told > each(12, 30)


def test_from_one_file_system_to_another(built: Built, tmp_path: Path) -> None:
    far = AnotherFiles(copies=True)
    clone(
        str(built.root),
        str(tmp_path / "clone"),
        filesystem=fs.PyFileSystem(far),
        target_filesystem=fs.LocalFileSystem(),
    )
    assert far.requests["copy"] == far.requests["put"] == 0
    assert_same(built, tmp_path / "clone", 6)


def test_whole_paths_need_a_uri(tmp_path: Path) -> None:
    built = Variables(tmp_path / "source")
    built.batch(built.families(State(count={"a": (1, "x")})))
    with pytest.raises(RefusedMoveError, match="give the folder as a URI, without a file system"):
        clone(
            str(built.root),
            str(tmp_path / "clone"),
            filesystem=fs.LocalFileSystem(),
            target_filesystem=fs.PyFileSystem(AnotherFiles(copies=True)),
        )


def test_an_unfinished_clone_is_not_cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = grown(tmp_path / "source")
    total = writes(built, tmp_path / "whole", monkeypatch)
    stopped(built, tmp_path / "half", total - 1, monkeypatch)
    with pytest.raises(RefusedMoveError, match="and not finished: run the same command again"):
        clone(tmp_path / "half", tmp_path / "clone")


def test_ten_gigabytes_take_no_time(tmp_path: Path) -> None:
    """Nobody looks at what is in data files: these are long, and hold nothing more."""
    built = grown(tmp_path / "source", batches=3, partitions=64)
    built.snapshot(1, 2)
    files = 0
    for path in built.root.rglob("2.manifest"):
        members = json.loads(path.read_bytes())
        del members["checksum"]
        for file in (f for run in members["runs"] for f in run["files"]):
            file["bytes"] = 200 << 20
            os.truncate(path.parent / file["name"], file["bytes"])
            files += 1
        path.write_bytes(manifest(members))
    report = clone(built.root, tmp_path / "clone")
    assert report.bytes > files * (200 << 20) > 10 << 30
    assert report.seconds < 5
    assert rewind(built.root, 1).seconds < 2
