"""Every command with every kind of output that fails, or has not all letters: no traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from bucketstate.cli import main
from tests.unit.checkpoint.test_state import grown
from tests.unit.test_cli_far_values import COMMANDS

pytestmark = pytest.mark.slow

EVERY = [
    *COMMANDS,
    ("export", "{cp}", "-", "--format", "parquet"),
    ("report", "{cp}", "-o", "-", "--quick"),
    ("show", "{cp}", "--key", "ünï \udcff"),
    ("inspect", "{out}-none"),
    ("verify", "{out}-none"),
    ("doctor", "{cp}-none"),
    ("size", "--keys", "10", "--bytes", "10", "--updates", "1", "--batch-seconds", "inf"),
    ("export", "{cp}", "{out}-none/state.csv"),
    ("export", "{cp}", "nowhere://bucket/state.csv"),
    ("report", "{cp}", "-o", "s3://bucket/report.html"),
]


def full() -> IO[str]:
    return Path("/dev/full").open("w")


def closed_pipe() -> IO[str]:
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "w")


def of_bytes(encoding: str = "utf-8", errors: str = "strict") -> IO[str]:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=errors)


def ascii_alone() -> IO[str]:
    return of_bytes("ascii")


def ascii_errors() -> IO[str]:
    """As Python makes standard error."""
    return of_bytes("ascii", "backslashreplace")


OUTPUTS: dict[str, tuple[Callable[[], IO[str] | None], Callable[[], IO[str] | None]]] = {
    "standard output is closed": (lambda: None, of_bytes),
    "standard error is closed": (of_bytes, lambda: None),
    "both are closed": (lambda: None, lambda: None),
    "the disk is full": (full, of_bytes),
    "nobody reads": (closed_pipe, of_bytes),
    "letters are those of ASCII": (ascii_alone, ascii_errors),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = grown(tmp_path_factory.mktemp("tälk") / "chéckpoint")
    built.snapshot(2, 4)
    return built.root


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("arguments", EVERY, ids=lambda a: " ".join(a).encode("ascii", "replace"))
def test_every_command_ends_with_a_code(
    arguments: tuple[str, ...],
    output: str,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = OUTPUTS[output]
    places = {"{cp}": str(checkpoint), "{out}": str(tmp_path / "oüt")}
    given = [_placed(argument, places) for argument in arguments]
    with monkeypatch.context() as during:
        during.setattr(sys, "stdout", out())
        during.setattr(sys, "stderr", err())
        code = main(given)
    assert code in (0, 1, 2)


def test_what_was_found_is_told_by_the_code_where_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path / "checkpoint")
    (built.folder(0) / "6.changelog").unlink()
    with monkeypatch.context() as during:
        during.setattr(sys, "stdout", closed_pipe())
        code = main(["inspect", str(built.root), "--json"])
    assert code == 3


TOLD: list[tuple[str, ...]] = [
    ("show", "{cp}", "--json", "--limit", "5"),
    ("show", "{cp}", "--key", "a", "--history", "--json", "--limit", "1"),
    ("show", "{cp}-none"),
    ("show", "{cp}", "--json", "--where", "value.count in ('many')"),
    ("inspect", "{cp}", "--json", "-vv"),
    ("sql", "{cp}", "select * from state order by key.key", "--json", "--limit", "5"),
    ("sql", "{cp}", "select * from nothing"),
    ("report", "{cp}", "-o", "-"),
    ("check", "builtins:len"),
    ("conf", "--no-jar", "--engine", "nothing"),
]


@pytest.mark.parametrize("arguments", TOLD, ids=" ".join)
def test_what_is_told_where_standard_error_is_closed_is_told_nowhere(
    arguments: tuple[str, ...], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bucketstate.cli.report.page_about", lambda *_, **__: (b"<html>", False))
    given = [_placed(argument, {"{cp}": str(checkpoint)}) for argument in arguments]

    def printed(err: IO[str] | None) -> tuple[int, bytes]:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with monkeypatch.context() as during:
            during.setattr(sys, "stdout", out)
            during.setattr(sys, "stderr", err)
            code = main(given)
        out.flush()
        return code, out.buffer.getvalue()

    err = io.StringIO()
    whole = printed(err)
    assert err.getvalue()
    assert printed(None) == whole


def _placed(argument: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        argument = argument.replace(name, place)
    return argument


def test_what_is_lost_is_said(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", full())
    assert main(["show", str(checkpoint)]) == 1
    said = "bucketstate: standard output cannot be written: No space left on device.\n"
    assert capsys.readouterr().err == said


def test_what_is_no_failure_of_the_output_is_told_as_it_is(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As libraries raise them: without the name of a file, and without a number of the system."""

    def fails(*_: object, **__: object) -> None:
        raise OSError("the token has expired")

    with monkeypatch.context() as during:
        during.setattr("bucketstate.cli.run._drop_output", lambda: None)
        during.setattr("bucketstate.cli.checkpoint.Checkpoint", fails)
        assert main(["show", str(checkpoint)]) == 1
    assert capfd.readouterr().err == "bucketstate: the token has expired\n"


def test_a_machine_of_ascii_alone(checkpoint: Path, tmp_path: Path) -> None:
    """Also names of files are bytes then, and what stands for them has no letters."""
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    page = tmp_path / "päge.html"
    for arguments in (["inspect"], ["show", "--key", "ü"], ["report", "--quick", "-o", str(page)]):
        command = [sys.executable, "-m", "bucketstate", arguments[0], str(checkpoint)]
        run = subprocess.run(
            [*command, *arguments[1:]], env=env, capture_output=True, check=False, text=True
        )
        assert (run.returncode, run.stderr) == (0, "")
    assert page.is_file()


def test_nothing_is_said_beside_the_output_where_no_terminal_is(checkpoint: Path) -> None:
    command = [sys.executable, "-m", "bucketstate", "verify", str(checkpoint)]
    run = subprocess.run(command, capture_output=True, check=True)
    assert run.stderr == b""


def test_whoever_has_had_enough_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "bucketstate.cli.run":
                raise KeyboardInterrupt

    for name in [m for m in sys.modules if m.startswith("bucketstate.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert main(["jar"]) == 130
