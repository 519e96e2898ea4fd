"""What `verify` says of Spark's logs, and of a file system that fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import NoSuchStateError, StorageError
from tests.kit.checkpoints import Built
from tests.kit.far_files import FarFiles


@pytest.mark.parametrize("log", ["commits", "offsets"])
def test_a_number_far_beyond_all_others_is_told_at_once(built: Built, log: str) -> None:
    stray = built.root / log / str(2**63 - 2)
    shutil.copy(built.root / log / "4", stray)
    report = Checkpoint(built.root).verify()
    assert not report.ok
    assert any(f"has no batch 6 to {2**63 - 3}" in f.what for f in report.findings)


def test_an_offset_log_that_is_empty(built: Built) -> None:
    for file in (built.root / "offsets").iterdir():
        file.unlink()
    (finding,) = Checkpoint(built.root).verify().findings
    assert finding.path == str(built.root / "offsets")
    assert "is empty, though batch 5 was committed" in finding.what


@pytest.mark.parametrize("name", ["5.changelog", "4.manifest", ".sst", "commits/3", "offsets/2"])
def test_a_file_that_may_not_be_read_is_no_damage(built: Built, name: str) -> None:
    def refused(kind: str, path: str) -> None:
        if kind in ("open", "read") and path.endswith(name):
            raise PermissionError(13, "Permission denied", path)

    system = FarFiles(refused).arrow()
    with pytest.raises(StorageError, match="Permission denied"):
        Checkpoint(str(built.root), system).verify()


def test_a_negative_batch_is_none(built: Built) -> None:
    with pytest.raises(NoSuchStateError, match="There is no batch -1"):
        Checkpoint(Path(built.root)).scan(batch=-1).to_arrow()
