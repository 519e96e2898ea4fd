"""States of `bucketstate.stateful`, looked up as their class while batches come."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.errors import NoSuchStateError
from bucketstate.live import Live
from bucketstate.stateful import DefinitionError, MigrationError
from bucketstate.stateful.codec.kept import Kept
from tests.kit.parts import BuiltParts, Held, Parts
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint.test_state import grown
from tests.unit.checkpoint.test_states import NEVER, Visits, row_of, visits, written

FIRST = {"a": Held(1), "b": Held(2, ("/x", NEVER), ("/1", "/2"), {"n": (3, NEVER)})}
SECOND = FIRST | {"a": Held(5, timers=((5_000, "ping"),)), "c": Held(7, counts={"m": (2, NEVER)})}
MANY = {f"k{n}": Held(n, pages=(f"/{n}",)) for n in range(20)}


def told(state: Parts | None) -> Any:
    """What a state holds, as values that can be compared."""
    if state is None:
        return None
    last = state.last.get() if state.last.exists() else None
    return state.total, last, list(state.pages.get()), dict(state.counts.iterator())


def test_documents(tmp_path: Path) -> None:
    found = written(tmp_path, {f"u{n}": row_of(visits(n)) for n in range(12)})
    with Live(tmp_path, decode=Visits) as live:
        for n in range(12):
            assert live.get(f"u{n}").value == found.scan(decode=Visits).get(f"u{n}")
        answers = live.get_many([f"u{n}" for n in (*range(12), 50, 3)])
        expected = [visits(n) for n in range(12)]
        assert answers.values == [*expected, None, visits(3)]
        (row,) = answers[2].rows
        assert row | {"partition_id": 0} == {
            "key": {"user": "u2"},
            "state": visits(2),
            "timers": [],
            "partition_id": 0,
        }
        table = answers.to_arrow()
        assert table.schema.remove(0) == found.scan(decode=Visits).schema
        assert table.num_rows == 13
        assert live.get_many(["nobody"]).to_arrow().schema == table.schema
        assert live.scan(columns=["state.total"]).to_arrow().num_rows == 12


def test_parts_that_are_variables(tmp_path: Path) -> None:
    built = BuiltParts(tmp_path)
    built.batch(FIRST)
    read: list[str] = []
    far = FarFiles(lambda kind, path: read.append(path) if kind in ("read", "list") else None)
    with Live(str(tmp_path), far.arrow(), decode=Parts, max_age=0) as live:
        assert told(live.get("b").value) == (2, "/x", ["/1", "/2"], {"n": 3})
        assert live.get("c").value is None
        built.batch(SECOND)
        (row,) = live.get("a").rows
        assert told(row["state"]) == (5, None, [], {})
        assert [timer["name"] for timer in row["timers"]] == ["ping"]
        keys = ["a", "b", "c", "none"]
        expected = [told(Checkpoint(tmp_path).scan(decode=Parts).get(key)) for key in keys]
        assert list(map(told, live.get_many(keys).values)) == expected
        read.clear()
        assert list(map(told, live.get_many(keys).values)) == expected
        assert not read
        built.batch(SECOND | MANY)
        answers = live.get_many([*MANY, *keys])
        assert list(map(told, answers.values)) == [
            *((n, None, [f"/{n}"], {}) for n in range(20)),
            *expected,
        ]
        whole = Checkpoint(tmp_path).scan(decode=Parts).to_arrow()
    # Answers stay as they are, whatever becomes of the files.
    shutil.rmtree(tmp_path)
    own = answers.to_arrow().drop_columns("asked")
    assert own.schema == whole.schema
    assert sorted(map(repr, own.to_pylist())) == sorted(map(repr, whole.to_pylist()))


def test_timers_are_those_of_a_scan(tmp_path: Path) -> None:
    # One is beyond Python's years.
    kept = Kept(0, 9_000, timers=((5_000, "ping"), (2**60, "far")))
    found = written(tmp_path, {"waits": kept.row, "idle": row_of(visits(1))})
    scanned = python_values(found.scan(decode=Visits).to_arrow()["timers"])
    with Live(tmp_path, decode=Visits) as live:
        answers = live.get_many(["waits", "idle"])
        (waits,), (idle,) = (answer.rows for answer in answers)
        assert waits["timers"] in scanned
        assert waits["timers"][:2] == [
            {"at": datetime.fromtimestamp(5, UTC), "name": "ping"},
            {"at": datetime.fromtimestamp(9, UTC), "name": None},
        ]
        assert waits["timers"][2]["at"].startswith("+")
        assert idle["timers"] == []
        at = answers.to_arrow()["timers"].combine_chunks().flatten().field("at")
    assert at.cast("int64").to_pylist() == [5_000, 9_000, 2**60]


@pytest.mark.filterwarnings("ignore::bucketstate.stateful.RenamedFieldWarning")
def test_what_is_no_state_is_said_at_once(tmp_path: Path) -> None:
    grown(tmp_path / "a")
    with pytest.raises(NoSuchStateError, match=r"has no documents of bucketstate\.stateful"):
        Live(tmp_path / "a", decode=Visits)
    written(tmp_path / "b", {"u": row_of(visits(1))})
    with pytest.raises(DefinitionError):
        Live(tmp_path / "b", decode=5)
    with Live(tmp_path / "b", decode=Parts) as live, pytest.raises(MigrationError):
        live.get("u")
