"""Data files of all sizes: in memory or on the disk, with the same entries."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format import runs
from bucketstate.checkpoint.format.manifest_json import read_manifest
from bucketstate.checkpoint.format.names import ManifestName, parse
from bucketstate.checkpoint.format.sst import copy
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.live import Live
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def test_small_files_are_copied_to_the_disk_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path, partitions=1)
    built.snapshot(2, 4, 6)
    files = [f.stat().st_size for f in (built.folder(0) / "runs").iterdir()]
    monkeypatch.setattr(runs, "_HELD", max(files))
    copies: list[bool] = []
    made = copy.Copy.__init__

    def noted(self: copy.Copy, at: bytes | Path, path: str) -> None:
        copies.append(isinstance(at, bytes))
        made(self, at, path)

    monkeypatch.setattr(copy.Copy, "__init__", noted)
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()
    assert set(copies) == {True, False}


def test_a_file_that_rocksdb_has_taken_up_is_read(large: Built) -> None:
    folder = Folder.at(large.folder(0))
    name = parse("2.manifest")
    assert isinstance(name, ManifestName)
    for file in (f for run in read_manifest(folder, name).runs for f in run.files):
        with runs.Runs(folder) as opened:
            before = list(opened.entries(file))
            assert opened.entries_of(file, [runs.run_key(0, 0, b"none")]) == []
            opened.shut(file)
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
