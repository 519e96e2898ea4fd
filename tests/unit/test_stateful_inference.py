"""What type checkers infer: `make lint` holds the lines with `assert_type` to it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, assert_type

import pandas as pd

from bucketstate import stateful
from bucketstate.checkpoint import Scan
from bucketstate.stateful import Definition, Keys, State, Timer
from bucketstate.testing import Harness
from tests.unit.checkpoint.test_states import row_of, written


@dataclass
class Total:
    n: int = 0


@dataclass
class Sum:
    s: float = 0.0


@dataclass
class Row:
    key: str
    n: int = 1


class Key(NamedTuple):
    key: str


def count(key: Key, rows: list[Row], state: State[Total]) -> Row:
    state.value.n += len(rows)
    return Row(key.key, state.value.n)


def add(_key: Any, rows: pd.DataFrame, state: State[Sum]) -> None:
    state.value.s += float(rows["n"].sum())


def over_columns(keys: Keys[Total], rows: pd.DataFrame) -> None:
    keys.update(pd.DataFrame({"n": keys.state["n"] + rows.groupby(keys.of(rows)).size()}))


class Counting:
    def __init__(self, gap: timedelta = timedelta(hours=1)) -> None:
        self.gap = gap

    def handleInputRows(self, key: Key, rows: list[Row], state: State[Total]) -> Row:
        state.timeout_after(self.gap)
        return count(key, rows, state)

    def handleExpiredTimer(self, _key: Key, _timer: Timer, state: State[Total]) -> None:
        state.clear()


@stateful.define
def decorated(key: Key, rows: list[Row], state: State[Total]) -> Row:
    return count(key, rows, state)


@stateful.define(chunked=False)
def decorated_with(key: Key, rows: list[Row], state: State[Total]) -> Row:
    return count(key, rows, state)


def untyped(_key, rows, state):  # type: ignore[no-untyped-def]
    state.value.n = (state.value.n or 0) + len(rows)


ROWS = [{"key": "a", "n": 1}, {"key": "b", "n": 2}]


def test_a_harness_knows_the_class_of_its_states() -> None:
    run = Harness(count, by="key")
    run.run(ROWS)
    assert_type(run, Harness[Total])
    assert_type(run.states(), dict[Any, Total])
    assert run.state("a").n == 1
    run.set_state(Total(5), "a")
    assert_type(run.restarted(), Harness[Total])
    summing = Harness(add, by="key", schema=Row)
    assert_type(summing, Harness[Sum])
    assert_type(run.restarted(count), Harness[Total])
    assert_type(summing.restarted(add), Harness[Sum])


def test_so_it_does_of_objects_classes_and_functions_over_columns() -> None:
    counting = Harness(Counting(timedelta(hours=2)), by="key", timeout="processing")
    assert_type(counting, Harness[Total])
    assert_type(Harness(Counting, by="key", timeout="processing"), Harness[Total])
    columns = Harness(over_columns, by="key", schema=Row)
    assert_type(columns, Harness[Total])


def test_a_definition_knows_it_too() -> None:
    assert_type(stateful.define(count), Definition[Total])
    assert_type(stateful.define(add), Definition[Sum])
    assert_type(stateful.define(Counting), Definition[Total])
    assert_type(stateful.define(over_columns), Definition[Total])
    assert_type(decorated, Definition[Total])
    assert_type(decorated_with, Definition[Total])
    assert_type(Harness(decorated, by="key"), Harness[Total])
    assert_type(stateful.define(untyped, state=Total, output="n long"), Definition[Total])
    assert_type(Harness(untyped, by="key", state=Total, output="n long"), Harness[Total])


def test_a_scan_that_decodes_knows_what_it_gives(tmp_path: Path) -> None:
    checkpoint = written(tmp_path, {"a": row_of(Total(3))})
    decoded = checkpoint.scan(decode=Total)
    assert_type(decoded, Scan[Total | None])
    assert_type(decoded.get("a"), Total | None)
    assert_type(decoded.update(version=1).get("a"), Total | None)
    assert_type(checkpoint.scan(version=1, decode="n long"), Scan[Any])
    assert_type(checkpoint.scan().get("a"), Any)
    assert_type(checkpoint.scan().update(decode=Total).get("a"), Total | None)
    assert decoded.get("a") == Total(3)
    assert decoded.get("b") is None


def test_what_says_no_class_is_of_any() -> None:
    of_text: Harness = Harness(untyped, by="key", state="n long", output="n long")
    assert_type(of_text, Harness[Any])
    assert_type(Harness(stateful.latest("n"), by="key", schema=Row), Harness[Any])
    partial = functools.partial(count)
    made: Any = partial
    assert_type(Harness(made, by="key"), Harness[Any])
    assert Harness(partial, by="key").run(ROWS)[0]["n"] == 1
