"""The commands and the Python of the pages run as they stand, one page after the other."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bucketstate.presets import PRESETS
from tests.kit.cases import cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["getting-started.md"]
AT_NIGHT = ["checkpoint.md", "moving-in.md", "moving.md", "expiry.md", "tuning.md", "index.md"]


@pytest.mark.parametrize("page", cases(PAGES, AT_NIGHT))
def test_every_block_of_a_page(page: str, tmp_path: Path) -> None:
    """In a process of its own: paths are relative to where the JVM started."""
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = ["from bucketstate.cli import main"]
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", text, re.DOTALL):
        if language == "python":
            parts.append(block)
        else:
            parts += [called(line) for line in block.splitlines()]
    assert len(parts) > 1
    script = tmp_path / "page.py"
    script.write_text("\n".join(parts), encoding="utf-8")
    command = [sys.executable, str(script)]
    # The workers have to be of the interpreter that runs the tests.
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def called(line: str) -> str:
    """A shell's line as a call."""
    command, *arguments = shlex.split(line)
    assert command == "bucketstate"
    return f"assert main({arguments!r}) == 0"


def test_presets_name_settings_that_spark_has(spark: SparkSession) -> None:
    for preset in PRESETS.values():
        for choice in preset.choices:
            if ".bucketed." not in choice.key:
                spark.conf.get(choice.key)
