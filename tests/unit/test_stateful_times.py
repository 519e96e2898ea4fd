"""Times are points in time, whatever the wall clock of the session's time zone says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

from bucketstate import stateful
from bucketstate.stateful import FirstWatermarkWarning, State, StateUsageError, WrongTypeError
from bucketstate.stateful.run.inputs import Inputs
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.values.instants import CHANGES, GAP, MINUTE, SHAPES, Event, Told, batches

OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]
operators = pytest.mark.parametrize("operator", OPERATORS)
BERLIN = ZoneInfo("Europe/Berlin")


def as_rows(given: list[dict[str, Any]]) -> list[Any]:
    return [Row(**row) for row in given]


def as_records(given: list[dict[str, Any]]) -> list[Any]:
    return [Event(**row) for row in given]


@operators
@pytest.mark.parametrize("made", SHAPES)
@pytest.mark.parametrize("form", [list, as_rows, as_records, pd.DataFrame])
@pytest.mark.parametrize(("zone", "turn"), [(z, n) for z in CHANGES for n in (0, 1)])
def test_a_change_of_the_clock_changes_nothing(
    operator: Operator, made: Any, form: Any, zone: str, turn: int
) -> None:
    change = CHANGES[zone][turn]
    running = Harness(
        made(),
        by="key",
        operator=operator,
        timeout="event",
        event_time="at",
        time_zone=zone,
        output=Told,
    )
    first, second, third, fourth = batches(change)
    (of_a,) = [r for r in running.run(form(first)) if r["key"] == "a"]
    newest = change + 20 * MINUTE
    assert of_a["newest"] == newest
    assert of_a["wall"] == f"{newest.astimezone(ZoneInfo(zone)):%H:%M}"
    assert of_a["span"] == 30 * MINUTE
    assert of_a["also"] == sorted(t for r in first if r["key"] == "a" for t in r["also"])
    assert of_a["counted"] == 8
    assert running.timeout("a") == newest + GAP
    assert running.state("a").newest == newest
    assert [t.at for t in running.timers("a")] == [newest + GAP + MINUTE]
    assert running.watermark == change + 25 * MINUTE
    assert [r["key"] for r in running.run(form(second))] == ["b"]
    assert [r["key"] for r in running.run(form(third))] == ["b"]
    fired = [r["fired"] for r in running.run(form(fourth)) if r["key"] == "a"]
    assert fired == [newest + GAP, newest + GAP + MINUTE]


def asked(ask: Any, watermark: datetime | None = None, **options: Any) -> None:
    def step(_key: Any, _rows: Any, state: State[Any]) -> None:
        ask(state)

    defined = stateful.define(step, state="n long", output="n long")
    running = Harness(defined, by="key", timeout="event", **options)
    if watermark is not None:
        running.watermark = watermark
    running.run([{"key": "a"}])


def test_a_reading_that_the_clock_shows_twice_is_the_first_one_unless_it_says_so() -> None:
    found: list[Any] = []

    def ask(state: State[Any]) -> None:
        for fold in (0, 1):
            state.registerTimer(datetime(2025, 10, 26, 2, 30, fold=fold))
        found.extend(t.at for t in state.listTimers())

    asked(ask, datetime(2025, 10, 26, tzinfo=UTC), time_zone="Europe/Berlin")
    assert found == [
        datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
        datetime(2025, 10, 26, 1, 30, tzinfo=UTC),
    ]
    assert [t.tzinfo for t in found] == [timezone(timedelta(hours=n)) for n in (2, 1)]


def test_a_time_in_the_region_itself_is_taken_as_what_it_is() -> None:
    """Python goes by the wall clock where it reckons with a region's times."""
    at = datetime(2025, 10, 26, 2, 50, tzinfo=BERLIN, fold=1)
    found: list[Any] = []

    def ask(state: State[Any]) -> None:
        state.timeout_at(at)
        state.registerTimer(pd.Timestamp(at) + pd.Timedelta(minutes=1))
        found.extend(t.at for t in state.listTimers())

    asked(ask, datetime(2025, 10, 26, 1, 40, tzinfo=UTC), time_zone="Europe/Berlin")
    assert found == [datetime(2025, 10, 26, 1, 51, tzinfo=UTC)]


