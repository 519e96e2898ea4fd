"""What a call does to the state of its key."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import (
    ListState,
    MapState,
    MigrationError,
    RenamedFieldWarning,
    State,
    StateUsageError,
    ValueState,
    WrongTypeError,
)
from bucketstate.testing import Harness
from tests.kit.cases import examples

ROW = [{"key": "a"}]
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass
class Point:
    x: int
    label: str | None = None


@dataclass
class Wide:
    i: int
    f: float
    b: bool
    s: str
    raw: bytes
    d: Decimal
    day: date
    at: datetime
    gap: timedelta
    maybe: int | None
    many: list[str | None]
    by_name: dict[str, float]
    by_day: dict[date, int]
    point: Point
    points: list[Point] = field(default_factory=list)


@dataclass
class Total:
    n: int = 0
    tags: list[str] = field(default_factory=list)


def harness(step: Any, state: Any = Total, **options: Any) -> Harness:
    """A harness whose function does `step` to the state of key "a" and puts nothing out."""

    def fn(_key: Any, _rows: pd.DataFrame, state: Any) -> None:
        step(state)

    return Harness(stateful.define(fn, state=state), by="key", **options)


moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
decimals = st.decimals(-(10**19), 10**19, places=9, allow_nan=False)
points = st.builds(Point, st.integers(-9, 9), st.none() | texts)
wides = st.builds(
    Wide,
    i=st.integers(-(2**63), 2**63 - 1),
    f=st.floats(allow_nan=False),
    b=st.booleans(),
    s=texts,
    raw=st.binary(max_size=8),
    d=decimals,
    day=st.dates(),
    at=moments,
    gap=st.timedeltas(timedelta(days=-(10**6)), timedelta(days=10**6)),
    maybe=st.none() | st.integers(0, 9),
    many=st.lists(st.none() | texts, max_size=3),
    by_name=st.dictionaries(texts, st.floats(allow_nan=False), max_size=3),
    by_day=st.dictionaries(st.dates(), st.integers(0, 9), max_size=3),
    point=points,
    points=st.lists(points, max_size=3),
)


@seed(7)
@settings(database=None, max_examples=examples(20))
@given(wides)
def test_what_is_stored_comes_back(value: Wide) -> None:
    seen: list[Any] = []
    steps: list[Any] = [lambda s: s.update(value), lambda s: seen.append(s.value)]
    running = harness(lambda s: steps.pop(0)(s), Wide)
    running.run(ROW)
    running.run(ROW)
    assert seen == [value]
    assert running.state("a") == value


@dataclass
class At:
    at: datetime | None = None


NOON = datetime(2024, 7, 1, 12, tzinfo=BERLIN)


@pytest.mark.parametrize(
    "given",
    [
        NOON,
        NOON.astimezone(UTC),
        NOON.astimezone(timezone(timedelta(hours=-5))),
        pd.Timestamp("2024-07-01 10:00", tz="UTC"),
    ],
)
def test_a_datetime_comes_back_with_the_offset_of_the_session(given: Any) -> None:
    running = harness(lambda s: s.update({"at": given}), At, time_zone="Europe/Berlin")
    running.run(ROW)
    found = running.state("a")
    assert found == At(NOON)
    assert found.at.tzinfo == timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            datetime(2024, 7, 1, 10),
            "expected a datetime with a time zone. Take it from the rows or the state's clocks",
        ),
        (pd.Timestamp("2024-07-01 12:00"), "expected a datetime with a time zone"),
        (np.datetime64("2024-07-01T12:00"), "expected a datetime"),
        (
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
            "expected a datetime that has a date in UTC",
        ),
        ("now", "is str 'now', expected a datetime or None"),
    ],
)
def test_a_datetime_that_would_come_back_as_another_is_refused(given: Any, told: str) -> None:
    with pytest.raises(WrongTypeError) as refusal:
        harness(lambda s: s.update({"at": given}), At, time_zone="Europe/Berlin").run(ROW)
    assert told in str(refusal.value)


def test_a_default_is_not_stored_until_it_changes() -> None:
    running = harness(lambda s: s.value)
    running.run(ROW)
    assert running.state("a") is None
    changed = harness(lambda s: s.value.tags.append("x"))
    changed.run(ROW)
    assert changed.state("a") == Total(0, ["x"])
    given_default = harness(lambda s: s.update(Total()))
    given_default.run(ROW)
    assert given_default.state("a") == Total()


def test_exists_and_clear_within_one_call() -> None:
    seen: list[bool] = []

    def step(state: State[Total]) -> None:
        seen.append(state.exists)
        state.update({"n": 3, "tags": []})
        seen.append(state.exists)
        state.clear()
        seen.append(state.exists)
        state.value.n += 1

    running = harness(step)
    running.run(ROW)
    running.run(ROW)
    assert seen == [False, True, False, True, True, False]
    assert running.state("a") == Total(n=1)


def test_clearing_removes_the_key() -> None:
    steps = [lambda s: s.update(Total(1)), lambda s: s.clear()]
    running = harness(lambda s: steps.pop(0)(s))
    running.run(ROW)
    running.run(ROW)
    assert running.states() == {}


@dataclass
class NoDefault:
    n: int


def test_a_class_without_a_default_says_so_where_there_is_no_state() -> None:
    with pytest.raises(StateUsageError, match=r"NoDefault.n has no default to make one with"):
        harness(lambda s: s.value, NoDefault).run(ROW)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"n": "x"}, "field n of Total is str 'x', expected an int of 64 bits"),
        ({"n": 2**63}, "field n of Total is int 9223372036854775808"),
        ({"n": True}, "field n of Total is bool True"),
        ({"n": None}, "field n of Total is None"),
        ({"tags": ["x", 3]}, "field tags[1] of Total is int 3, expected a str"),
        ({"m": 1}, "expected the fields of Total"),
    ],
)
def test_a_value_that_does_not_fit_the_state_names_the_key_and_the_field(
    change: Any, told: str
) -> None:
    running = harness(lambda s: s.update({"n": 0, "tags": []} | change))
    with pytest.raises(WrongTypeError) as refusal:
        running.run(ROW)
    assert "The state of Key(key='a')" in str(refusal.value)
    assert told in str(refusal.value)
    assert running.states() == {}


def test_numpy_values_are_stored_as_what_they_hold() -> None:
    def step(state: State[Any]) -> None:
        state.value.n = np.int32(5)
        state.value.tags = np.array(["x"], dtype=object)

    running = harness(step)
    running.run(ROW)
    assert running.state("a") == Total(5, ["x"])


def test_nan_is_kept_and_does_not_count_as_a_change() -> None:
    running = harness(lambda s: s.value, "f double")
    running.run(ROW)
    kept = harness(lambda s: s.update({"f": math.nan}), "f double")
    kept.run(ROW)
    assert math.isnan(kept.state("a").f)


@dataclass
class Parts:
    last: ValueState[int] = stateful.value_state(ttl=timedelta(minutes=10))
    log: ListState[Point] = stateful.list_state(ttl=timedelta(minutes=10))
    ever: MapState[str, int] = field(default_factory=MapState)


def test_parts_expire_one_by_one_by_the_clock() -> None:
    def step(state: State[Parts]) -> None:
        parts = state.value
        if not parts.log.exists():
            parts.last.update(1)
            parts.ever.updateValue("k", 1)
        parts.log.appendValue(Point(len(parts.log)))

    running = harness(step, Parts)
    running.run(ROW)
    running.advance(timedelta(minutes=9))
    running.run(ROW)
    now = running.state("a")
    assert [p.x for p in now.log.get()] == [0, 1]
    running.advance(timedelta(minutes=1))
    running.run(ROW)
    now = running.state("a")
    assert [p.x for p in now.log.get()] == [1, 1]
    assert (now.last.get(), now.last.exists()) == (None, False)
    assert list(now.ever.iterator()) == [("k", 1)]


@dataclass
class ByEvent:
    log: ListState[int] = stateful.list_state(ttl=timedelta(minutes=10), time="event")


def test_parts_expire_by_the_watermark_counted_from_the_first_one() -> None:
    running = harness(lambda s: s.value.log.appendValue(len(s.value.log)), ByEvent)
    with pytest.raises(StateUsageError, match=r"has no watermark, but the part log of ByEvent"):
        running.run(ROW)
    running = harness(lambda s: s.value.log.appendValue(len(s.value.log)), ByEvent, event_time="at")
    start = datetime(2024, 3, 1, tzinfo=UTC)

    def batch(minute: int) -> list[int]:
        running.run([{"key": "a", "at": start + timedelta(minutes=minute)}])
        return list(running.state("a").log.get())

    assert batch(0) == [0]
    # The first watermark, not 1970, is what the first value's life is counted from.
    assert batch(5) == [0, 1]
    # What the next batch will see: its watermark is that of minute 11.
    assert batch(11) == [2]
    assert batch(12) == [2, 1]


def test_the_methods_of_parts() -> None:
    value: ValueState[int] = ValueState()
    value.update(3)
    assert (value.get(), value.exists()) == (3, True)
    value.clear()
    assert (value.get(), value.exists()) == (None, False)
    values: ListState[int] = ListState()
    values.put([1, 2])
    values.appendList([3])
    assert (list(values.get()), len(values)) == ([1, 2, 3], 3)
    values.clear()
    assert not values.exists()
    marks: MapState[str, int] = MapState()
    marks.updateValue("a", 1)
    marks.updateValue("b", 2)
    marks.removeKey("a")
    marks.removeKey("never there")
    assert (list(marks.keys()), list(marks.values()), len(marks)) == (["b"], [2], 1)
    assert marks.containsKey("b")
    assert marks.getValue("a") is None
    marks.clear()
    assert not marks.exists()


def test_a_part_that_was_replaced_by_a_plain_list_is_refused() -> None:
    def step(state: Any) -> None:
        state.value.log = [1]

    with pytest.raises(WrongTypeError, match=r"field log of Parts is list \[1\], expected a ListS"):
        harness(step, Parts).run(ROW)


@dataclass
class Before:
    n: int = 3
    gone: str = "x"


@dataclass
class After:
    n: float = 0.0
    new: list[int] = field(default_factory=lambda: [7])


@dataclass
class Needs:
    new: int


@stateful.state(version=2, migrations={1: lambda old: {"new": old["n"] * 2}})
@dataclass
class Migrated:
    new: int = 0


def in_a_list(old: Any) -> Any:
    return [old]


@stateful.state(version=2, migrations={1: in_a_list})
@dataclass
class BadMigration:
    new: int = 0


@stateful.state(version=2, migrations={1: lambda old: {"new": old["absent"]}})
@dataclass
class FailingMigration:
    new: int = 0


def restarted(state: Any, step: Any = lambda s: s.value) -> Harness:
    running = harness(lambda s: s.update(Before()), Before)
    running.run(ROW)

    def fn(_key: Any, _rows: Any, state: Any) -> None:
        step(state)

    return running.restarted(stateful.define(fn, state=state, output="x long"))


@pytest.mark.filterwarnings("ignore::bucketstate.stateful.RenamedFieldWarning")
def test_a_changed_class_reads_what_is_stored() -> None:
    assert restarted(After).state("a") == After(3.0, [7])
    assert restarted(Migrated).state("a") == Migrated(6)
    once = restarted(Migrated, lambda s: setattr(s.value, "new", s.value.new + 1))
    once.run(ROW)
    once.run(ROW)
    assert once.state("a") == Migrated(8)


@pytest.mark.filterwarnings("ignore::bucketstate.stateful.RenamedFieldWarning")
@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            Needs,
            "field new holds nothing, expected an int of 64 bits (the field has no default). It",
        ),
        (BadMigration, "migrations[1] of BadMigration returned a list"),
        (FailingMigration, "cannot be read as FailingMigration: migrations[1] failed"),
        ("n string", "field n holds int 3, expected a str"),
    ],
)
def test_a_class_that_cannot_migrate_is_one_clear_error(state: Any, told: str) -> None:
    running = restarted(state)
    with pytest.raises(MigrationError) as refusal:
        running.run(ROW)
    assert "The state of Key(key='a') cannot be read as" in str(refusal.value)
    assert told in str(refusal.value)


@dataclass
class Renamed:
    count: int = 0
    gone: str = ""


@stateful.state(version=2)
@dataclass
class Meant:
    count: int = 0
    gone: str = ""


@dataclass
class Fewer:
    n: int = 0


def test_a_field_that_seems_renamed_is_told_once_it_is_read() -> None:
    with pytest.warns(RenamedFieldWarning) as told:
        assert restarted(Renamed).state("a") == Renamed(gone="x")
    assert (
        "Renamed has no field n, which stored states have, and new is count. If that is a new "
        "name, the values are lost: use @stateful.state(version=2, migrations={1: ...})"
    ) in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert restarted(Meant).state("a") == Meant(gone="x")
        assert restarted(Fewer).state("a") == Fewer(3)
        assert restarted(Migrated).state("a") == Migrated(6)


def test_newer_state_is_not_read_by_older_code() -> None:
    newer = restarted(Migrated, lambda s: setattr(s.value, "new", 1))
    newer.run(ROW)

    def fn(_key: Any, _rows: Any, state: Any) -> None:
        state.value.n += 1

    older = newer.restarted(stateful.define(fn, state=Before, output="x long"))
    with pytest.raises(MigrationError, match=r"written by version 2 of Before.*up to 1"):
        older.run(ROW)


@pytest.mark.parametrize("method", ["put", "appendList"])
@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
def test_a_text_is_not_a_list_of_its_letters(method: str, operator: Any) -> None:
    @dataclass
    class Tagged:
        tags: ListState[str] = field(default_factory=ListState)

    def tag(_key: Any, _rows: Any, state: Any) -> None:
        getattr(state.value.tags, method)("abc")

    harness = Harness(stateful.define(tag, state=Tagged), by="key", operator=operator)
    with pytest.raises(StateUsageError, match=rf"{method}\('abc'\) would add each letter"):
        harness.run([{"key": "a"}])


@dataclass
class Positive:
    n: int = 1
    inner: ListState[Inner] = field(default_factory=ListState)

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError("below zero")


@dataclass
class Inner:
    m: int = 1

    def __post_init__(self) -> None:
        if self.m < 0:
            raise ValueError("far below zero")


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
def test_a_class_that_does_not_take_what_is_stored(operator: Any) -> None:
    def spoil(_key: Any, rows: list[dict[str, Any]], state: State[Positive]) -> None:
        assert list(state.value.inner.get()) == []
        state.value.n = rows[0]["n"]
        if rows[0]["m"] is not None:
            inner = Inner()
            inner.m = rows[0]["m"]
            state.value.inner.put([inner])

    schema = "key string, n long, m long"
    define = stateful.define(spoil, state=Positive, output="key string")
    for n, m, told in (
        (-1, None, r"the value holds .*what Positive takes \(ValueError: below zero\)"),
        (1, -1, r"field inner\[?.*what Inner takes \(ValueError: far below zero\)"),
    ):
        harness = Harness(define, by="key", operator=operator, schema=schema)
        harness.run([{"key": "a", "n": n, "m": m}])
        with pytest.raises(MigrationError, match=rf"state of Key\(key='a'\) .*{told}"):
            harness.run([{"key": "a", "n": 2, "m": None}])
