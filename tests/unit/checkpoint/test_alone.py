"""A version that is a manifest without a changelog: what moves state leaves such ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import MissingFileError
from bucketstate.report import write_report
from tests.unit.checkpoint.test_state import SMALL, grown, rows
from tests.unit.checkpoint.test_verify import damage

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("each_reader")


@pytest.mark.parametrize("memory", [SMALL, 2**28])
@pytest.mark.parametrize("with_older", [True, False])
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("alone", [1, 3, 6])
def test_every_version(
    tmp_path: Path, alone: int, ids: bool, with_older: bool, memory: int
) -> None:
    built = grown(tmp_path, ids=ids)
    built.stand_alone(alone, with_older=with_older)
    checkpoint = Checkpoint(tmp_path, memory=memory)
    for version in range(1, 7):
        if version < alone and not with_older:
            with pytest.raises(MissingFileError, match="is not there"):
                checkpoint.scan(version=version).to_arrow()
            continue
        assert rows(checkpoint.scan(version=version).to_arrow()) == built.rows(version)
        base = checkpoint.plan(version=version).base
        assert (base.version if base else 0) == (alone if version >= alone else 0)


@pytest.mark.parametrize("seed", range(8))
def test_histories_with_several_of_them(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    built = grown(tmp_path, batches=9, seed=seed, ids=chance.random() < 0.5)
    for version in sorted(chance.sample(range(1, 10), 3)):
        built.stand_alone(version)
    checkpoint = Checkpoint(tmp_path)
    for version in range(1, 10):
        assert rows(checkpoint.scan(version=version).to_arrow()) == built.rows(version)
    assert checkpoint.verify().findings == ()


@pytest.mark.parametrize("with_older", [True, False])
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("alone", [1, 3, 6])
def test_verify_finds_nothing_wrong_with_it(
    tmp_path: Path, alone: int, ids: bool, with_older: bool
) -> None:
    built = grown(tmp_path, ids=ids)
    built.stand_alone(alone, with_older=with_older)
    report = Checkpoint(tmp_path).verify()
    assert report.findings == ()
    kept = 6 if with_older or alone == 1 else 7 - alone
    assert report.versions == 2 * kept
    assert sum(r.keys for r in report.restarts) == len(built.rows())


def test_what_a_tool_leaves_of_one_batch(tmp_path: Path) -> None:
    """The version, and the log entries of its batch and of the one before."""
    built = grown(tmp_path)
    built.stand_alone(6, with_older=False)
    for log in ("offsets", "commits"):
        for batch in range(4):
            (tmp_path / log / str(batch)).unlink()
    report = Checkpoint(tmp_path).verify()
    assert report.findings == ()
    assert report.versions == 2
    built.batch({("new",): (1, 1)})
    assert Checkpoint(tmp_path).verify().findings == ()
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


def test_a_damaged_one_is_an_error_although_there_are_older_files(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.stand_alone(4)
    path = built.folder(0) / "4.manifest"
    damage(path, 100)
    report = Checkpoint(tmp_path).verify()
    assert not report.ok
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert (finding.severity, finding.path) == ("error", str(path))
    assert finding.what.endswith("versions 4 to 6 cannot be read, and a restart fails.")


def test_what_it_changed_is_not_known(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.stand_alone(4)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.scan("changes", since=4).to_arrow().num_rows > 0
    with pytest.raises(MissingFileError, match=r"its state is in 4\.manifest alone") as raised:
        checkpoint.scan("changes", since=3, version=5).to_arrow()
    assert "compare two states" in str(raised.value)
    found = checkpoint.scan("diff", since=3, version=5).to_arrow()
    assert found.num_rows > 0


def test_the_overview_and_the_history_have_it(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.stand_alone(4)
    checkpoint = Checkpoint(tmp_path)
    (store, _) = checkpoint.overview(4).operators[0].stores
    assert (store.manifest_version, store.changelogs, store.problem) == (4, 0, None)
    assert store.keys == len(built.states[4][0])
    row = checkpoint.history().slice(3, 1).to_pylist()[0]
    assert row["version"] == 4
    assert (row["manifest"], row["keys"]) == (True, len(built.states[4][0]))
    assert (row["changes"], row["changelog_bytes"]) == (None, None)
    (key, *_) = built.states[6][0]
    by_version = checkpoint.scan("history", key=key[0]).to_arrow().to_pylist()
    assert [r["version"] for r in by_version] == [1, 2, 3, 4, 5, 6]


def test_the_page_shows_it(tmp_path: Path) -> None:
    built = grown(tmp_path / "checkpoint")
    built.stand_alone(4)
    page = tmp_path / "report.html"
    write_report(tmp_path / "checkpoint", page)
    assert page.stat().st_size > 0
