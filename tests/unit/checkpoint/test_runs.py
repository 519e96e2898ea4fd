"""Data files of all sizes, here and far away: in memory, where they lie or copied to the disk."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import fs

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format import runs
from bucketstate.checkpoint.format.manifest_json import read_manifest
from bucketstate.checkpoint.format.names import ManifestName, parse
from bucketstate.checkpoint.format.sst import copy
from bucketstate.checkpoint.format.sst.opened import Opened
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import DamagedFileError, MissingFileError, StorageError
from bucketstate.live import Live
from tests.kit.checkpoints import Built
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint.test_state import grown, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bucketstate.checkpoint.format.manifest import RunFile


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The data files that were opened with RocksDB."""
    found: list[str] = []
    ingested = copy._ingested

    def noted(file: Path, path: str) -> Any:
        found.append(path)
        return ingested(file, path)

    monkeypatch.setattr(copy, "_ingested", noted)
    return found


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two data files, one of them above what is small."""
    made = Built(tmp_path_factory.mktemp("large"), partitions=1)
    keys = ((f"key-{n}-{n * n}",) for n in range(8_000))
    made.batch({key: (n, n * n) for n, key in enumerate(keys)})
    made.batch({("few",): (1, 1)})
    made.snapshot(1, 2, files=1)
    sizes = sorted(f.stat().st_size for f in (made.folder(0) / "runs").iterdir())
    assert sizes[0] < runs._SMALL < sizes[-1]
    return made


def test_only_keys_of_a_large_file_are_looked_up_with_rocksdb(
    large: Built, opened: list[str]
) -> None:
    checkpoint = Checkpoint(large.root)
    assert rows(checkpoint.scan().to_arrow()) == large.rows()
    assert checkpoint.verify().ok
    assert not opened
    with Live(large.root) as live:
        assert live.get("few").value == {"count": 1, "total": 1}
        assert live.get("key-7-49").value == {"count": 7, "total": 49}
        assert live.get("key-9-81").value == {"count": 9, "total": 81}
        assert len(opened) == 1
        # One that RocksDB has taken up is read all the same.
        assert rows(live.scan().to_arrow()) == large.rows()


def files_of(folder: Folder) -> list[RunFile]:
    """The data files of a store's second version."""
    name = parse("2.manifest")
    assert isinstance(name, ManifestName)
    return [file for run in read_manifest(folder, name).runs for file in run.files]


def far(path: Path) -> Checkpoint:
    """One on a file system that is not taken for a local disk."""
    return Checkpoint(path.name, fs.SubTreeFileSystem(str(path.parent), fs.LocalFileSystem()))


def test_small_files_are_copied_to_the_disk_where_memory_is_short(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path / "checkpoint", partitions=1)
    built.snapshot(2, 4, 6)
    files = [f.stat().st_size for f in (built.folder(0) / "runs").iterdir()]
    monkeypatch.setattr(runs, "_HELD", max(files))
    with closing(far(built.root).scan().to_arrow_batch_reader()) as reader:
        found = [reader.read_next_batch()]
        assert 0 < len(list(scratch.glob("*/*.sst"))) < len(files)
        found += reader
    assert rows(pa.Table.from_batches(found)) == built.rows()
    assert not list(scratch.iterdir())


