"""The ways to turn the provider on, each in an application of its own."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bucketstate
from bucketstate import EXTENSION_CLASS, PLUGIN_CLASS, jar_path
from bucketstate.checkpoint import Checkpoint
from bucketstate.registry import registry
from tests.docs import DOCS
from tests.integration.applications import APPS, ROOT, SUBMIT, answer_of, environment
from tests.kit.cases import at_night, cases
from tests.kit.sparks import MANY_KEYS, NEEDS_EXTENSION

PACKAGE = Path(bucketstate.__file__).parent
PRESET = ROOT / "conf" / "spark-defaults.conf"


def submit(*arguments: str) -> list[str]:
    return [*SUBMIT, "--jars", str(jar_path()), *arguments]


@pytest.mark.parametrize(
    ("app", "command"),
    cases(
        [
            ("submitted.py", submit("--properties-file", str(PRESET))),
            ("enabled.py", [sys.executable]),
        ],
        [
            # By day every other query of these tests comes in by this one.
            ("configured.py", [sys.executable]),
            ("set_later.py", submit("--conf", f"spark.sql.extensions={EXTENSION_CLASS}")),
            ("submitted.py", submit("--conf", f"spark.plugins={PLUGIN_CLASS}")),
        ],
    ),
)
def test_the_query_runs_on_the_provider(app: str, command: list[str], tmp_path: Path) -> None:
    on_the_provider(answer_of([*command, str(APPS / app), str(tmp_path)], timeout=170))


@at_night
def test_without_the_jar_spark_ends_as_the_page_has_it(tmp_path: Path) -> None:
    command = [*SUBMIT, "--conf", f"spark.plugins={PLUGIN_CLASS}", str(APPS / "submitted.py")]
    run = subprocess.run(
        [*command, str(tmp_path)], env=environment(), capture_output=True, text=True, timeout=170
    )
    assert run.returncode != 0
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    (error,) = re.findall(r"Spark itself ends with `([^`]+)`", page)
    assert f"java.lang.{error}" in run.stdout + run.stderr


def copied(folder: Path) -> Path:
    """A folder that the package is installed in."""
    shutil.copytree(PACKAGE, folder / PACKAGE.name)
    return folder


@at_night
@pytest.mark.parametrize("name", ["some folder", "100%25 #1 [of two]"])
def test_a_session_is_enabled_whatever_the_package_s_folder(name: str, tmp_path: Path) -> None:
    package = copied(tmp_path / name)
    command = [sys.executable, str(APPS / "enabled.py"), str(tmp_path)]
    on_the_provider(answer_of(command, timeout=170, PYTHONPATH=f"{package}:{ROOT}"))


@at_night
def test_flags_are_heard_whatever_the_package_s_folder(tmp_path: Path) -> None:
    """As the README has it: what a shell makes of `$(...)` has no quotes."""
    package = copied(tmp_path / "some folder")
    mine = package / "mine.jar"
    mine.write_bytes(jar_path().read_bytes())
    flags = [sys.executable, "-m", "bucketstate", "conf", "--format", "flags", "--num-buckets", "8"]
    line = f'exec "$@" $({shlex.join([*flags, "--jars", str(mine)])}) "$APP" "$FOLDER"'
    answer = answer_of(
        ["bash", "-c", line, "bash", *SUBMIT],
        timeout=170,
        PYTHONPATH=f"{package}:{ROOT}",
        APP=str(APPS / "submitted.py"),
        FOLDER=str(tmp_path),
    )
    on_the_provider(answer)
    assert Checkpoint(tmp_path / "checkpoint").plan().num_buckets == 8


@at_night
def test_what_spark_s_own_file_says_stays(tmp_path: Path) -> None:
    other = tmp_path / "other.jar"
    other.write_bytes(jar_path().read_bytes())
    said = {
        "spark.jars": str(other),
        "spark.sql.extensions": "other.Rules",
        registry().prefix + "numBuckets": "8",
    }
    lines = "".join(f"{key}  {value}\n" for key, value in said.items())
    (tmp_path / "spark-defaults.conf").write_text(lines, encoding="utf-8")
    command = [sys.executable, str(APPS / "kept.py"), str(tmp_path)]
    on_the_provider(answer_of(command, timeout=170, SPARK_CONF_DIR=str(tmp_path)))
    assert Checkpoint(tmp_path / "checkpoint").plan().num_buckets == 8


@at_night
def test_a_client_of_spark_connect(tmp_path: Path) -> None:
    answer = answer_of([sys.executable, str(APPS / "connected.py"), str(tmp_path)], timeout=170)
    assert answer["refused"].startswith("This is not a classic session"), "by enable"
    page = (DOCS / "turning-it-on.md").read_text(encoding="utf-8")
    assert [answer["plugins"]] == re.findall(r"its `spark\.plugins`\s+to `([^`]+)` alone", page)
    for query in ("counts", "variables", "many", "windows"):
        on_the_provider(answer[query])
        assert answer[query]["recorded"] == answer[query]["reported"]
    assert "bucketedChangelogBytes" in answer["recorder"]["columns"]
    assert all("manyKeys" in reported for reported in answer["many"]["metrics"]) == MANY_KEYS
    assert ("ManyKeys" in answer["many"]["plan"]) == MANY_KEYS
    if NEEDS_EXTENSION:
        on_the_provider(answer["many variables"])
        assert all("manyKeys" in reported for reported in answer["many variables"]["metrics"])
        assert "ManyKeysTransformWithState" in answer["many variables"]["plan"]
    # Spark 4.0 and 4.1 let every provider keep the state of their own operators.
    ours = "Bucketed" if NEEDS_EXTENSION else ""
    # Spark marks the operator, its own as well, for an input that an empty initial state lacks.
    name = rf"[ !]{ours}TransformWithStateIn(PySpark|Pandas) "
    assert re.search(name, answer["variables"]["plan"])


def on_the_provider(answer: dict[str, Any]) -> None:
    assert answer["counts"] == {str(digit): 10 for digit in range(10)}
    assert len(answer["metrics"]) >= 2
    for reported in answer["metrics"]:
        assert {m.name for m in registry().metrics} <= set(reported)
