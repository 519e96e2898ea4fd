"""Stateful functions for the tests on real Spark; in a module, so that the workers import them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd

from bucketstate import stateful
from bucketstate.stateful import ListState, MapState, State, ValueState


@dataclass
class Inner:
    n: int
    text: str | None = None


@dataclass
class Everything:
    """Each supported hint, in state and output alike."""

    an_int: int = -(2**63)
    a_float: float = 0.1
    a_bool: bool = True
    a_str: str = 'é"\\\n'
    some_bytes: bytes = b"\x00\xff"
    a_decimal: Decimal = Decimal("12345678901234567890.000000000000000001")
    a_date: date = date(1, 1, 1)
    a_datetime: datetime = datetime(2024, 3, 1, 12, 30, 15, 123456)
    long_ago: datetime = datetime(1600, 1, 1)
    a_timedelta: timedelta = timedelta(days=-1, microseconds=5)
    nothing: int | None = None
    something: float | None = 2.5
    a_list: list[int] = field(default_factory=lambda: [1, 2])
    nested: list[list[str | None]] = field(default_factory=lambda: [["a", None], []])
    a_dict: dict[str, date] = field(default_factory=lambda: {"x": date(2024, 1, 1)})
    by_number: dict[int, float] = field(default_factory=lambda: {7: 0.5})
    inner: Inner = field(default_factory=lambda: Inner(1, "t"))
    inners: list[Inner] = field(default_factory=lambda: [Inner(2)])


def echo(_key: Any, _rows: list[dict[str, Any]], state: State[Everything]) -> Everything:
    """Puts out what is stored, and from the first batch on stores the defaults."""
    value = state.value
    if not state.exists:
        state.update(Everything())
    return value


@dataclass
class CountsV1:
    n: int = 0
    total: int = 0
    note: str = "old"


@dataclass
class CountsV2:
    """One field added, one removed, one widened."""

    n: int = 0
    total: float = 0.5
    last: str | None = None


@stateful.state(version=3, migrations={2: lambda old: {"count": old["n"]}})
@dataclass
class CountsV3:
    count: int = 0


@dataclass
class CountsLost:
    n: list[int] = field(default_factory=list)


@dataclass
class Counted:
    key: str
    n: int
    total: float


def count_v1(key: Any, rows: pd.DataFrame, state: State[CountsV1]) -> Counted:
    state.value.n += len(rows)
    state.value.total += int(rows["value"].sum())
    return Counted(key.key, state.value.n, state.value.total)


def count_v2(key: Any, rows: pd.DataFrame, state: State[CountsV2]) -> Counted:
    state.value.n += len(rows)
    state.value.total += rows["value"].sum() + 0.25
    return Counted(key.key, state.value.n, state.value.total)


def count_v3(key: Any, rows: pd.DataFrame, state: State[CountsV3]) -> Counted:
    state.value.count += len(rows)
    return Counted(key.key, state.value.count, 0.0)


def count_lost(key: Any, rows: pd.DataFrame, state: State[CountsLost]) -> Counted:
    state.value.n.append(len(rows))
    return Counted(key.key, len(state.value.n), 0.0)


@dataclass
class Parts:
    last: ValueState[str]
    values: ListState[int]
    marks: MapState[str, Inner] = stateful.map_state(ttl=timedelta(hours=1))


@dataclass
class PartsSeen:
    key: str
    last: str | None
    values: list[int]
    marks: dict[str, Inner]


def keep_parts(key: Any, rows: pd.DataFrame, state: State[Parts]) -> Iterator[PartsSeen]:
    parts = state.value
    yield PartsSeen(
        key.key, parts.last.get(), list(parts.values.get()), dict(parts.marks.iterator())
    )
    parts.last.update(f"{len(rows)} rows")
    parts.values.appendList(sorted(rows["value"])[:1])
    parts.marks.updateValue("m", Inner(len(rows)))


def silent(_key: Any, rows: Iterator[pd.DataFrame], state: State[CountsV1]) -> None:
    for chunk in rows:
        state.value.n += len(chunk)


def wrong(key: Any, _rows: pd.DataFrame, state: State[CountsV1]) -> dict[str, Any]:
    state.value.n += 1
    return {"key": key.key, "n": "three" if key.key == "k3" else 3, "total": 1.0}


def frames(key: Any, rows: pd.DataFrame, state: Any) -> pd.DataFrame:
    """With schemas as DDL: the state's columns are attributes."""
    state.value.n = (state.value.n or 0) + len(rows)
    columns = {"n": state.value.n, "at": rows["at"].max(), "odd": key.odd, "key": key.key}
    return pd.DataFrame({name: [value] for name, value in columns.items()})