def test_what_is_before_the_watermark_is_told_with_offsets() -> None:
    with pytest.raises(StateUsageError) as refusal:
        asked(
            lambda state: state.timeout_at(state.watermark - MINUTE),
            datetime(2025, 10, 26, 1, 40, tzinfo=UTC),
            time_zone="Europe/Berlin",
        )
    assert "timeout_at(2025-10-26 02:39:00+01:00)" in str(refusal.value)
    assert "the watermark 2025-10-26 02:40:00+01:00" in str(refusal.value)


@pytest.mark.parametrize("method", ["timeout_at", "registerTimer"])
def test_what_is_reckoned_from_the_first_batch_s_watermark_is_warned_of(method: str) -> None:
    with pytest.warns(FirstWatermarkWarning, match=f"{method} was computed from state.watermark"):
        asked(lambda state: getattr(state, method)(state.watermark + timedelta(days=60)))


@pytest.mark.filterwarnings("error")
def test_what_is_reckoned_otherwise_is_not() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    asked(lambda state: state.timeout_at(max(state.watermark, now)))
    asked(lambda state: state.timeout_at(datetime(1970, 1, 2, tzinfo=UTC)))
    asked(lambda state: state.timeout_at(state.watermark + MINUTE), now)


LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass
class Ends:
    key: str
    at: datetime | None
    wall: datetime | None


@operators
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("at", [LAST, datetime(1, 1, 2), datetime(1677, 1, 1), None])
@pytest.mark.parametrize("shape", [pd.DataFrame, list[dict], list[Ends]])  # type: ignore[type-arg]
def test_the_end_of_time_is_a_time(operator: Operator, zone: str, at: Any, shape: Any) -> None:
    seen: list[Any] = []

    def step(_key: Any, rows: Any, _state: State[Any]) -> None:
        if isinstance(rows, pd.DataFrame):
            rows = [Ends(*row) for row in rows.itertuples(index=False)]
        seen.extend(r if isinstance(r, Ends) else Ends(**r) for r in rows)

    step.__annotations__["rows"] = shape
    defined = stateful.define(step, state="n long", output="n long")
    schema = "key string, at timestamp, wall timestamp_ntz"
    running = Harness(defined, by="key", operator=operator, schema=schema, time_zone=zone)
    # In New York the last hours of 9999 are of another year in UTC.
    instant: Any = None if at is None else at.replace(tzinfo=UTC)
    running.run([{"key": "a", "at": instant, "wall": at}])
    (found,) = seen
    if at is None:
        assert pd.isna(found.at)
        assert pd.isna(found.wall)
        return
    assert str(found.wall) == str(at)
    assert str(found.at) == str(instant.astimezone(found.at.tzinfo))


def test_a_year_that_python_has_not_names_the_column() -> None:
    defined = stateful.define(_dicts, state="n long", output="n long")
    inputs = Inputs(defined, stateful.output_schema("at timestamp"), UTC, extension=False)
    with pytest.raises(WrongTypeError) as refusal:
        inputs.shaped(iter([{"at": [10**18]}]))
    assert (
        "The column at of the rows has Instant 1000000000000000000 microseconds since 1970"
        in str(refusal.value)
    )


def _dicts(_key: Any, _rows: list[dict[str, Any]], _state: State[Any]) -> None:
    """Takes dicts."""


