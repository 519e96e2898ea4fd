"""The ways to turn the provider on, each in an application of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bucketstate import EXTENSION_CLASS, jar_path
from bucketstate.registry import registry
from tests.integration.applications import APPS, ROOT, answer_of
from tests.integration.apps.counting import builder_options

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
        ("set_later.py", submit("--conf", f"spark.sql.extensions={EXTENSION_CLASS}")),
        ("enabled.py", [sys.executable]),
    ],
)
def test_the_query_runs_on_the_provider(app: str, command: list[str], tmp_path: Path) -> None:
    answer = answer_of([*command, str(APPS / app), str(tmp_path)], timeout=170)
    assert answer["counts"] == {str(digit): 10 for digit in range(10)}
    assert len(answer["metrics"]) >= 2
    for reported in answer["metrics"]:
        assert {m.name for m in registry().metrics} <= set(reported)
