"""Every command over values that Python, JSON, a file format or a terminal has no way for."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.cli import main
from bucketstate.cli.parser import parser
from tests.kit.checkpoints import Built
from tests.kit.values.far import DAYS, TIMES, built
from tests.kit.variables import State, Variables

pytestmark = pytest.mark.slow

WHOLE = {"s": "\\xff", "d": "-5000-01-10", "t": "-290308-12-21T19:59:05.224192+00:00"}
KEY_OF_FIRST = json.dumps(WHOLE | {"z": "-290308-12-21T19:59:05.224192", "f": "NaN"})

COMMANDS: list[tuple[str, ...]] = [
    ("inspect", "{cp}"),
    ("inspect", "{cp}", "--json", "--buckets"),
    ("inspect", "{cp}", "--buckets", "--internal", "--batch", "0"),
    ("show", "{cp}"),
    ("show", "{cp}", "--json", "--limit", "0"),
    ("show", "{cp}", "--version", "1"),
    ("show", "{cp}", "--times"),
    ("show", "{cp}", "--key", KEY_OF_FIRST, "--version", "1"),
    ("show", "{cp}", "--key", KEY_OF_FIRST, "--history"),
    ("show", "{cp}", "--key", KEY_OF_FIRST, "--history", "--json"),
    ("diff", "{cp}"),
    ("diff", "{cp}", "--json", "--from", "0", "--limit", "0"),
    ("sql", "{cp}"),
    ("sql", "{cp}", "select * from state"),
    ("sql", "{cp}", "select * from diff", "--from", "0", "--json"),
    ("sql", "{cp}", "select partition_id, change_type from changes", "--csv"),
    ("show", "{cp}", "--where", "partition_id >= 0", "--columns", "key"),
    ("export", "{cp}", "{out}.csv"),
    ("export", "{cp}", "{out}.jsonl"),
    ("export", "{cp}", "{out}.arrow"),
    ("export", "{cp}", "-"),
    ("export", "{cp}", "-", "--format", "csv"),
    ("verify", "{cp}"),
    ("verify", "{cp}", "--json"),
    ("savepoint", "list", "{cp}"),
    ("savepoint", "list", "{cp}", "--json"),
    ("doctor", "{cp}"),
    ("doctor", "{cp}", "--json"),
    ("report", "{cp}", "-o", "{out}.html"),
    ("jar", "--spark", "4.3"),
    ("conf", "--no-jar"),
    ("clone", "{cp}", "{out}-clone"),
    ("clone", "{cp}", "{out}-clone", "--json", "--dry-run"),
    ("fork", "{cp}", "{out}-fork", "--batch", "0"),
    ("rewind", "{cp}", "--batch", "0", "--dry-run", "--stopped"),
    ("completion", "bash"),
    ("grafana",),
    ("size", "--keys", "1000", "--bytes", "100", "--updates", "10"),
]
OF_VARIABLES: list[tuple[str, ...]] = [
    ("inspect", "{cp}", "--internal"),
    ("verify", "{cp}"),
    ("doctor", "{cp}"),
    ("show", "{cp}", "--timers", "--times"),
    ("show", "{cp}", "--timers", "--json"),
    *[
        ("show", "{cp}", "--state-var", name, "--times", *how)
        for name in ("count", "last", "every", "recent", "plain", "by_value")
        for how in ((), ("--json",), ("--no-flatten",), ("--no-flatten", "--json"))
    ],
    *[
        ("show", "{cp}", "--state-var", name, "--key", "\\xff", *how)
        for name in ("count", "by_value")
        for how in ((), ("--json",), ("--history",), ("--history", "--json"))
    ],
    ("show", "{cp}", "--state-var", "by_value", "--key", "\\xff", "--user-key", "1", "--json"),
    ("diff", "{cp}", "--state-var", "by_value", "--from", "0"),
    ("export", "{cp}", "{out}.jsonl", "--state-var", "recent", "--no-flatten"),
    ("export", "{cp}", "{out}.csv", "--state-var", "by_value", "--no-flatten"),
    ("export", "{cp}", "{out}.parquet", "--state-var", "by_value", "--no-flatten", "--times"),
]


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("far") / "checkpoint").root


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys that are not UTF-8, and times that never come or are long over."""
    never, long_ago = 2**63 - 1, -(2**60)
    state = State(
        count={"\udcff": (1, "\udcc3"), "": (2, None)},
        last={"\udcff": (1, never)},
        every={"\udcff": [1, 2]},
        recent={"\udcff": [(1, never), (2, long_ago)]},
        plain={("\udcff", 1): 1},
        by_value={("\udcff", 1): (1, never), ("\udcff", 2): (2, long_ago)},
        timers={("\udcff", never), ("\udcff", long_ago), ("", 0)},
    )
    made = Variables(tmp_path_factory.mktemp("variables") / "checkpoint")
    made.batch(made.families(State()))
    made.batch(made.families(state))
    return made.root


def ran(arguments: tuple[str, ...], checkpoint: Path, tmp_path: Path) -> int:
    places = {"{cp}": str(checkpoint), "{out}": str(tmp_path / "out")}
    given = []
    for argument in arguments:
        for name, place in places.items():
            argument = argument.replace(name, place)
        given.append(argument)
    return main(given)


