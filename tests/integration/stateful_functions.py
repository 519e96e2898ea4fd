"""Stateful functions for the tests on real Spark; in a module, so that the workers import them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd

from bucketstate import stateful
from bucketstate.stateful import Keys, ListState, MapState, State, ValueState


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
    a_datetime: datetime = datetime(2024, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    long_ago: datetime = datetime(1600, 1, 1, tzinfo=UTC)
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


@dataclass
class EverythingParts(Everything):
    last: ValueState[Everything] = field(default_factory=ValueState)
    log: ListState[Everything] = field(default_factory=ListState)
    by_name: MapState[str, Everything] = field(default_factory=MapState)


@dataclass
class Found:
    key: str
    where: str
    an_int: int
    a_float: float
    a_bool: bool
    a_str: str
    some_bytes: bytes
    a_decimal: Decimal
    a_date: date
    a_datetime: datetime
    long_ago: datetime
    a_timedelta: timedelta
    nothing: int | None
    something: float | None
    a_list: list[int]
    nested: list[list[str | None]]
    a_dict: dict[str, date]
    by_number: dict[int, float]
    inner: Inner
    inners: list[Inner]


def echo_parts(
    key: Any, _rows: list[dict[str, Any]], state: State[EverythingParts]
) -> Iterator[Found]:
    """Puts out what is stored, and stores the defaults everywhere."""
    held = state.value
    last = held.last.get()
    if state.exists:
        assert last is not None
        for where, value in (
            ("state", held),
            ("last", last),
            *(("log", v) for v in held.log.get()),
            *held.by_name.iterator(),
        ):
            yield Found(key.key, where, **{n: getattr(value, n) for n in _FIELDS})
        return
    state.update(EverythingParts())
    state.value.last.update(Everything())
    state.value.log.appendValue(Everything())
    state.value.by_name.updateValue("by_name", Everything())


_FIELDS = list(Everything.__dataclass_fields__)


@dataclass
class Told:
    what: str
    key: str
    rows: str


@dataclass
class Shaped:
    at: datetime
    n: int | None
    gap: timedelta
    tags: dict[str, int]


class Shapes:
    """Tells its rows, and its key once more by a timer."""

    def handleExpiredTimer(self, key: Any, timer: stateful.Timer, state: State[CountsV1]) -> Told:
        assert timer.name == "once"
        assert state.value.n == 1
        return Told("timer", repr(key), "")

    def tell(self, key: Any, rows: str, state: State[CountsV1]) -> Told:
        state.value.n += 1
        if key.at.year < 2030:
            state.registerTimer(key.at + timedelta(days=1), name="once")
        return Told("rows", repr(key), rows)


class ShapeFrame(Shapes):
    def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[CountsV1]) -> pd.DataFrame:
        told = self.tell(key, f"{rows.dtypes.to_dict()} {rows.to_dict('records')}", state)
        return pd.DataFrame([told])


class ShapeDicts(Shapes):
    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[CountsV1]) -> Told:
        return self.tell(key, str(rows), state)


class ShapeRecords(Shapes):
    def handleInputRows(
        self, key: Any, rows: Iterator[list[Shaped]], state: State[CountsV1]
    ) -> Told:
        return self.tell(key, str(list(rows)), state)


@dataclass
class Seed:
    key: str
    n: int


@dataclass
class Count:
    key: str
    n: int


class Seeded:
    """Brings counts in, and goes on counting."""

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], state: State[CountsV1]
    ) -> Count:
        state.value.n += sum(map(len, rows))
        return Count(key.key, state.value.n)

    def handleInitialState(self, key: Any, initial: Seed, state: State[CountsV1]) -> None:
        assert initial.key == key.key
        state.value.n += initial.n


@dataclass
class Remembered:
    n: int = 0
    last: ValueState[str] = field(default_factory=ValueState)
    values: ListState[int] = field(default_factory=ListState)
    by_tens: MapState[str, int] = field(default_factory=MapState)


class Remembers:
    """Keeps something in every kind of part, with a timer and a timeout."""

    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], state: State[Remembered]
    ) -> Count:
        held = state.value
        held.n += len(rows)
        for row in rows:
            tens = str(row["value"] // 10)
            held.by_tens.updateValue(tens, (held.by_tens.getValue(tens) or 0) + 1)
        held.values.appendList(sorted(row["value"] for row in rows))
        latest = max(row["at"] for row in rows)
        held.last.update(f"{held.last.get()} {len(rows)}"[-9:])
        state.registerTimer(latest + timedelta(minutes=20), name=f"after {held.n}")
        state.timeout_at(latest + timedelta(minutes=10))
        return Count(key.key, held.n + 100 * len(list(held.values.get())))

    def handleExpiredTimer(
        self, key: Any, timer: stateful.Timer, state: State[Remembered]
    ) -> Count:
        state.value.by_tens.updateValue("fired", state.value.n)
        return Count(key.key, -state.value.n - (1000 if timer.name else 0))


class RemembersInColumns:
    """The same of counts alone, with a timeout."""

    def handleInputRows(self, keys: Keys[CountsV1], rows: pd.DataFrame) -> pd.DataFrame:
        new = rows.groupby(keys.of(rows), sort=True)
        n = keys.state["n"] + new.size()
        keys.update(keys.state.assign(n=n))
        keys.timeout_at(new["at"].max() + timedelta(minutes=10))
        made: pd.DataFrame = keys.frame.assign(n=n)
        return made

    def handleExpiredTimer(self, keys: Keys[CountsV1]) -> pd.DataFrame:
        keys.clear()
        made: pd.DataFrame = keys.frame.assign(n=-keys.state["n"])
        return made


@dataclass
class Clocks:
    now: datetime
    why: str


def clocks(_key: Any, _rows: Any, state: State[CountsV1]) -> Clocks:
    try:
        return Clocks(state.now, str(state.watermark))
    except stateful.StateUsageError as e:
        return Clocks(state.now, str(e))


@dataclass
class Evolve1:
    n: int = 0
    note: str = "old"
    log: ListState[Inner] = field(default_factory=ListState)
    gone: ValueState[int] = field(default_factory=ValueState)


@dataclass
class WiderInner:
    n: float
    more: str = "new"


@dataclass
class Evolve2:
    """A field and a part added, a field and a part removed, a field widened, here and in a part."""

    n: float = 0.0
    last: str | None = None
    log: ListState[WiderInner] = field(default_factory=ListState)
    marks: MapState[str, int] = field(default_factory=MapState)


@stateful.state(version=2)
@dataclass
class Evolve3(Evolve2):
    seen: int = 0


@dataclass
class Evolved:
    key: str
    n: float
    log: str
    marks: str


def evolve_1(key: Any, rows: pd.DataFrame, state: State[Evolve1]) -> Evolved:
    state.value.n += len(rows)
    state.value.log.appendValue(Inner(len(rows)))
    state.value.gone.update(1)
    return Evolved(key.key, state.value.n, str([*state.value.log.get()]), "")


def evolve_2(key: Any, rows: pd.DataFrame, state: State[Evolve2]) -> Evolved:
    state.value.n += len(rows) + 0.5
    state.value.log.appendValue(WiderInner(len(rows) + 0.25))
    return evolved(key, state)


def evolve_3(key: Any, rows: pd.DataFrame, state: State[Evolve3]) -> Evolved:
    state.value.n += len(rows)
    state.value.seen += 1
    return evolved(key, state)


def evolved(key: Any, state: Any) -> Evolved:
    marks = state.value.marks
    marks.updateValue("n", (marks.getValue("n") or 0) + 1)
    return Evolved(key.key, state.value.n, str([*state.value.log.get()]), str([*marks.iterator()]))


@dataclass
class OtherKind:
    log: MapState[str, Inner]


@dataclass
class OtherTtl:
    log: ListState[Inner] = stateful.list_state(ttl=timedelta(hours=1))


def evolve_kind(_key: Any, _rows: pd.DataFrame, state: State[OtherKind]) -> None:
    state.value.log.clear()


def evolve_ttl(_key: Any, _rows: pd.DataFrame, state: State[OtherTtl]) -> None:
    state.value.log.clear()


@dataclass
class Named:
    by_name: MapState[str, int] = stateful.map_state(ttl=timedelta(hours=1))


def keep_names(key: Any, rows: list[dict[str, Any]], state: State[Named]) -> Counted:
    """Keeps what a batch has, and nothing else."""
    by_name = state.value.by_name
    names = {str(row["value"]) for row in rows}
    for gone in set(by_name) - names:
        del by_name[gone]
    for one in names:
        by_name[one] = len(rows)
    return Counted(key.key, len(by_name), 0.0)
