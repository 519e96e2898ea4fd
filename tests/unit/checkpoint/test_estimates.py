"""Key counts that are estimates: said where they are shown, and held against nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import DamagedFileError
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rewrite, rows
from tests.unit.checkpoint.test_verify import verified

if TYPE_CHECKING:
    from pathlib import Path


def rewrite_manifest(built: Built, version: int, **change: Any) -> None:
    """The manifest of partition 0 with other members; `family` are those of its family."""
    families = json.loads((built.folder(0) / f"{version}.manifest").read_bytes())["families"]
    families[0] |= change.pop("family", {})
    built.rewrite_manifest(version, families=families, **change)


ESTIMATE = {"format_version": 3, "flags": 4}


@pytest.mark.parametrize("keys", [0, 7, 100_000])
def test_an_estimate_in_a_changelog_is_no_damage(tmp_path: Path, keys: int) -> None:
    built = grown(tmp_path)
    rewrite(built, 6, keys, **ESTIMATE)
    assert rows(Checkpoint(tmp_path).to_arrow()) == built.rows()
    report = verified(tmp_path)
    assert report.ok, report.findings
    # What was counted, and not what was estimated.
    assert sum(r.keys for r in report.restarts) == len(built.rows())
    (operator,) = Checkpoint(tmp_path).overview().operators
    assert [s.families[0].estimated for s in operator.stores] == [True, False]
    assert operator.stores[0].keys == keys


@pytest.mark.parametrize("keys", [0, 7, 100_000])
def test_an_estimate_in_a_manifest_is_no_damage(tmp_path: Path, keys: int) -> None:
    built = grown(tmp_path)
    built.snapshot(2, 6)
    family = {"keyCount": keys, "keyCountIsEstimate": True}
    rewrite_manifest(built, 6, formatVersion=3, family=family)
    checkpoint = Checkpoint(tmp_path)
    base = checkpoint.plan().base
    assert base is not None
    assert base.version == 6
    assert base.families[0].estimated
    assert rows(checkpoint.to_arrow()) == built.rows()
    assert verified(tmp_path).ok


def test_the_same_numbers_are_damage_where_they_are_said_to_be_exact(tmp_path: Path) -> None:
    built = grown(tmp_path)
    rewrite(built, 6, 7, format_version=3)
    with pytest.raises(DamagedFileError, match="should hold 7 keys"):
        Checkpoint(tmp_path).to_arrow()
    assert not verified(tmp_path).ok


@pytest.mark.parametrize(("format_version", "most"), [(1, 1), (2, 3)])
def test_older_formats_have_no_estimates(tmp_path: Path, format_version: int, most: int) -> None:
    built = grown(tmp_path)
    built.snapshot(5)
    family = {"keyCount": 7, "keyCountIsEstimate": True}
    rewrite_manifest(built, 5, formatVersion=format_version, family=family)
    base = Checkpoint(tmp_path).plan().base
    assert base is not None
    assert not base.families[0].estimated
    rewrite(built, 6, 7, format_version=format_version, flags=4)
    with pytest.raises(DamagedFileError, match=f"has the flags 4, not 0 to {most}"):
        Checkpoint(tmp_path).to_arrow()
