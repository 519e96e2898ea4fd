"""Whole numbers beyond the exact ones of floats, which pandas has where a column has nulls."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import Keys, WrongTypeError
from bucketstate.testing import Harness

MOST = 2**53
BEYOND = MOST + 1
ROWS = [{"k": k} for k in range(9)]


@dataclass
class Seen:
    last: int | None = None
    n: int = 0


@dataclass
class Within:
    many: list[int | None] = field(default_factory=list)
    named: dict[str, int | None] = field(default_factory=dict)
    n: int = 0


def with_pandas(keys: Keys[Seen], _rows: pd.DataFrame) -> None:
    keys.update(keys.state.assign(n=np.diff(keys.offsets)))


def with_polars(keys: Keys[Seen], _rows: pl.DataFrame) -> None:
    keys.update(keys.state.with_columns(n=pl.Series(np.diff(keys.offsets))))


def with_arrow(keys: Keys[Seen], _rows: pa.Table) -> None:
    keys.update({"last": keys.state["last"], "n": np.diff(keys.offsets)})


def begun(fn: Any, value: int, **options: Any) -> Harness[Any]:
    run: Harness[Any] = Harness(stateful.define(fn, output="k long"), by="k", **options)
    run.set_state(Seen(value), 0)
    return run


def test_a_state_beside_new_ones() -> None:
    run = begun(with_pandas, BEYOND)
    with pytest.raises(
        WrongTypeError,
        match=f"column last of keys.state has the whole number {BEYOND} beside nulls.*polars.*set "
        "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype=true",
    ):
        run.run(ROWS)
    assert run.states() == {(0,): Seen(BEYOND)}


@pytest.mark.parametrize("value", [1 - MOST, MOST - 1])
def test_what_floats_hold(value: int) -> None:
    run = begun(with_pandas, value)
    run.run(ROWS)
    assert run.state(0) == Seen(value, 1)


@pytest.mark.parametrize("fn", [with_polars, with_arrow])
def test_other_libraries(fn: Any) -> None:
    run = begun(fn, BEYOND)
    run.run(ROWS)
    assert run.state(0) == Seen(BEYOND, 1)


def test_without_nulls() -> None:
    run = begun(with_pandas, BEYOND)
    run.run(ROWS[:1])
    assert run.state(0) == Seen(BEYOND, 1)


def test_pandas_own_whole_numbers() -> None:
    def counted(keys: Keys[Seen], rows: pd.DataFrame) -> None:
        dtypes.append(str(keys.state["last"].dtype))
        with_pandas(keys, rows)

    dtypes: list[str] = []
    run = begun(counted, BEYOND)
    run._query.extension = True
    run.run(ROWS)
    assert "Int64" in dtypes
    assert run.states() == {(k,): Seen(None if k else BEYOND, 1) for k in range(9)}


class Timed:
    def handleInputRows(self, keys: Keys[Seen], _rows: pd.DataFrame) -> Any:
        keys.timeout_after(timedelta(minutes=1))
        return keys.frame

    def handleExpiredTimer(self, keys: Keys[Seen]) -> Any:
        return keys.frame


def test_keys() -> None:
    fn = stateful.define(Timed(), output="k long")
    run: Harness[Any] = Harness(fn, by="k", schema="k long", timeout="processing")
    several = {BEYOND + 2 * n for n in range(9)}
    assert {r["k"] for r in run.run([{"k": k} for k in several])} == several
    run.run([{"k": None}])
    run.advance(timedelta(minutes=2))
    with pytest.raises(
        WrongTypeError, match=r"column k of keys.frame has the whole number 9007\d+ beside nulls"
    ):
        run.run()


def test_within_lists_and_maps() -> None:
    def counted(keys: Keys[Within], _rows: pd.DataFrame) -> None:
        state = keys.state
        state.loc[:, "n"] = np.diff(keys.offsets)
        keys.update(state)

    run: Harness[Any] = Harness(stateful.define(counted, output="k long"), by="k")
    many, named = [BEYOND, None], {"a": BEYOND, "b": None}
    run.set_state(Within(many, named), 0)
    run.run(ROWS)
    assert run.state(0) == Within(many, named, 1)


@pytest.mark.parametrize("value", [BEYOND, -BEYOND])
def test_floats_that_a_function_gives(value: int) -> None:
    def floats(keys: Keys[Seen], _rows: pd.DataFrame) -> None:
        last = pd.Series([float(value) if k == 0 else None for k in keys.frame["k"]])
        keys.update({"last": last, "n": np.diff(keys.offsets)})

    run: Harness[Any] = Harness(stateful.define(floats, output="k long"), by="k")
    with pytest.raises(
        WrongTypeError, match=r"float -?9007.* for last, expected a whole number within 2\*\*53"
    ):
        run.run(ROWS)
    assert run.states() == {}
