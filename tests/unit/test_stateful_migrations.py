"""A migrated state is written as what it is now, also where its document reads as the old one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import Keys, State
from bucketstate.testing import Harness

OPERATORS = ["applyInPandasWithState", "transformWithState"]
KEYS = [f"k{n}" for n in range(20)]
"""More than go through the codec one by one, in a call over columns."""
ROWS = [{"k": k} for k in KEYS]
SOON = timedelta(minutes=1)


@dataclass
class Before:
    n: int = 0


@stateful.state(version=2, migrations={1: lambda old: {"n": old["n"] - 1}})
@dataclass
class Fewer:
    n: int = 0


def counted(_key: Any, rows: list[dict[str, Any]], state: State[Before]) -> None:
    state.value.n += len(rows)


def after(step: Callable[[State[Fewer]], None], operator: Any, **options: Any) -> Harness[Fewer]:
    """A run whose states `Before` wrote, and which goes on with this."""

    def fn(_key: Any, _rows: Any, state: State[Fewer]) -> None:
        step(state)

    before = stateful.define(counted, output="x long")
    run = Harness(before, by="k", operator=operator, **options)
    run.run(ROWS)
    return run.restarted(stateful.define(fn, output="x long"))


def versions(run: Harness[Any]) -> set[int]:
    return {kept.version for kept in run._stored.kept().values()}


def one_more(state: State[Fewer]) -> None:
    state.value.n += 1


def one_given(state: State[Fewer]) -> None:
    state.update(Fewer(1))


def one_anew(state: State[Fewer]) -> None:
    state.clear()
    state.value.n = 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_document_that_reads_as_before(operator: str) -> None:
    run = after(one_more, operator)
    run.run(ROWS)
    assert versions(run) == {2}
    run.run(ROWS)
    assert {s.n for s in run.states().values()} == {2}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("step", [one_given, one_anew])
def test_one_that_was_given(step: Any, operator: str) -> None:
    run = after(step, operator)
    run.run(ROWS)
    assert {s.n for s in run.states().values()} == {1}
    assert versions(run) == {2}


@pytest.mark.parametrize("operator", OPERATORS)
def test_one_with_a_timeout(operator: str) -> None:
    def step(state: State[Fewer]) -> None:
        one_given(state)
        state.timeout_after(SOON)

    run = after(step, operator, timeout="processing")
    run.run(ROWS)
    assert {s.n for s in run.states().values()} == {1}


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_was_only_read_stays_as_it_was(operator: str) -> None:
    def read(state: State[Fewer]) -> None:
        assert state.value.n == 0

    run = after(read, operator)
    stored = dict(run._stored.kept())
    run.run(ROWS)
    assert run._stored.kept() == stored


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_timeout_alone_leaves_the_document_as_it_was(operator: str) -> None:
    def read(state: State[Fewer]) -> None:
        assert state.value.n == 0
        state.timeout_after(SOON)

    run = after(read, operator, timeout="processing")
    run.run(ROWS)
    assert {(k.version, k.text) for k in run._stored.kept().values()} == {(1, '{"n":1}')}
    run.run(ROWS)
    assert {s.n for s in run.states().values()} == {0}


def with_pandas(keys: Keys[Fewer], _rows: pd.DataFrame) -> None:
    keys.update(keys.state.assign(n=keys.state["n"] + 1))


def with_arrow(keys: Keys[Fewer], _rows: pa.RecordBatch) -> None:
    keys.update({"n": pa.array(keys.state["n"].to_numpy() + 1)})


@pytest.mark.parametrize("fn", [with_pandas, with_arrow])
def test_columns(fn: Any) -> None:
    before = stateful.define(counted, output="x long")
    run: Harness[Any] = Harness(before, by="k")
    run.run(ROWS)
    run = run.restarted(stateful.define(fn, output="x long"))
    run.run(ROWS)
    assert versions(run) == {2}
    run.run(ROWS)
    assert {s.n for s in run.states().values()} == {2}


def test_columns_of_some_keys() -> None:
    def some(keys: Keys[Fewer], _rows: pd.DataFrame) -> None:
        first = (keys.frame["k"] == KEYS[0]).to_numpy()
        keys.update({"n": np.ones(len(keys), int)}, where=first)

    before = stateful.define(counted, output="x long")
    run: Harness[Any] = Harness(before, by="k")
    run.run(ROWS)
    run = run.restarted(stateful.define(some, output="x long"))
    run.run(ROWS)
    assert [run.state(k).n for k in KEYS] == [1, *[0] * 19]
    assert sorted(k.version for k in run._stored.kept().values()) == [*[1] * 19, 2]
