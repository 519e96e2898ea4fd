"""What `make test` shows of the tests of both languages, which run beside each other."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.kit.cases import cases

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"
PYTEST = "===== 7 passed in 3.00s ====="
SPARKS = "===== 2 passed in 1.00s ====="
SCALA = "Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0"
FAILURES = {
    "scala": "[info] - a sum *** FAILED *** (1 second)\n[info]   3 did not equal 4 (Sums.scala:7)",
    "pytest": "FAILED tests/unit/test_sums.py::test_a_sum - assert 3 == 4",
    "sparks": "FAILED tests/sparks/test_sums.py::test_a_sum - assert 4 == 5",
}

# In place of make: Scala tests that print much, and go on until pytest has ended, with queries and
# without, and what comes last has begun.
MAKE = f"""#!/usr/bin/env bash
case $1 in
  test-scala)
    [ $SCALA_STATUS = 0 ] || echo "{FAILURES["scala"]}"
    seq 1 100000
    until [ -e ended-integration ] && [ -e ended-unit ]; do sleep 0.1; done
    until [ -z "$LAST" ] || [ -e sparks-began ]; do sleep 0.1; done
    seq 100001 200000
    echo "[info] {SCALA}"
    touch scala-ended
    exit $SCALA_STATUS ;;
  test-python)
    [ $PYTEST_STATUS = 0 ] || echo "{FAILURES["pytest"]}"
    echo "{PYTEST}"
    case $2 in *tests/integration*) touch ended-integration ;; *) touch ended-unit ;; esac
    exit $PYTEST_STATUS ;;
  test-sparks)
    touch sparks-began
    [ $SPARKS_STATUS = 0 ] || echo "{FAILURES["sparks"]}"
    echo "{SPARKS}"
    exit $SPARKS_STATUS ;;
esac
"""


@pytest.mark.parametrize(
    ("scala", "python", "last", "sparks"),
    cases(
        [(0, 0, "", 0), (1, 1, "test-sparks", 0), (0, 0, "test-sparks", 1)],
        [(1, 0, "", 0), (0, 1, "", 0), (0, 0, "test-sparks", 0)],
    ),
)
def test_all_is_shown_once_and_a_failure_of_any_is_one(
    tmp_path: Path, scala: int, python: int, last: str, sparks: int
) -> None:
    (tmp_path / "scripts").mkdir()
    for name in ("test-both", "closing-line", "failures"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts" / name)
    make = tmp_path / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    running = subprocess.Popen(
        [tmp_path / "scripts" / "test-both"],
        stdout=subprocess.PIPE,
        text=True,
        env={"MAKE": str(make), "PATH": "/usr/bin:/bin", "LAST": last}
        | {"SCALA_STATUS": str(scala), "PYTEST_STATUS": str(python)}
        | {"SPARKS_STATUS": str(sparks)},
    )
    while not (tmp_path / "scala-ended").exists():
        time.sleep(0.1)
    time.sleep(2)  # whoever shows it is slow: a terminal, a page of a build
    lines = running.communicate()[0].splitlines()
    numbers = [line for line in lines if line.isdigit()]
    assert numbers == [str(number) for number in range(1, 200_001)]
    closing = [f"Scala:  {SCALA}", *[f"pytest: {PYTEST}"] * 2, *[f"pytest: {SPARKS}"] * bool(last)]
    assert lines[-len(closing) - 1 :] == ["", *closing]
    told = "\n".join(lines).partition("What failed in artifacts/test/scala.log:")[2]
    assert [line for line in told.splitlines() if "FAILED" in line] == [
        *[FAILURES["scala"].splitlines()[0]] * scala,
        *[FAILURES["pytest"]] * 2 * python,
        *[FAILURES["sparks"]] * sparks,
    ]
    assert told.count(FAILURES["scala"]) == scala, "and why, below it"
    assert (running.returncode == 0) == (scala == python == sparks == 0)
