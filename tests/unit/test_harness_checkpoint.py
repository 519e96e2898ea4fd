"""Keys of a checkpoint in a harness, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import LongType, StringType, StructType

from bucketstate.errors import NoSuchStateError
from bucketstate.stateful import (
    DefinitionError,
    ListState,
    State,
    Timer,
    ValueState,
    list_state,
)
from bucketstate.stateful.codec.instants import micros, millis
from bucketstate.stateful.codec.kept import SCHEMA, Kept
from bucketstate.testing import Harness
from tests.kit.checkpoints import Built, log
from tests.kit.parts import BuiltParts, Held, Parts
from tests.unit.checkpoint.test_state import grown

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2024, 3, 1, 12, tzinfo=UTC)
TEXTS = StringType()


@dataclass
class Seen:
    n: int = 0


@dataclass
class Told:
    user: str
    n: int


def told(key: Any, rows: list[dict], state: State[Seen]) -> Iterator[Told]:  # type: ignore[type-arg]
    state.value.n += len(rows)
    yield Told(key.user, -state.value.n if state.timed_out else state.value.n)


def written(root: Path, rows: dict[Any, Kept], key: Any = TEXTS, *, clock: bool = True) -> Built:
    """As applyInPandasWithState keeps them, with timeouts."""
    value = StructType().add("groupState", SCHEMA)
    value = value.add("timeoutTimestamp", LongType()) if clock else value
    built = Built(root, key=StructType().add("user", key), value=value)
    built.batch(
        {
            (user,): (kept.row, min(kept.moments, default=-1)) if clock else (kept.row,)
            for user, kept in rows.items()
        }
    )
    return built


def document(n: int, **kept: Any) -> Kept:
    return Kept(1, text=json.dumps({"n": n}), **kept)


def test_states_and_clocks(tmp_path: Path) -> None:
    built = written(tmp_path, {"a": document(4), "b": document(7)}, clock=False)
    built.batch({("a",): (document(5).row,)})
    planned = {"batchWatermarkMs": millis(AT), "batchTimestampMs": millis(AT) + 5}
    log(tmp_path / "offsets" / "2", 1, planned | {"conf": {}})

    harness = Harness.from_checkpoint(
        tmp_path, told, by="user", keys=["a", "nobody"], event_time="at"
    )

    assert harness.states() == {("a",): Seen(5)}
    assert harness.state("nobody") is None
    assert harness.clock == AT + timedelta(milliseconds=5)
    assert harness.watermark == AT
    assert harness.run([{"user": "a", "at": AT}]) == [{"user": "a", "n": 6}]
    before = Harness.from_checkpoint(tmp_path, told, by="user", keys=["a"], batch=0, clock=AT)
    assert before.state("a") == Seen(4)
    assert before.clock == AT
    assert before.watermark is None


def test_timers_and_timeouts(tmp_path: Path) -> None:
    timers = {"timers": ((millis(AT), "later"),), "timeout": millis(AT) - 60_000}
    written(tmp_path, {"a": document(4, **timers), "b": document(1)})
    given: dict[str, Any] = {"by": "user", "keys": ["a"], "timeout": "event"}

    harness = Harness.from_checkpoint(tmp_path, told, schema="user string", **given)

    assert harness.timeout("a") == AT - timedelta(minutes=1)
    assert harness.timers("a") == [Timer(AT, "later", millis(AT))]
    harness.watermark = AT + timedelta(seconds=1)
    assert harness.run() == [{"user": "a", "n": -4}, {"user": "a", "n": -4}]
    blind = Harness.from_checkpoint(tmp_path, told, **given)
    with pytest.raises(DefinitionError, match="give schema="):
        blind.run()
    blind.run([{"user": "c"}])
    assert blind.timeout("a") == AT - timedelta(minutes=1)


def test_a_key_that_is_a_time(tmp_path: Path) -> None:
    written(tmp_path, {micros(AT): document(4)}, LongType(), clock=False)

    def count(key: Any, rows: list[dict], state: State[Seen]) -> None:  # type: ignore[type-arg]
        assert key.user == AT
        state.value.n += len(rows)

    for schema in (None, "user timestamp"):
        harness = Harness.from_checkpoint(tmp_path, count, by="user", keys=[AT], schema=schema)
        assert harness.state(AT) == Seen(4)
        harness.run([{"user": AT}])
        assert harness.states() == {(AT,): Seen(5)}
        assert harness.restarted().state(AT) == Seen(5)


def test_a_reading_of_a_clock_needs_the_schema_outside_utc(tmp_path: Path) -> None:
    noon = datetime(2024, 3, 1, 12)
    written(tmp_path, {micros(noon.replace(tzinfo=UTC)): document(4)}, LongType(), clock=False)

    def made(schema: str | None, key: datetime, zone: str = "Asia/Kolkata") -> Harness:
        return Harness.from_checkpoint(
            tmp_path, never, by="user", keys=[key], state=Seen, schema=schema, time_zone=zone
        )

    with pytest.raises(DefinitionError, match="may be a timestamp in Asia/Kolkata, or a reading"):
        made(None, noon)
    assert made("user timestamp_ntz", noon).state(noon) == Seen(4)
    assert made("user timestamp", noon).states() == {}
    for key, zone in ((AT, "Asia/Kolkata"), (noon, "UTC"), (noon, "Europe/London")):
        assert list(made(None, key, zone).states().values()) == [Seen(4)]


def parts(key: Any, rows: list[dict], state: State[Parts]) -> Told:  # type: ignore[type-arg]
    held = state.value
    held.total += len(rows)
    held.pages.appendValue("new")
    held.counts.updateValue("new", 1)
    held.since.update(3)
    seen = [held.total, len(list(held.pages.get())), len(list(held.counts.keys()))]
    return Told(key.key, int("".join(map(str, seen))))


def of_variables(root: Path) -> None:
    """As transformWithState keeps `Parts`: of `counts` one entry has expired, one was removed."""
    soon, before = millis(AT) + 1, millis(AT) - 1
    held = Held(5, ("/x", soon), ("/0", "/1", "/2"), {"x": (7, soon), "y": (8, before)})
    held.counts["z"] = None, soon
    held.timers = ((millis(AT), "later"),)
    BuiltParts(root).batch({"a": held})


def test_parts_and_timers_of_variables(tmp_path: Path) -> None:
    of_variables(tmp_path)

    harness = Harness.from_checkpoint(
        tmp_path, parts, by="key", keys=["a"], timeout="processing", clock=AT
    )

    state = harness.state("a")
    assert (state.total, state.last.get()) == (5, "/x")
    assert list(state.pages.get()) == ["/0", "/1", "/2"]
    assert dict(state.counts.iterator()) == {"x": 7}
    assert harness.timers("a") == [Timer(AT, "later", millis(AT))]
    assert harness.run([{"key": "a"}]) == [{"user": "a", "n": 642}]
    assert harness.state("a").since.get() == 3
    harness.advance(timedelta(minutes=1))
    assert harness.run() == [{"user": "a", "n": 651}]
    assert harness.state("a").last.get() is None


@dataclass
class OtherKind:
    pages: ValueState[str] = field(default_factory=ValueState)


@dataclass
class Expiring:
    pages: ListState[str] = list_state(ttl=timedelta(hours=1))


@dataclass
class Lasting:
    last: ValueState[str] = field(default_factory=ValueState)


def never(_key: Any, _rows: list[dict], _state: State[Any]) -> None:  # type: ignore[type-arg]
    raise AssertionError("not called")


def test_what_cannot_be(tmp_path: Path) -> None:
    written(tmp_path / "rows", {"a": document(4)}, clock=False)
    grown(tmp_path / "others")

    def made(folder: str, fn: Any = told, **given: Any) -> Harness:
        given = {"by": "user", "keys": ["a"]} | given
        return Harness.from_checkpoint(tmp_path / folder, fn, **given)

    with pytest.raises(DefinitionError, match="operator is given, which the checkpoint says"):
        made("rows", operator="transformWithState")
    with pytest.raises(DefinitionError, match="keys of the checkpoint have the columns user"):
        made("rows", by="sensor")
    with pytest.raises(DefinitionError, match="grouped by user: give a tuple of 1"):
        made("rows", keys=[("a", 1)])
    with pytest.raises(NoSuchStateError, match=r"no documents of bucketstate\.stateful"):
        made("others", by="key")
    assert made("rows", keys=[{"user": "a"}, ("a",)]).state("a") == Seen(4)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (OtherKind, "pages is a value of the state class"),
        (Expiring, "pages has a time to live in the state class"),
        (Lasting, "last has no time to live in the state class"),
    ],
)
def test_a_part_that_became_another_is_refused_whatever_the_keys(
    tmp_path: Path, state: Any, told: str
) -> None:
    of_variables(tmp_path)
    for key in ("a", "nobody"):
        given: dict[str, Any] = {"by": "key", "keys": [key]}
        with pytest.raises(DefinitionError, match=f"{told}, and the checkpoint has it"):
            Harness.from_checkpoint(tmp_path, never, state=state, **given)
        without = Harness.from_checkpoint(tmp_path, never, state=Seen, **given)
        with pytest.raises(DefinitionError, match=f"{told}, and the query has it"):
            without.restarted(never, state=state)


@pytest.mark.parametrize("clock", [True, False])
def test_another_clock_than_that_of_the_query_is_refused(tmp_path: Path, clock: bool) -> None:
    written(tmp_path, {"a": Kept(1, text='{"n":1}')}, clock=clock)
    options: Any = {"by": "user", "keys": ["a"]}
    timed: dict[str, Any] = {"timeout": "processing"}
    with pytest.raises(DefinitionError, match="one more column"):
        Harness.from_checkpoint(tmp_path, told, **options, **({} if clock else timed))
    harness = Harness.from_checkpoint(tmp_path, told, **options, **(timed if clock else {}))
    assert harness.state("a") == Seen(1)
