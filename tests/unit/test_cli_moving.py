"""The commands that clone and rewind."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.cli.planned import _encoders, _files, _offsets
from bucketstate.cli.steps import StepRates
from bucketstate.cli.terminal import console
from bucketstate.errors import InvalidArgumentError
from bucketstate.move.planning import Progress
from tests.kit.checkpoints import log
from tests.kit.stops import tree
from tests.unit.checkpoint.test_state import rows
from tests.unit.move.test_going_back import held
from tests.unit.test_cli_bad_output import closed_pipe
from tests.unit.test_cli_checkpoint import ran

if TYPE_CHECKING:
    from pathlib import Path

    from bucketstate.move.planning import Plan, Report
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


def test_a_file_of_offsets_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    file.write_bytes(b"{}\n\xff")
    with pytest.raises(InvalidArgumentError, match="no UTF-8 at byte 3: give lines of Spark's"):
        _offsets(str(file))


def test_a_file_of_offsets_has_a_line_for_each_source(tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    given = ['{"a\u2028b":{"0":5}}', "-", "3"]
    file.write_text("\n".join([*given, "", ""]), encoding="utf-8")
    assert _offsets(str(file)) == given


def test_what_is_said_of_the_steps_of_a_move() -> None:
    """Numbers of one step are not held against another's, which begin at 0 again."""
    rates = StepRates()

    def said(step: str, now: float, **counts: int) -> tuple[str, int, str]:
        none = {"read": 0, "written": 0, "checked": 0, "bytes": 0}
        found = rates.of(Progress(step=step, **(none | counts)), now)
        return found.step, found.keys, found.said

    assert said("look at keys", 10.0) == ("look at keys", 0, "")
    assert said("copy", 11.0) == ("copy", 0, "")
    assert said("copy", 13.0, read=5000) == ("copy", 5000, "5,000 keys read, 2,500 keys/s")
    written = {"read": 9000, "written": 10, "bytes": 500}
    assert said("copy", 20.0, **written) == ("copy", 10, "10 keys written")
    written |= {"written": 9000, "bytes": 4 * 1024 * 1024}
    told = "9,000 keys written, 4,500 keys/s, 2.0 MiB/s"
    assert said("copy", 22.0, **written) == ("copy", 9000, told)
    assert said("publish state", 23.0, **written) == ("publish state", 0, "")
    checked = written | {"checked": 600}
    assert said("verify", 30.0, **checked) == ("verify", 600, "600 keys read back")
    checked |= {"checked": 1200}
    told = "1,200 keys read back, 2,400 keys/s"
    assert said("verify", 30.5, **checked) == ("verify", 1200, told)
    assert said("read", 31.0, read=7) == ("read", 7, "7 keys read")


def test_the_bar_of_a_move_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with console.steps() as told:
        told("copy", 10, 20, "10 keys written, 5 keys/s, 2.0 MiB/s")
    shown = terminal.getvalue()
    assert "copy" in shown
    assert "10 keys written, 5 keys/s, 2.0 MiB/s" in shown
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    with console.steps() as told:
        told("copy", 10, 20, "10 keys written")
    assert file.getvalue() == ""


