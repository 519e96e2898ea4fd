"""The line that `make test` ends with, taken from what a test runner printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "closing-line"
SUITES = [
    b"[info] Tests: succeeded 3, failed 0, canceled 0, ignored 1, pending 0\n",
    b"[info] Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n",
]


def closing_line(runner: str, log: Path) -> str:
    found = subprocess.run([SCRIPT, runner, log], capture_output=True, check=True, text=True)
    return found.stdout.strip()


@pytest.mark.parametrize("noise", [b"", b"a message of a damaged file: \x00\x01\xff\n"])
def test_totals_are_added_up_whatever_else_is_printed(tmp_path: Path, noise: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(noise.join([b"", *SUITES, b""]))
    total = "Tests: succeeded 5, failed 1, canceled 0, ignored 1, pending 0"
    assert closing_line("scala", log) == total


def test_the_last_summary_of_pytest_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x00\n===== 1 failed in 2.00s =====\n===== 7 passed in 3.00s =====\n")
    assert closing_line("pytest", log) == "===== 7 passed in 3.00s ====="


def test_a_runner_that_never_ended_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"[info] compiling\n")
    assert "ended before its summary" in closing_line("scala", log)
