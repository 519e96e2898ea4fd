"""Data files of all sizes: read in memory or with RocksDB, with the same entries."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format import runs
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
    ingested = runs._ingested

    def noted(file: Path, path: str) -> Any:
        found.append(path)
        return ingested(file, path)

    monkeypatch.setattr(runs, "_ingested", noted)
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


def test_only_a_large_file_is_opened_with_rocksdb(large: Built, opened: list[str]) -> None:
    checkpoint = Checkpoint(large.root)
    assert rows(checkpoint.scan().to_arrow()) == large.rows()
    opened.clear()
    assert checkpoint.verify().ok
    assert len(opened) == 1, "once, though it is verified and then read by the restart"


def test_some_small_files_are_read_with_rocksdb_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    built = grown(tmp_path, partitions=1)
    built.snapshot(2, 4, 6)
    files = [f.stat().st_size for f in (built.folder(0) / "runs").iterdir()]
    monkeypatch.setattr(runs, "_HELD", max(files))
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()
    assert 0 < len(opened) < len(files)


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