@operators
def test_keys_with_times_are_the_same_to_rows_and_timers(operator: Operator) -> None:
    def fn(key: Any, rows: list[dict[str, Any]], state: State[Any]) -> dict[str, Any]:
        if rows:
            state.timeout_at(rows[0]["t"] + GAP)
        return {"at": key.at, "wall": key.wall, "timer": not rows, "of": key.window.start}

    change = CHANGES["Europe/Berlin"][0]
    schema = (
        "at timestamp, wall timestamp_ntz, window struct<start:timestamp,end:timestamp>, "
        "t timestamp"
    )
    output = "at timestamp, wall timestamp_ntz, timer boolean, of timestamp"
    running = Harness(
        stateful.define(fn, state="n long", output=output),
        by=["at", "wall", "window"],
        operator=operator,
        schema=schema,
        timeout="event",
        event_time="t",
        time_zone="Europe/Berlin",
    )
    keys: list[dict[str, Any]] = [
        {
            "at": change + minute * MINUTE,
            "wall": datetime(2025, 10, 26, 2, 30),
            "window": {"start": change + minute * MINUTE, "end": change + (minute + 60) * MINUTE},
        }
        for minute in (-30, 30)
    ]
    # Both keys have the same reading of the clock.
    rows = [{**key, "t": change} for key in keys]
    assert sorted(r["at"] for r in running.run(rows)) == [k["at"] for k in keys]
    named = (keys[0]["at"], keys[0]["wall"], keys[0]["window"])
    assert running.timeout(*named) == change + GAP
    assert running.timeout(keys[0]["at"].astimezone(BERLIN), *named[1:]) == change + GAP
    running.run([{**keys[0], "at": change, "t": change + 60 * MINUTE}])
    fired = [r for r in running.run() if r["timer"]]
    assert sorted(r["at"] for r in fired) == [k["at"] for k in keys]
    assert sorted(r["of"] for r in fired) == [k["at"] for k in keys]
    assert {r["wall"] for r in fired} == {keys[0]["wall"]}


@operators
def test_a_state_may_be_set_for_a_key_with_a_time_before_the_rows_are_known(
    operator: Operator,
) -> None:
    def fn(key: Any, rows: list[dict[str, Any]], state: State[Any]) -> dict[str, Any]:
        state.value.n += len(rows)
        return {"at": key.at, "n": state.value.n}

    defined = stateful.define(fn, state="n long", output="at timestamp, n long")
    running = Harness(defined, by="at", operator=operator, time_zone="Europe/Berlin")
    noon = datetime(2025, 7, 1, 12)
    running.set_state({"n": 40}, noon)
    found = running.run([{"at": noon.replace(tzinfo=BERLIN)}])
    assert found == [{"at": noon.replace(tzinfo=BERLIN), "n": 41}]
    assert running.state(noon).n == 41
    assert len(running.states()) == 1


class Carrying:
    """Goes on from the rows of an initial state."""

    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], state: State[Any]
    ) -> dict[str, Any]:
        return {"at": key.at, "n": state.value.n + len(rows)}

    def handleInitialState(self, key: Any, initial: dict[str, Any], state: State[Any]) -> None:
        state.update({"n": initial["n"] if initial["since"] == key.at else 0})


def test_an_initial_state_is_by_points_in_time_as_well() -> None:
    first, second = (datetime(2025, 10, 26, hour, 30, tzinfo=UTC) for hour in (0, 1))
    running = Harness(
        stateful.define(Carrying(), state="n long", output="at timestamp, n long"),
        by="at",
        operator="transformWithState",
        initial_state=[
            {"at": first, "n": 2**53, "since": first},
            {"at": second, "n": None, "since": first},
        ],
        time_zone="Europe/Berlin",
    )
    found = running.run([{"at": second}, {"at": first}])
    assert sorted(found, key=lambda row: row["at"]) == [
        {"at": first, "n": 2**53 + 1},
        {"at": second, "n": 1},
    ]


@dataclass
class Taken:
    at: datetime | None = None
    took: timedelta | None = None


NANOS = pd.Timestamp("2025-01-01T00:00:00.000000007Z"), pd.Timedelta(1001, "ns")
MICROS = NANOS[0].floor("us"), NANOS[1].floor("us")


def kept(values: Any) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: State[Taken]) -> None:
        state.value.at, state.value.took = values

    return fn


def put_out(values: Any) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], _state: State[Taken]) -> Taken:
        return Taken(*values)

    return fn


def framed(values: Any, **options: Any) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], _state: State[Taken]) -> Iterator[Taken]:
        frame = pd.DataFrame({"at": [None, values[0]], "took": [None, values[1]]})
        frame["took"] = pd.to_timedelta(frame["took"])
        return frame.astype(**options) if options else frame  # type: ignore[return-value]

    return fn


def as_objects(values: Any) -> Any:
    return framed(values, dtype=object)


