"""Every command with every kind of output that fails, or has not all letters: no traceback."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from bucketstate.checkpoint import Checkpoint
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
    assert ended(monkeypatch, ["inspect", str(built.root), "--json"], out=closed_pipe()) == 3


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its newest version cannot be read, and more stores are told of than a stream holds back."""
    built = grown(tmp_path_factory.mktemp("damaged") / "checkpoint", partitions=32)
    (built.folder(0) / "6.changelog").unlink()
    return built.root


FOUND: list[tuple[str, ...]] = [
    ("inspect", "{cp}"),
    ("inspect", "{cp}", "--json"),
    ("verify", "{cp}"),
    ("verify", "{cp}", "--verbose"),
    ("report", "{cp}", "-o", "-", "--quick"),
    ("diff", "{cp}", "--exit-code", "--from", "0", "--to", "5"),
    ("diff", "{cp}", "--exit-code", "--from", "0", "--to", "5", "--json", "--limit", "0"),
]


@pytest.mark.parametrize("arguments", FOUND, ids=" ".join)
def test_what_was_found_is_told_however_much_nobody_reads(
    arguments: tuple[str, ...], damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [_placed(argument, {"{cp}": str(damaged)}) for argument in arguments]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert ended(monkeypatch, given, out=out) == 3
    # Tables are written at once, all else once there is more than a stream holds back.
    if "--json" in given or "-o" in given:
        assert len(out.buffer.getvalue()) > 2 * io.DEFAULT_BUFFER_SIZE
    assert ended(monkeypatch, given, out=closed_pipe()) == 3
    assert ended(monkeypatch, [*given, "-v"], out=closed_pipe(), err=closed_pipe()) == 3


@pytest.mark.parametrize("options", [["-v"], ["-vv"]], ids=" ".join)
def test_standard_error_that_nobody_reads_ends_no_command(
    options: list[str], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    given = ["clone", str(checkpoint), str(clone), *options]
    assert ended(monkeypatch, given, err=closed_pipe()) == 0
    assert Checkpoint(clone).verify().ok
    for err in (closed_pipe(), full()):
        place = shutil.copytree(checkpoint, tmp_path / str(err.fileno()))
        assert ended(monkeypatch, ["rewind", str(place), "--batch", "3", *options], err=err) == 0
        assert Checkpoint(place).overview().last_batch == 3


PRINTED: list[tuple[str, tuple[str, ...]]] = [
    ("checkpoint", ("show", "{cp}", "--json", "--limit", "0")),
    ("checkpoint", ("diff", "{cp}", "--from", "0", "--json", "--limit", "0")),
    ("export", ("export", "{cp}", "-")),
    ("sql", ("sql", "{cp}", "select * from state", "--json", "--limit", "0")),
]


@pytest.mark.parametrize(("module", "arguments"), PRINTED)
def test_rows_end_with_their_reader(
    module: str, arguments: tuple[str, ...], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [_placed(argument, {"{cp}": str(checkpoint)}) for argument in arguments]
    printed: list[object] = []

    def large(row: object) -> str:
        printed.append(row)
        return "x" * io.DEFAULT_BUFFER_SIZE

    monkeypatch.setattr(f"bucketstate.cli.{module}.as_json", large)
    assert ended(monkeypatch, given, out=closed_pipe(), err=(err := io.StringIO())) == 0
    assert err.getvalue() == ""
    assert 0 < len(printed) < Checkpoint(checkpoint).scan().to_arrow().num_rows


def test_a_pipe_by_name_whose_reader_has_enough_is_no_failure(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def given_up(*_: object, **__: object) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("bucketstate.cli.export._written", given_up)
    pipe = checkpoint.parent / "pipe.csv"
    assert main(["export", str(checkpoint), str(pipe)]) == 0
    assert capsys.readouterr() == ("", "")


def test_another_pipe_that_breaks_is_a_failure(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that to Spark does where its JVM has ended."""

    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("bucketstate.cli.checkpoint.Checkpoint", broken)
    assert main(["verify", str(checkpoint)]) == 1
    assert capsys.readouterr().err == "bucketstate: [Errno 32] Broken pipe\n"


def test_streams_are_those_of_before_when_a_command_has_ended(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program has written itself comes before what the command prints, and behind it."""
    file = tmp_path / "out"
    with file.open("w", encoding="utf-8") as out, monkeypatch.context() as during:
        during.setattr(sys, "stdout", out)
        print("first")
        assert main(["savepoint", "list", str(checkpoint)]) == 0
        print("last")
        assert sys.stdout is out
    assert file.read_text(encoding="utf-8") == "first\nno savepoints\nlast\n"


def ended(
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    *,
    out: IO[str] | None = None,
    err: IO[str] | None = None,
) -> int:
    """The exit code, with these as standard output and standard error, or with what takes all."""
    with monkeypatch.context() as during:
        during.setattr(sys, "stdout", out or of_bytes())
        during.setattr(sys, "stderr", err or of_bytes())
        return main(arguments)


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
