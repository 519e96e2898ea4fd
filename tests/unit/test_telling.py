"""What is told while something goes on: to loggers, and by commands on standard error."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bucketstate
from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.doctor import read_progress
from bucketstate.move import clone
from bucketstate.progress import Recorder
from bucketstate.waiting import Requests
from tests.docs import DOCS, section
from tests.kit.checkpoints import Built
from tests.kit.storage.far_files import FarFiles
from tests.kit.storage.silent import silent


def far(root: Path) -> Checkpoint:
    return Checkpoint(str(root), FarFiles().arrow())


def test_a_room_has_a_logger_and_tells_requests_to_far_files(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "bucketstate")
    far(built.root).overview()
    assert {record.name for record in caplog.records} == {"bucketstate.checkpoint"}
    asked = [r.getMessage() for r in caplog.records if r.getMessage().startswith("asked ")]
    assert any("/state/0/0/" in line for line in asked)
    assert all(line.endswith(" s") for line in asked)
    opened = [r for r in caplog.records if r.levelno == logging.INFO]
    assert [r.getMessage() for r in opened] == [f"opened {built.root}"]


def test_the_page_names_every_logger() -> None:
    package = Path(bucketstate.__file__).parent
    loggers = {
        name
        for file in package.rglob("*.py")
        for name in re.findall(r'getLogger\("(bucketstate\.\w+)"\)', file.read_text("utf-8"))
    }
    told = section((DOCS / "checkpoint.md").read_text("utf-8"), "What it is doing")
    table = re.findall(r"^\| `(bucketstate\.\w+)` \|", told, re.MULTILINE)
    assert table == sorted(loggers)


def test_progress_that_is_kept_and_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "bucketstate")
    progress = {"id": "q", "runId": "r", "batchId": 3, "timestamp": "2024-01-01T00:00:00.000Z"}
    text = json.dumps(progress | {"durationMs": {}})
    event: Any = SimpleNamespace(progress=SimpleNamespace(json=text))
    recorder = Recorder()
    recorder.onQueryProgress(event)
    recorder.save(tmp_path / "p.parquet")
    lines = tmp_path / "p.json"
    lines.write_text(text)
    read_progress(lines)
    assert [(r.name, r.getMessage()) for r in caplog.records] == [
        ("bucketstate.progress", "heard of batch 3 of query q"),
        ("bucketstate.progress", f"saved 1 progresses in {tmp_path / 'p.parquet'}"),
        ("bucketstate.doctor", f"read 1 progresses of 1 files in {lines}"),
    ]


def test_local_files_are_not_told_one_by_one(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "bucketstate")
    Checkpoint(built.root).verify()
    clone(built.root, built.root.parent / "copy")
    told = [record.getMessage() for record in caplog.records]
    assert not [line for line in told if line.startswith("asked ")]
    assert [line for line in told if line.startswith("verifying ")]
    assert [line for line in told if line.startswith(f"clone of {built.root}")]


def test_nothing_is_told_unless_somebody_listens(
    built: Built, capfd: pytest.CaptureFixture[str]
) -> None:
    far(built.root).verify()
    assert capfd.readouterr() == ("", "")


def test_verbose_commands(built: Built, capfd: pytest.CaptureFixture[str]) -> None:
    for options, told in ([], []), (["-v"], ["opened"]), (["-vv"], ["opened", "is read from"]):
        assert main(["inspect", str(built.root), "--json", *options]) == 0
        out, err = capfd.readouterr()
        assert out.startswith("{")
        assert [word for word in ("opened", "is read from") if word in err] == told
    assert main(["inspect", str(built.root), "--json"]) == 0
    assert capfd.readouterr().err == ""


def test_every_command_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["jar"], ["savepoint", "list"], ["move", "import"], ["rewind"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--help"])
        assert ended.value.code == 0
        assert "-v, --verbose" in capsys.readouterr().out


def test_the_oldest_request_is_told() -> None:
    now = [0.0]
    requests = Requests(lambda: now[0])
    assert requests.oldest() is None
    with requests.asking("a"):
        now[0] = 2.0
        with requests.asking("b"):
            first = requests.oldest()
            assert first is not None
            assert (first.what, first.since) == ("a", 0.0)
    assert requests.oldest() is None


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_who_waits_for_an_answer_is_told(scheme: str) -> None:
    with silent() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "bucketstate", "inspect", server.of(scheme)],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            began = time.monotonic()
            line = process.stderr.readline()
            assert time.monotonic() - began < 10
            assert line.startswith(f"bucketstate: asking {scheme}://")
            assert line.endswith("states/a/checkpoint ...\n")
        finally:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_google_that_does_not_answer_is_asked_for_as_long_as_the_uri_says() -> None:
    with silent() as server:
        given = server.of("gs").replace(str(server.port), "1")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "bucketstate", "inspect", given + "&retry_limit_seconds=2"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert time.monotonic() - began < 30
    assert "retry_limit_seconds=300 goes on trying for longer" in done.stderr
    assert "Traceback" not in done.stderr
