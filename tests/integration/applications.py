"""Runs the applications in `apps`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.apps.counting import builder_options

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).with_name("apps")

QUIET = [part for k, v in builder_options().items() for part in ("--conf", f"{k}={v}")]
SPARK_SUBMIT = str(Path(sys.executable).with_name("spark-submit"))
SUBMIT = [SPARK_SUBMIT, "--master", "local[2]", *QUIET]


def environment() -> dict[str, str]:
    """This one, without what an outer Spark has set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    # The package of this checkout, whichever one the environment has.
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python" / "src"), str(ROOT)])
    kept["PYSPARK_PYTHON"] = kept["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return kept


def answer_of(command: Sequence[str], timeout: float, **variables: str) -> dict[str, Any]:
    """The line of JSON that an application prints behind the word ANSWER."""
    run = subprocess.run(
        command, env=environment() | variables, capture_output=True, text=True, timeout=timeout
    )
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    assert run.returncode == 0, run.stdout + run.stderr
    answer: dict[str, Any] = json.loads(answers[0].removeprefix("ANSWER "))
    return answer