def test_no_command_is_left_out() -> None:
    (choices,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    # The first starts Spark: see tests/integration/test_pages.py. The other one is of functions.
    others = {"move", "check"}
    assert {arguments[0] for arguments in COMMANDS} | others == set(choices.choices)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_command_ends_well(
    arguments: tuple[str, ...], far: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(arguments, far, tmp_path) == 0
    # Files are for programs, and have it all.
    assert arguments[0] == "export" or "\x1b" not in capfd.readouterr().out


@pytest.mark.parametrize("arguments", OF_VARIABLES, ids=" ".join)
def test_every_command_ends_well_over_state_variables(
    arguments: tuple[str, ...], variables: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(arguments, variables, tmp_path) == 0
    assert "no rows" not in capfd.readouterr().out


def test_what_a_format_has_no_type_for_is_a_sentence(
    far: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for target in (str(tmp_path / "out.parquet"), "-"):
        arguments = ["export", str(far), target, "--format", "parquet"]
        assert main(arguments) == 1
        told = capsys.readouterr().err
        assert "cannot be written as parquet: Unhandled type" in told
        assert "Choose another format (arrow, csv, jsonl)." in told
    assert not list(tmp_path.iterdir())


def test_files_have_all_of_it(
    far: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Checkpoint(far).scan().to_arrow()
    for form in ("arrow", "jsonl", "csv"):
        assert main(["export", str(far), str(tmp_path / f"out.{form}")]) == 0
    written = pyarrow.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert written.schema == whole.schema
    # Not by `equals`, for which NaN is none.
    assert [repr(python_values(c)) for c in written] == [repr(python_values(c)) for c in whole]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert main(["show", str(far), "--json", "--limit", "0"]) == 0
    shown = capsys.readouterr().out.splitlines()[-len(rows) :]
    assert [json.loads(line) for line in shown] == rows
    keys: list[dict[str, Any]] = [row["key"] for row in rows]
    assert {key["d"] for key in keys} == set(DAYS) - {"-5000-01-10"}
    assert {key["z"] for key in keys} == set(TIMES)
    assert {key["f"] for key in keys} == {"NaN", "Infinity", "-Infinity", 1.5}
    # With the bytes as they are, and years that Arrow itself would write as others.
    of_csv = (tmp_path / "out.csv").read_bytes().replace(b"\0", b"").decode("latin-1")
    found = list(csv.DictReader(io.StringIO(of_csv, newline="")))
    assert [row["key.d"] for row in found] == [key["d"] for key in keys]
    assert [row["key.z"] for row in found] == [key["z"].replace("T", " ") for key in keys]
    assert [row["key.t"].removesuffix("Z") for row in found] == [row["key.z"] for row in found]
    assert "A\xc3" in {row["value.s"] for row in found}


def test_a_key_is_given_as_it_is_printed(far: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(far), "--json", "--limit", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(DAYS) - 1
    for line in lines:
        key = json.dumps(json.loads(line)["key"])
        assert main(["show", str(far), "--json", "--key", key]) == 0
        assert capsys.readouterr().out.splitlines() == [line]


def test_what_a_terminal_would_obey_is_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Built(tmp_path / "checkpoint")
    made.batch({("\x1b[31mred\nline\x9b\t\u00fc",): (1, 2)})
    assert main(["show", str(made.root)]) == 0
    assert "\u2502 " + r"\x1b[31mred\nline\x9b\t" + "\u00fc" in capsys.readouterr().out


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bucketstate", *arguments],
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("encoding", [{"PYTHONIOENCODING": "ascii"}, C_LOCALE])
def test_output_that_has_no_such_letters(tmp_path: Path, encoding: dict[str, str]) -> None:
    made = Built(tmp_path / "p\u00fc", partitions=1)
    made.batch({("\u00fcn\u4e2d code",): (1, 2)})
    root = str(made.root)
    for arguments in (
        ["show", root, "--key", "\u00fcn\u4e2d code"],
        ["show", root, "--json"],
        ["inspect", root],
        ["verify", root],
        ["doctor", root],
        ["report", root, "-o", str(tmp_path / "\u00fc.html")],
        ["export", root, str(tmp_path / "\u00fc.csv")],
    ):
        done = shell(*arguments, **encoding)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.isascii()


def test_standard_output_that_is_closed(far: Path) -> None:
    for arguments, code in (("show", 0), ("verify", 0), ("inspect --json", 0), ("export", 1)):
        more = " -" if arguments == "export" else ""
        line = f"{sys.executable} -m bucketstate {arguments} {far}{more} >&-"
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="a file system with names of any bytes")
def test_a_path_that_is_not_utf_8(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Built(Path(folder)).batch({("a",): (1, 2)})
    done = shell("inspect", folder)
    assert done.returncode == 2
    assert b"which is not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr
    # Where the output goes is Python's own to reach.
    built(tmp_path / "checkpoint")
    for name in ("o.csv", "o.html"):
        command = {"o.csv": ["export"], "o.html": ["report", "-o"]}
        first, *option = command[name]
        done = shell(first, str(tmp_path / "checkpoint"), *option, f"{folder}/{name}")
        assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="pipes and links by name")
def test_an_export_follows_links_and_writes_into_pipes(far: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    assert main(["export", str(far), str(link)]) == 1
    assert main(["export", str(far), str(link), "--overwrite"]) == 0
    assert link.is_symlink()
    assert real.read_bytes().startswith(b'"key.s"')
    assert {path.name for path in tmp_path.iterdir()} == {"real.csv", "link.csv"}

    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert main(["export", str(far), str(pipe)]) == 0
        assert reader.communicate(timeout=60)[0] == real.read_bytes()
    assert pipe.is_fifo()

    done = shell("export", str(far), "/dev/stdout", "--format", "csv")
    assert (done.returncode, done.stdout[: real.stat().st_size]) == (0, real.read_bytes())
    done = shell("export", str(far), "/dev/full", "--format", "csv")
    assert done.returncode == 1
    assert b"/dev/full cannot be written: " in done.stderr
    assert Path("/dev/full").is_char_device()
