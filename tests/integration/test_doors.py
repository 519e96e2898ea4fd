"""The ways to turn the provider on, each in an application of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bucketstate import jar_path
from bucketstate.registry import registry
from tests.integration.apps.counting import builder_options

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).with_name("apps")
PRESET = ROOT / "conf" / "spark-defaults.conf"


def submit(*arguments: str) -> list[str]:
    quiet = [part for k, v in builder_options().items() for part in ("--conf", f"{k}={v}")]
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    return [*command, *quiet, "--jars", str(jar_path()), *arguments]


@pytest.mark.parametrize(
    ("app", "command"),
    [
        ("submitted.py", submit("--properties-file", str(PRESET))),
        ("configured.py", [sys.executable]),
        ("set_later.py", submit()),
        ("enabled.py", [sys.executable]),
    ],
)
def test_the_query_runs_on_the_provider(app: str, command: list[str], tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    run = subprocess.run(
        [*command, str(APPS / app), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=170,
    )
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    assert run.returncode == 0, run.stdout + run.stderr
    answer = json.loads(answers[0].removeprefix("ANSWER "))
    assert answer["counts"] == {str(digit): 10 for digit in range(10)}
    assert len(answer["metrics"]) >= 2
    for reported in answer["metrics"]:
        assert {m.name for m in registry().metrics} <= set(reported)