def test_a_move_is_made_and_looked_at_where_nobody_reads(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind `| grep -m1 WARN`, which leaves before the plan is printed."""
    (built.root / "state/0/0/6.changelog").write_bytes(b"other")
    report = SimpleNamespace(
        published=True,
        verified="full",
        target=str(built.root),
        batch=5,
        last_batch=5,
        keys=3,
        seconds=1.0,
        bytes=10,
        deleted_keys=0,
        given_keys=0,
    )
    runs: list[object] = []

    def run(progress: object) -> object:
        runs.append(progress)
        return report

    made = SimpleNamespace(
        kind="rewrite",
        batch=5,
        why_batch="the last one",
        version=6,
        source_provider="bucketstate",
        target_provider="bucketstate",
        in_place=False,
        is_possible=True,
        operators=[],
        space=10,
        session={"spark.sql.shuffle.partitions": "8"},
        findings=[],
        run=run,
    )
    monkeypatch.setattr("bucketstate.cli.planned.session", lambda _: nullcontext())
    monkeypatch.setattr("bucketstate.move.planning.plan", lambda *_, **__: made)
    with monkeypatch.context() as during:
        during.setattr(sys, "stdout", closed_pipe())
        during.setattr(sys, "stderr", closed_pipe())
        target = str(tmp_path / "target")
        code = main(["move", "rewrite", str(built.root), target, "--partitions", "8"])
    assert len(runs) == 1
    # What was made is damaged, and that is looked at after the report is printed.
    assert code == 3


def test_the_encoders_of_many_families_are_counted() -> None:
    families = [{"encoder": f"{n}StateEncoderSpec"} for n in ("A", "B", "A", "A")]
    assert _encoders(families) == "3 A, B"
    assert _encoders(families[:1]) == "A"


def test_what_verify_says_of_a_target(built: Built, tmp_path: Path) -> None:
    def of(target: Path, verified: str = "full", provider: str = "bucketstate") -> Any:
        made = SimpleNamespace(in_place=False, target_provider=provider)
        report = SimpleNamespace(published=True, verified=verified, target=str(target))
        return _files(cast("Plan", made), cast("Report", report))

    assert of(built.root).ok
    assert of(built.root).said.endswith(" files, sound")
    assert of(built.root, verified="counts") is None
    assert of(built.root, provider="hdfs") is None
    elsewhere = of(tmp_path / "elsewhere")
    assert elsewhere.ok is None
    assert elsewhere.said.startswith("not done from here, where the files cannot be read: ")
    (built.root / "state/0/0/6.changelog").write_bytes(b"other")
    damaged = of(built.root)
    assert damaged.ok is False
    assert "6.changelog is damaged" in damaged.said
    assert damaged.said.endswith("Do not start the query on it.")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--undo"], "--undo goes with --in-place, and with nothing else."),
        (["--partitions", "2", "--conf", "spark.executor.memory"], "give it as KEY=VALUE."),
        (["--partitions", "2", "--read"], "--read goes with --dry-run"),
        (["--offsets", "no/such/file"], "is neither 'options' nor a file that can be read"),
        (["--offsets", "earliest"], "earliest is neither 'options' nor a file"),
    ],
)
def test_options_of_a_move_that_cannot_be(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path, given: list[str], said: str
) -> None:
    before = tree(built.root)
    assert main(["move", "rewrite", str(built.root), str(tmp_path / "target"), *given]) == 2
    assert said in capsys.readouterr().err
    assert tree(built.root) == before
    assert not (tmp_path / "target").exists()


def test_spark_that_does_not_start(built: Built, tmp_path: Path) -> None:
    """Here for want of a Java; a master that cannot be is told by the same words."""
    before = tree(built.root)
    command = ["move", "rewrite", str(built.root), str(tmp_path / "target"), "--partitions", "3"]
    found = subprocess.run(
        [sys.executable, "-m", "bucketstate", *command],
        env=os.environ | {"JAVA_HOME": str(tmp_path / "no-java")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    told = found.stderr.splitlines()[-1]
    assert told.startswith("bucketstate: Spark cannot be started: ")
    assert "JAVA_GATEWAY_EXITED" in told
    assert told.endswith("(on the PATH, or in JAVA_HOME).")
    assert tree(built.root) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--dry-run"], "--dry-run"),
        (["--batch", "3", "--read"], "--batch, --read"),
        (["--partitions", "2"], "--partitions"),
        (["--buckets", "2", "--format", "2"], "--buckets, --format"),
        (["--delete-keys", "a = 1", "--operator", "0"], "--delete-keys, --operator"),
        (["--offsets", "options"], "--offsets"),
        (["--source-provider", "hdfs"], "--source-provider"),
        (["--verify", "counts"], "--verify counts"),
    ],
)
def test_undo_takes_no_option_that_it_would_not_heed(
    capsys: pytest.CaptureFixture[str], built: Built, given: list[str], said: str
) -> None:
    before = tree(built.root)
    assert main(["move", "rewrite", str(built.root), "--in-place", "--undo", *given]) == 2
    assert f"and --json alone: leave out {said}." in capsys.readouterr().err
    assert tree(built.root) == before
