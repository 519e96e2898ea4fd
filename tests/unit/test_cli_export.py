"""`bucketstate export CHECKPOINT -`: state to standard output."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

from bucketstate.cli import main
from tests.kit.checkpoints import Built

STREAMS: dict[str, Callable[[bytes], list[Any]]] = {
    "jsonl": lambda data: [json.loads(line) for line in data.splitlines()],
    "csv": lambda data: pyarrow.csv.read_csv(io.BytesIO(data)).to_pylist(),
    "arrow": lambda data: pyarrow.ipc.open_stream(data).read_all().to_pylist(),
    "parquet": lambda data: pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist(),
}


@pytest.mark.parametrize("format_", [None, *STREAMS])
def test_export_to_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes], built: Built, tmp_path: Path, format_: str | None
) -> None:
    given = [] if format_ is None else ["--format", format_]
    assert main(["export", str(built.root), "-", *given]) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""
    rows = STREAMS[format_ or "jsonl"](out)
    assert len(rows) == len(built.rows())
    # As into a file, but that Arrow's file is not its stream.
    target = tmp_path / "any.name"
    assert main(["export", str(built.root), str(target), "--format", format_ or "jsonl"]) == 0
    if format_ == "arrow":
        assert pyarrow.ipc.open_file(target).read_all().to_pylist() == rows
    else:
        assert target.read_bytes() == out


def test_what_is_no_text_is_not_for_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, built: Built
) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal))
    assert main(["export", str(built.root), "-", "--format", "parquet"]) == 1
    assert "choose one of csv, jsonl with --format" in capsys.readouterr().err
    assert terminal.getvalue() == b""
    assert main(["export", str(built.root), "-"]) == 0
    assert len(terminal.getvalue().splitlines()) == len(built.rows())


def test_a_program_that_has_enough_of_an_export_is_no_failure(built: Built) -> None:
    command = [sys.executable, "-m", "bucketstate", "export", str(built.root), "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (0, b"")


def test_a_file_that_is_replaced_keeps_its_mode(built: Built, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.touch(mode=0o600)
    assert main(["export", str(built.root), str(target), "--overwrite"]) == 0
    assert target.stat().st_size > 0
    assert target.stat().st_mode & 0o777 == 0o600