def test_a_local_file_is_read_where_it_lies(large: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    checkpoint = Checkpoint(large.root)
    assert rows(checkpoint.scan().to_arrow()) == large.rows()
    assert checkpoint.verify().ok


def test_a_local_file_may_be_deleted_while_it_is_read(large: Built, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(large.root, root)
    scan = Checkpoint(root, memory=64 * 1024).scan()
    with closing(scan.to_arrow_batch_reader()) as reader:
        found = [reader.read_next_batch()]
        assert found[0].num_rows < len(large.rows())
        shutil.rmtree(root)
        found += reader
    assert rows(pa.Table.from_batches(found)) == large.rows()


@pytest.mark.parametrize("soft", [600, 3])
def test_more_files_than_a_hundred_stay_open_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soft: int
) -> None:
    """As many as the process may have; where one is gone that was shut, it is said what took it."""
    monkeypatch.setattr(runs, "_SMALL", 0)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    built = Built(tmp_path / "checkpoint", partitions=1, buckets=128)
    built.batch({(f"key-{n}",): (n, n) for n in range(4_000)})
    built.snapshot(1, files=128)
    assert len(list((built.folder(0) / "runs").iterdir())) > 110
    scan = Checkpoint(built.root, memory=4 * 1024).scan()
    with closing(scan.to_arrow_batch_reader()) as reader:
        found = [reader.read_next_batch()]
        shutil.rmtree(built.root)
        if soft > 500:
            found += reader
            assert rows(pa.Table.from_batches(found)) == built.rows()
            return
        with pytest.raises(MissingFileError, match=r"\.sst .*open the checkpoint again") as raised:
            found += reader
    assert "backup" not in str(raised.value)
    assert raised.value.path
    assert raised.value.path.endswith(".sst")


def test_a_file_that_went_before_it_was_opened_may_have_been_taken(
    large: Built, tmp_path: Path
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(large.root, root)
    for changelog in root.rglob("*.changelog"):
        changelog.unlink()

    def taken(kind: str, path: str) -> None:
        # Files were listed, and the manifest was read.
        if kind == "open" and path.endswith(".sst"):
            Path(path).unlink()

    with pytest.raises(MissingFileError) as raised:
        Checkpoint(str(root), FarFiles(taken).arrow()).scan().to_arrow()
    told = str(raised.value)
    assert raised.value.path
    assert told.startswith(f"{raised.value.path} is not there, but a manifest needs it.")
    assert "retention may have taken it" in told
    assert "open the checkpoint again" in told
    # Who does so and misses it again has lost it.
    with pytest.raises(MissingFileError, match="Restore the file from a backup") as raised:
        Checkpoint(root).scan().to_arrow()
    assert "retention" not in str(raised.value)


def open_files() -> list[Path]:
    """The data files that this process has open."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(handle.readlink())
    return [path for path in found if path.suffix == ".sst"]


def test_not_all_files_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may not have any number: those that were asked for last stay open."""
    monkeypatch.setattr(runs, "_SMALL", 0)
    monkeypatch.setattr(runs, "_ORIGINALS", 3)
    built = grown(tmp_path, partitions=1)
    built.snapshot(2, 4, 6, files=8)
    handles: list[int] = []
    scan = runs.Runs._scan

    def counted(self: runs.Runs, file: RunFile, low: bytes, high: bytes | None) -> Iterator[Any]:
        for found in scan(self, file, low, high):
            handles.append(len(open_files()))
            yield found

    monkeypatch.setattr(runs.Runs, "_scan", counted)
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()
    assert Checkpoint(tmp_path).verify().ok
    assert 3 <= max(handles) <= 3 + 3, "some that are asked for, and one that is read of each run"


def test_a_local_file_that_changes_while_it_is_read_is_damaged(
    large: Built, tmp_path: Path
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(large.root, root)
    (folder,) = {path.parent for path in root.rglob("*.manifest")}
    for file in files_of(Folder.at(folder)):
        with runs.Runs(Folder.at(folder)) as opened:
            opened.fetch([file])
            with (folder / file.name).open("r+b") as changed:
                changed.seek(file.size // 3)
                changed.write(bytes(64))
            if file.size <= runs._SMALL:
                assert sum(len(found) for found, _ in opened.entries(file)) == file.entries
                continue
            with pytest.raises(DamagedFileError, match="checksum"):
                list(opened.entries(file))


@pytest.mark.parametrize("fails", ["no folder", "no room"])
def test_a_temporary_folder_that_takes_no_copy_is_named(
    large: Built, monkeypatch: pytest.MonkeyPatch, fails: str, scratch: Path
) -> None:
    if fails == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(scratch / "none"))
    else:
        monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StorageError, match=r"runs/\S+ cannot be copied .* TMPDIR"):
        far(large.root).scan().to_arrow()


def full(path: Path, *_: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_a_file_that_rocksdb_has_taken_up_is_read(large: Built) -> None:
    folder = Folder.at(large.folder(0))
    for file in files_of(folder):
        databases = Opened(1)
        with runs.Runs(folder, databases=databases) as opened:
            before = list(opened.entries(file))
            assert opened.entries_of(file, [runs.run_key(0, 0, b"none")]) == []
            databases.ask("another", lambda: None)
            after = list(opened.entries(file))
            assert [r.changes() for r, _ in after] == [r.changes() for r, _ in before]
            assert opened.entries_of(file, [runs.run_key(0, 0, b"none")]) == []


@pytest.mark.usefixtures("each_reader")
def test_verify_leaves_no_file_behind_it(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path / "checkpoint", partitions=1, batches=7)
    built.snapshot(2, 4, 6)
    # A restart reads the runs of this one alone.
    built.snapshot(7, files=1)
    most = 0
    entries = runs.Runs.entries

    def counted(self: runs.Runs, file: Any) -> Iterator[Any]:
        nonlocal most
        yield from entries(self, file)
        most = max(most, len(list(scratch.glob("*/*"))))

    monkeypatch.setattr(runs.Runs, "entries", counted)
    assert Checkpoint(built.root).verify().ok
    assert most <= 2, "each database that a restart does not read goes before the next is made"
    assert not list(scratch.iterdir())
