"""The commands that clone and rewind."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.cli.planned import _offsets
from tests.kit.checkpoints import log
from tests.kit.stops import tree
from tests.unit.checkpoint.test_state import rows
from tests.unit.move.test_going_back import held
from tests.unit.test_cli_checkpoint import ran

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.checkpoints import Built


def test_clone(capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path) -> None:
    text = ran(capsys, "clone", built.root, tmp_path / "clone", "--dry-run")
    assert f"{tmp_path}/clone would be a clone of {built.root} after batch 5" in text
    assert not (tmp_path / "clone").exists()
    text = ran(capsys, "clone", built.root, tmp_path / "clone")
    assert f"{tmp_path}/clone is a clone of {built.root} after batch 5" in text
    assert "2 stores at version 6" in text
    assert f"query id {Checkpoint(tmp_path / 'clone').query.id}" in text
    found = json.loads(
        ran(capsys, "clone", built.root, tmp_path / "old", "--batch", 2, "--copy", "--json")
    )
    assert (found["batch"], found["linked"], found["kind"]) == (2, 0, "clone")
    assert rows(Checkpoint(tmp_path / "old").scan().to_arrow()) == built.rows(3)
    ran(capsys, "clone", built.root, tmp_path / "same", "--link", "--keep-query-id")
    assert Checkpoint(tmp_path / "same").query.id == Checkpoint(built.root).query.id


def test_what_a_clone_has_of_a_planned_batch(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path
) -> None:
    built.batch({("more",): (1, 2)}, commit=False)
    text = ran(capsys, "clone", built.root, tmp_path / "clone")
    assert "batch 6 was planned, and runs as it was planned" in text


def test_fork(capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path) -> None:
    text = ran(capsys, "fork", built.root, tmp_path / "fork", "--batch", 3)
    assert f"{tmp_path}/fork is a fork of {built.root} after batch 3" in text
    with pytest.raises(SystemExit, match="2"):
        main(["fork", str(built.root), str(tmp_path / "other")])


def test_rewind(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    before = tree(built.root)
    text = ran(capsys, "rewind", built.root, "--batch", 2, "--dry-run")
    assert "batches 3 to 5 would be dropped, batch 2 is the last one" in text
    assert tree(built.root) == before
    text = ran(capsys, "rewind", built.root, "--batch", 4)
    assert "batch 5 dropped, batch 4 is the last one" in text
    found = json.loads(ran(capsys, "rewind", built.root, "--batch", 2, "--json"))
    assert found["dropped"] == [3, 4]
    assert rows(Checkpoint(built.root).scan().to_arrow()) == built.rows(3)
    text = ran(capsys, "rewind", built.root, "--batch", 2)
    assert "there is nothing after batch 2" in text


def test_rewind_of_a_query_that_seems_to_run(
    capsys: pytest.CaptureFixture[str], built: Built
) -> None:
    conf = Checkpoint(built.root).query.settings(5)
    ms = round(time.time() * 1000)
    log(built.root / "offsets/5", 1, {"batchTimestampMs": ms, "conf": conf})
    assert main(["rewind", str(built.root), "--batch", "2"]) == 1
    assert "so the query seems to run" in capsys.readouterr().err
    assert "seems to run" in ran(capsys, "rewind", built.root, "--batch", 2, "--dry-run")
    ran(capsys, "rewind", built.root, "--batch", 2, "--stopped")


def test_savepoints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = held(tmp_path / "source").root
    text = ran(capsys, "clone", root, tmp_path / "clone", "--savepoint", "kept")
    assert f"is a clone of {root} after batch 2" in text
    found = json.loads(ran(capsys, "fork", root, tmp_path / "fork", "--savepoint=kept", "--json"))
    assert (found["kind"], found["batch"], found["savepoint"]) == ("fork", 2, "kept")
    for both in (
        ["clone", str(root), str(tmp_path / "new")],
        ["fork", str(root), str(tmp_path / "new")],
        ["rewind", str(root)],
    ):
        with pytest.raises(SystemExit, match="2"):
            main([*both, "--batch", "2", "--savepoint", "kept"])
    capsys.readouterr()
    assert main(["rewind", str(root), "--savepoint", "other"]) == 1
    assert "has no savepoint 'other'. There are: kept." in capsys.readouterr().err
    text = ran(capsys, "rewind", root, "--savepoint", "kept", "--dry-run")
    assert "4 of Spark's own files would be restored from kept" in text
    text = ran(capsys, "rewind", root, "--savepoint", "kept")
    assert "batches 3 to 11 dropped, batch 2 is the last one" in text
    assert "4 of Spark's own files restored from kept" in text
    assert "nothing after batch 2" in ran(capsys, "rewind", root, "--savepoint", "kept")


def test_what_cannot_be_done_is_one_line(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path
) -> None:
    shutil.copytree(built.root, tmp_path / "clone")
    for command in (
        ["clone", str(built.root), str(tmp_path / "clone")],
        ["clone", str(tmp_path / "nothing"), str(tmp_path / "new")],
        ["clone", str(built.root), str(tmp_path / "new"), "--batch", "77"],
        ["rewind", str(built.root), "--batch", "77"],
        ["rewind", str(tmp_path / "nothing"), "--batch", "0"],
    ):
        assert main(command) == 1
        told = capsys.readouterr().err
        assert told.startswith("bucketstate: ")
        assert told.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_file_of_offsets_has_a_line_for_each_source(tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    given = ['{"a\u2028b":{"0":5}}', "-", "3"]
    file.write_text("\n".join([*given, "", ""]), encoding="utf-8")
    assert _offsets(str(file)) == given
