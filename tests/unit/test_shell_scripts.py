"""Scripts of the project in folders and on machines that are not like the usual ones."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE, COMPILER = "java.base@21.0.4", "jdk.compiler@21.0.4"


def script(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
    file.chmod(0o755)


def with_path(folder: Path, **variables: str) -> dict[str, str]:
    """The environment, with the tools of a folder before all others."""
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **variables}


def java(folder: Path, release: str, *modules: str) -> None:
    version = f'openjdk version "{release}" 2024-07-16'
    said = {"-version": version, "--list-modules": "\n".join(modules)}
    cases = (f"{option}) echo {shlex.quote(text)} ;;" for option, text in said.items())
    script(folder / "java", f"case $1 in {' '.join(cases)} esac")


@pytest.mark.parametrize(
    ("release", "modules", "missing"),
    [
        ("21.0.4", [BASE, COMPILER, "jdk.jfr@21.0.4"], None),
        ("21.0.4", [BASE], "has no compiler; "),
        ("11.0.2", [BASE, COMPILER], 'is openjdk version "11.0.2"'),
    ],
)
def test_what_is_missing_to_build_is_said(
    tmp_path: Path, release: str, modules: list[str], missing: str | None
) -> None:
    java(tmp_path, release, *modules)
    script(tmp_path / "mvn", "")
    environment = with_path(tmp_path, PYTHON=sys.executable)
    run = subprocess.run(
        [ROOT / "scripts" / "check-tools"], env=environment, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr == "") == ((0, True) if missing is None else (1, False))
    expected = f"Missing: a JDK 17 or newer (the 'java' on the PATH {missing}"
    assert missing is None or run.stderr.startswith(expected)


