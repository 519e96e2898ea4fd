"""A real query retains two batches, and what savepoints hold, until they are dropped."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.move import rewind
from tests.integration.applications import APPS, answer_of
from tests.integration.apps.held import KEYS, ROWS
from tests.kit.cases import cases

if TYPE_CHECKING:
    from pathlib import Path


def expected(batches: int) -> dict[int, int]:
    """How often each key is there after so many batches."""
    return Counter(n * number % KEYS for number in range(batches) for n in range(ROWS))


def counted(checkpoint: Path, batch: int) -> dict[int, int]:
    rows = Checkpoint(checkpoint).scan(batch=batch).to_pandas()
    return dict(zip(rows["key.key"], rows["value.count"], strict=True))


def versions(checkpoint: Path) -> list[int]:
    """Of the files of one store."""
    found = (checkpoint / "state/0/0").glob("*.*")
    return sorted({int(f.name.split(".")[0].split("_")[0]) for f in found})


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("checkpoint_format", cases([], ["1", "2"]))
def test_a_batch_is_held_until_it_is_dropped(tmp_path: Path, checkpoint_format: str) -> None:
    checkpoint = tmp_path / "checkpoint"

    def run(batches: int) -> None:
        app = [sys.executable, str(APPS / "held.py"), str(tmp_path), str(batches)]
        answer_of([*app, checkpoint_format], 170)

    run(4)
    made = savepoints.create(checkpoint, "fourth")
    assert made.batch == 3
    run(14)
    later = savepoints.create(checkpoint, "later")
    assert later.batch == 17
    run(16)
    # Spark's own logs know neither of them any more.
    assert min(Checkpoint(checkpoint).versions) > 30
    for savepoint in (made, later):
        assert counted(checkpoint, savepoint.batch) == expected(savepoint.batch + 1)
    assert counted(checkpoint, 33) == expected(34)
    assert set(versions(checkpoint)).isdisjoint(range(6, 12)), versions(checkpoint)
    report = Checkpoint(checkpoint).verify()
    assert report.ok, report.findings
    assert [f.severity for f in report.findings if f.severity != "note"] == []
    first = Checkpoint(checkpoint).overview().savepoints[0]
    assert (first.name, first.bytes is not None and first.bytes > 0) == ("fourth", True)
    savepoints.drop(checkpoint, "fourth")
    run(8)
    assert min(versions(checkpoint)) > 4
    assert counted(checkpoint, later.batch) == expected(18)
    rewind(checkpoint, savepoint="later", stopped=True)
    run(2)
    # What its source has seen since comes once more, each file once.
    last = Checkpoint(checkpoint).last_batch
    assert last is not None
    assert last < 22
    assert counted(checkpoint, last) == expected(44)
    assert Checkpoint(checkpoint).verify().ok
