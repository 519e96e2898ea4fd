"""`bucketstate check`: functions that cannot run are told before a query has them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.cli import main

if TYPE_CHECKING:
    from pathlib import Path

JOBS = """
from dataclasses import dataclass
from datetime import timedelta
from typing import Iterator, NamedTuple

import pandas as pd
import pyarrow as pa

from bucketstate import stateful
from bucketstate.stateful import Keys, ListState, State

@dataclass
class Seen:
    n: int = 0

@dataclass
class Parts:
    pages: ListState[str]

@dataclass
class Click:
    user: str
    ms: int

@dataclass
class Out:
    user: str
    n: int

class UserKey(NamedTuple):
    user: int

@dataclass
class Unfit:
    phase: complex

def count(key, rows: list[Click], state: State[Seen]) -> Iterator[Out]:
    yield Out(key.user, len(rows))

def by_number(key: UserKey, rows: list[dict], state: State[Seen]) -> None: ...

def unfit(key, rows: list[dict], state: State[Unfit]) -> None: ...

def untyped(key, rows, state): ...

def columns(keys: Keys[Seen], rows: pa.Table) -> None: ...

class Handlers:
    def handleInputRows(self, key, rows: list[dict], state: State[Parts]) -> None: ...

    def onTimer(self, key, timer, state): ...

total = stateful.reduce(ms=stateful.sum("ms"))
HOUR = timedelta(hours=1)
hourly = stateful.windows("at", HOUR, n=stateful.count())
mistyped = stateful.windows("att", HOUR, n=stateful.count())
visits = stateful.sessions("at", HOUR, n=stateful.count())
defined = stateful.define(untyped, state="n long", output="user string")
"""


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    (tmp_path / "some_jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "some_jobs", raising=False)

    def asked(*given: str, code: int = 0) -> str:
        assert main(["check", *given]) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    return asked


def test_what_is_fine(check: Any) -> None:
    told = check("some_jobs:count")
    assert told == "some_jobs:count is fine: keeps n bigint; puts out user string, n bigint\n"
    rows = "--schema", "user string, ms long, more double", "--by", "user"
    assert "is fine: keeps n bigint; no output" in check("some_jobs:columns", *rows)
    assert "is fine: keeps ms" in check("some_jobs:total", *rows)
    timed = "--schema", "user string, at timestamp", "--by", "user"
    span = "struct<start:timestamp,end:timestamp>"
    for name, added in (("hourly", "window"), ("visits", "session")):
        told = check(f"some_jobs:{name}", *timed)
        assert f"puts out user string, {added} {span}, n bigint\n" in told
    found = check("some_jobs:defined", "some_jobs:count", "--json", *rows)
    first, second = map(json.loads, found.splitlines())
    assert first == {
        "function": "some_jobs:defined",
        "problem": None,
        "state": "n bigint",
        "output": "user string",
    }
    assert second["problem"] is None
    typed = "--state", "n long", "--output", "user string, n long"
    assert "puts out user string, n bigint" in check("some_jobs:untyped", *typed)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("unfit", "some_jobs:unfit: Unfit.phase is complex, which has no place in a Spark schema."),
        ("untyped", "some_jobs:untyped: "),
        ("Handlers", "onTimer"),
        ("columns --operator transformWithState", "which transformWithState has not"),
        ("count --schema user|string --by user", "ms"),
        ("count --schema user|string,ms|long --by usr", "Did you mean 'user'?"),
        ("by_number --schema user|string --by user", "UserKey.user is an int"),
        ("total --schema user|string --by user", "ms"),
        ("count --schema user|strin", "strin"),
        ("mistyped --schema user|string,at|timestamp --by user", "at=windows('att'): the rows"),
        ("hourly --schema user|string,at|string --by user", "the column is string, expected"),
        ("hourly --schema user|string,at|timestamp,window|int --by user", "column window, which"),
        ("visits --schema user|string,at|timestamp,session|int --by user", "column session, which"),
    ],
)
def test_what_cannot_run(check: Any, given: str, told: str) -> None:
    arguments = [part.replace("|", " ") for part in f"some_jobs:{given}".split(" ")]
    said = check(*arguments, code=3)
    assert told in said
    assert "Traceback" not in said


def test_one_of_several(check: Any) -> None:
    assert "unfit: Unfit.phase" in check("some_jobs:count", "some_jobs:unfit", code=3)


def test_what_cannot_be_looked_at(check: Any, tmp_path: Path) -> None:
    (tmp_path / "broken_jobs.py").write_text("import json\n\nrate = 1 / 0\n")
    (tmp_path / "ending_jobs.py").write_text("raise SystemExit(3)\n")
    told = check("broken_jobs:count", code=2)
    assert "ZeroDivisionError: division by zero, in line 3 of broken_jobs.py" in told
    assert "SystemExit: 3, in line 1" in check("ending_jobs:count", code=2)
    assert "No module named 'no_jobs'" in check("no_jobs:count", code=2)
    assert "has no attribute 'nothing'" in check("some_jobs:nothing", code=2)
    assert "give MODULE:NAME" in check("some_jobs", code=2)
    assert "give them as --schema" in check("some_jobs:total", code=2)


@pytest.mark.slow
def test_no_session_is_made(tmp_path: Path) -> None:
    (tmp_path / "some_jobs.py").write_text(JOBS)
    code = (
        "import sys; from bucketstate.cli import main; main(['check', 'some_jobs:count']);"
        "from pyspark import SparkContext; assert SparkContext._gateway is None;"
        "assert 'rocksdict' not in sys.modules"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
