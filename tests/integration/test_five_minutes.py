"""The page that is pasted into a shell, but for its installation: `scripts/try-page` has that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import DOCS
from tests.kit.cases import at_night

BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@at_night
@pytest.mark.timeout(300)
def test_it_does_what_it_says(tmp_path: Path) -> None:
    installed, *blocks = BLOCK.findall((DOCS / "five-minutes.md").read_text(encoding="utf-8"))
    assert "pip install" in installed
    programs, room = tmp_path / "bin", tmp_path / "room"
    for folder in (programs, room):
        folder.mkdir()
    for name, command in (("python", ""), ("bucketstate", "-m bucketstate")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=room,
        env=os.environ | {"PATH": path, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "it does what it should" in run.stdout
    lines = run.stdout.splitlines()
    assert [lines.count(line) for line in ("7,12.5", "9,4.0", "7,40.0", "7,3.0")] == [2, 2, 1, 0]
    assert '"rides": 3, "longest": 40.0' in run.stdout
