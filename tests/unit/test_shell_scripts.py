"""Scripts of the project in folders and on machines that are not like the usual ones."""

from __future__ import annotations

import os
import shlex
import shutil
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


def test_lines_are_counted_in_a_folder_with_a_blank(tmp_path: Path) -> None:
    """Each tool is made up here: what matters is the option that Spark's JVM gets."""
    root, tools = tmp_path / "some folder", tmp_path / "tools"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "coverage", root / "scripts")
    for name in ("sbt", "failures", "closing-line"):
        script(root / "scripts" / name, "")
    for jar in ("org.jacoco.agent-0.8.13-runtime.jar", "org.jacoco.cli-0.8.13-nodeps.jar"):
        (root / ".tools").mkdir(exist_ok=True)
        (root / ".tools" / jar).touch()
    java(tools, "21.0.4")
    kept = root / "options"
    script(
        root / ".venv" / "bin" / "python",
        f'[ "${{3:-}}" != run ] || printf %s "$SPARK_SUBMIT_OPTS" > {shlex.quote(str(kept))}',
    )
    subprocess.run([root / "scripts" / "coverage"], env=with_path(tools), check=True)
    (option,) = shlex.split(kept.read_text())
    agent = root / ".tools" / "org.jacoco.agent-0.8.13-runtime.jar"
    assert option.startswith(f"-javaagent:{agent}=destfile={root}/artifacts/coverage/scala.exec,")


def test_the_sbt_that_stays_ends_before_it_cannot_be_found() -> None:
    run = subprocess.run(
        ["make", "-n", "clean"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    (gone,) = (n for n, line in enumerate(lines) if "project/target" in line)
    assert any(line.startswith("scripts/kept-sbt stop") for line in lines[:gone])
