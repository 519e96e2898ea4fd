"""What is not imported where it is not needed: that is what starting takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import bucketstate
from tests.kit.checkpoints import Built

HEAVY = {
    "datasketches",
    "duckdb",
    "fsspec",
    "matplotlib",
    "numpy",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "pyspark",
    "rich",
    "rocksdict",
    "shtab",
}
"""Each takes longer than all the rest of a small command."""

DIRECTLY = {
    # Every run of pytest in an environment with the package imports these.
    "import bucketstate": set(),
    "import bucketstate.pytest_plugin": set(),
    "from bucketstate import Conf; Conf(num_buckets=8)": set(),
    "import bucketstate.checkpoint": {"numpy", "pyarrow", "rocksdict"},
    "from bucketstate import Live": {"numpy", "pyarrow", "rocksdict"},
    "import bucketstate.move": {"numpy", "pyarrow", "rocksdict"},
    "import bucketstate.stateful": {"numpy", "pyarrow", "pyspark"},
    "import bucketstate.testing": {"numpy", "pyarrow", "pyspark"},
}

COMMANDS = {
    "--version": set(),
    "conf --no-jar": set(),
    "size --keys 1m --bytes 100 --updates 1k": set(),
    "inspect CHECKPOINT": {"numpy", "pyarrow", "rich", "rocksdict"},
    "inspect CHECKPOINT --json": {"numpy", "pyarrow", "rocksdict"},
    "show CHECKPOINT --limit 1 --json": {"numpy", "pyarrow", "rocksdict"},
    "diff CHECKPOINT": {"numpy", "pyarrow", "rich", "rocksdict"},
    "verify CHECKPOINT": {"numpy", "pyarrow", "rich", "rocksdict"},
    "savepoint list CHECKPOINT": {"numpy", "pyarrow", "rocksdict"},
}


def imported(code: str) -> set[str]:
    """The modules that are there after some code, in a process of its own."""
    tell = "import json, sys; print('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def heavy(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules} & HEAVY


@pytest.mark.parametrize("code", DIRECTLY)
def test_a_room_imports_no_library_that_it_does_not_need(code: str) -> None:
    assert heavy(imported(code)) == DIRECTLY[code]


def run(command: str, built: Built) -> str:
    """Code that runs a command as the program does."""
    words = [str(built.root) if word == "CHECKPOINT" else word for word in command.split()]
    return (
        "import sys\nfrom bucketstate.__main__ import main\n"
        f"sys.argv[1:] = {words!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_no_library_that_it_does_not_need(command: str, built: Built) -> None:
    assert heavy(imported(run(command, built))) == COMMANDS[command]


def test_a_command_takes_pandas_from_nobody_who_wants_it(built: Built) -> None:
    """As a class to decode states as may: it is the user's own code."""
    wants = (
        "import pyarrow\nassert len(pyarrow.table({'a': [1]}).to_pandas()) == 1\n"
        "import pandas\nassert pyarrow.array(pandas.Series([1])).to_pylist() == [1]"
    )
    assert "pandas" in heavy(imported(f"{run('show CHECKPOINT --limit 1', built)}\n{wants}"))


def test_the_version_is_told_without_the_commands() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "bucketstate", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"bucketstate {bucketstate.__version__}\n"
    assert "argparse" not in done.stderr


def test_a_room_alone_brings_no_other() -> None:
    found = imported("import bucketstate.stateful")
    assert not {"bucketstate.checkpoint", "bucketstate.testing", "bucketstate.session"} & found
    found = imported("import bucketstate.checkpoint")
    assert not {"bucketstate.stateful", "bucketstate.session", "bucketstate.report"} & found
    assert not {m for m in imported("import bucketstate") if m.startswith("bucketstate.")}


def test_pandas_comes_with_what_needs_it() -> None:
    code = (
        "from bucketstate.optional import pandas as pd\n{}\nassert ('pandas' in sys.modules) is {}"
    )
    for used, there in (("", False), ("pd.DataFrame()", True)):
        imported("import sys; " + code.format(used, there))