def as_arrow(values: Any) -> Any:
    kinds = {"at": pa.timestamp("ns", "UTC"), "took": pa.duration("ns")}
    return framed(values, dtype={n: pd.ArrowDtype(kind) for n, kind in kinds.items()})


@operators
@pytest.mark.parametrize("way", [kept, put_out, framed, as_objects, as_arrow])
def test_nanoseconds_are_refused_and_not_cut(operator: Operator, way: Any) -> None:
    """Spark has none: what came back would be another time."""

    def run(*values: Any) -> None:
        Harness(way(values), by="key", operator=operator).run([{"key": "a"}])

    run(*MICROS)
    run(None, None)
    for values, name in (((NANOS[0], MICROS[1]), "at"), ((MICROS[0], NANOS[1]), "took")):
        with pytest.raises(WrongTypeError) as refusal:
            run(*values)
        said = str(refusal.value)
        assert name in said
        assert "expected no more than microseconds" in said
        assert "round it in the function, as by value.floor('us')" in said


@operators
def test_a_timer_needs_no_rounding(operator: Operator) -> None:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: State[Taken]) -> None:
        state.registerTimer(NANOS[0] + timedelta(days=9000))

    running = Harness(fn, by="key", operator=operator, timeout="processing")
    running.run([{"key": "a"}])
    assert [t.at for t in running.timers("a")] == [MICROS[0] + timedelta(days=9000)]


@dataclass
class Daily:
    at: time | None = None


def daily(value: time) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: State[Daily]) -> None:
        state.value.at = value

    return fn


def told_daily(value: time) -> Any:
    def fn(_key: Any, _rows: list[dict[str, Any]], _state: State[Taken]) -> Daily:
        return Daily(value)

    return fn


@operators
def test_a_time_of_day_in_a_region_is_refused(operator: Operator) -> None:
    """Its text has no zone: what came back would be a time of another kind."""
    at = time(8, tzinfo=BERLIN)
    for way in (daily, told_daily):
        with pytest.raises(WrongTypeError) as refusal:
            Harness(way(at), by="key", operator=operator).run([{"key": "a"}])
        assert "field at" in str(refusal.value)
        assert "expected a time without a time zone, or with a fixed offset" in str(refusal.value)
    for good in (time(8), time(8, tzinfo=UTC), time(8, tzinfo=timezone(timedelta(hours=-5)))):
        running = Harness(daily(good), by="key", operator=operator)
        running.run([{"key": "a"}])
        assert running.state("a").at == good
        assert running.state("a").at.utcoffset() == good.utcoffset()


@dataclass
class Put:
    n: int
    at: datetime


@pytest.mark.parametrize("output", [Put, "n long, at timestamp"])
@pytest.mark.parametrize("unit", ["ns", "us", "object"])
@operators
def test_a_frame_s_times_without_a_zone_are_one_instant_on_all_ways(
    operator: Operator, unit: str, output: Any
) -> None:
    """Of an hour that comes twice they are in the second, as in Spark's pandas functions."""
    readings = ["2025-10-26 02:30", "2025-03-30 02:30", "2025-07-01 12:00"]

    def told(_key: Any, rows: pd.DataFrame, _state: State[Any]) -> pd.DataFrame:
        kind = unit if unit == "object" else f"datetime64[{unit}]"
        assert len(rows) == 1
        return pd.DataFrame({"n": [0, 1, 2], "at": pd.to_datetime(readings).astype(kind)})

    fn = stateful.define(told, state="n long", output=output)
    options: Any = {"by": "key", "operator": operator, "time_zone": "Europe/Berlin"}
    for many_keys in (True, False):
        running = Harness(fn, many_keys=many_keys, **options)
        # Python's own datetimes say by their fold which hour they are in.
        assert [row["at"] for row in running.run([{"key": "a"}])] == [
            datetime(2025, 10, 26, 1 if unit != "object" else 0, 30, tzinfo=UTC),
            datetime(2025, 3, 30, 1, 0 if unit != "object" else 30, tzinfo=UTC),
            datetime(2025, 7, 1, 10, tzinfo=UTC),
        ]
