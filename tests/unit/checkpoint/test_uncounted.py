"""Files that do not say how many keys there are: it is told, and held against nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint, KeysAt
from bucketstate.cli import main
from bucketstate.cli.terminal.tables import keys_of
from bucketstate.errors import DamagedFileError
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rewrite, rows
from tests.unit.checkpoint.test_verify import verified

if TYPE_CHECKING:
    from pathlib import Path


def rewrite_manifest(built: Built, version: int, **family: Any) -> None:
    """The manifest of partition 0 with other members of its family, but for those that are None."""
    families = json.loads((built.folder(0) / f"{version}.manifest").read_bytes())["families"]
    changed = families[0] | family
    families[0] = {name: of for name, of in changed.items() if of is not None}
    built.rewrite_manifest(version, families=families)


def test_a_changelog_need_not_say_how_many(tmp_path: Path) -> None:
    built = grown(tmp_path)
    rewrite(built, 6, None)
    checkpoint = Checkpoint(tmp_path)
    assert rows(checkpoint.scan().to_arrow()) == built.rows()
    report = verified(tmp_path)
    assert report.ok, report.findings
    assert sum(r.keys for r in report.restarts) == len(built.rows())
    (operator,) = checkpoint.overview().operators
    uncounted, counted = operator.stores
    assert uncounted.keys is None
    assert uncounted.families[0].last_count is None
    assert keys_of(uncounted.families) == "not counted"
    assert counted.keys == len(built.states[6][1])
    by_version = checkpoint.history().to_pylist()
    assert [r["version"] for r in by_version if r["keys"] is None] == [6]
    assert checkpoint.scan().keys_per_time_bucket().column("keys").null_count == 1


def test_how_many_a_restart_must_hold_is_told_without_their_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = grown(tmp_path)
    rewrite(built, 6, None)
    (operator,) = Checkpoint(tmp_path).overview().operators
    uncounted, counted = (s.residency for s in operator.stores)
    assert uncounted is not None
    assert counted is not None
    assert uncounted.resident_share is None
    assert main(["inspect", str(tmp_path), "-v"]) == 0
    told = capsys.readouterr().out.partition("cold in data files")[2]
    cells = [line.strip("│").split("│")[-1].strip() for line in told.splitlines() if "│" in line]
    assert cells == [f"{uncounted.resident_keys:,}", f"{counted.resident_keys:,} (100.0%)"]
    assert uncounted.resident_keys > 0


def test_what_was_counted_last_is_told_with_its_version(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(2, 4)
    rewrite(built, 5, None)
    rewrite(built, 6, None)
    at_4 = len(built.states[4][0])
    (operator,) = Checkpoint(tmp_path).overview().operators
    family = operator.stores[0].families[0]
    assert (family.keys, family.last_count) == (None, KeysAt(4, at_4))
    assert keys_of([family]) == f"{at_4} (at version 4)"
    assert keys_of(f for s in operator.stores for f in s.families).endswith("(at version 4)")


def test_a_manifest_need_not_say_how_many_and_knows_the_last_count(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(2, 6)
    rewrite_manifest(built, 6, keyCount=None, lastCount={"version": 3, "keys": 17})
    checkpoint = Checkpoint(tmp_path)
    assert rows(checkpoint.scan().to_arrow()) == built.rows()
    assert verified(tmp_path).ok
    (operator,) = checkpoint.overview().operators
    assert operator.stores[0].families[0].last_count == KeysAt(3, 17)
    residency = operator.stores[0].residency
    assert residency is not None
    assert (residency.resident_keys, residency.resident_share) == (0, None)


@pytest.mark.parametrize("version", [3, 4])
def test_a_last_count_is_of_an_older_version_and_alone(tmp_path: Path, version: int) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    keys = None if version == 4 else 1
    rewrite_manifest(built, 4, keyCount=keys, lastCount={"version": version, "keys": 1})
    skipped = Checkpoint(tmp_path).plan().skipped
    assert "an older count is of an older version" in str(skipped[0])


def test_what_is_counted_is_held_to_its_count(tmp_path: Path) -> None:
    built = grown(tmp_path)
    rewrite(built, 6, 7)
    with pytest.raises(DamagedFileError, match="should hold 7 keys"):
        Checkpoint(tmp_path).scan().to_arrow()
    assert not verified(tmp_path).ok
