"""Functions for the comparison of harness and Spark, in a module that the workers import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from pyspark import TaskContext

from bucketstate.stateful import ListState, State, list_state
from tests.kit.values import classes
from tests.kit.values.typed import Colour, Typed, UserId


@dataclass
class Seen:
    typed: Typed = field(default_factory=Typed)
    count: int = 0
    recent: ListState[Colour] = list_state(ttl=timedelta(hours=9))


@dataclass
class Told:
    key: float | None
    count: int
    typed: Typed
    recent: list[Colour]
    quiet: bool = False


@dataclass
class Named:
    key: str
    rows: str


@dataclass
class Count:
    count: int = 0


def named(key: Any, rows: list[dict[str, Any]], state: State[Count]) -> Named:
    """Tells what its key and its rows are called."""
    state.value.count += len(rows)
    return Named(repr(key), f"{state.value.count} of {sorted(rows[0])}")


class Remembering:
    """Keeps the last of each key's rows, and tells it again when its time has come."""

    def __init__(self, timeout: str | None) -> None:
        self.timeout = timeout

    def handleInputRows(
        self, key: Any, rows: list[dict[str, Any]], state: State[Seen]
    ) -> Iterator[Told]:
        held = state.value
        held.count += len(rows)
        held.typed.user = UserId(held.typed.user + sum(row["n"] or 0 for row in rows))
        held.typed.tags |= {str(row["n"]) for row in rows}
        held.typed.pair = (len(rows), "x")
        held.recent.appendValue(Colour.GREEN)
        if self.timeout == "event":
            latest = max(row["at"] for row in rows)
            state.timeout_at(max(latest, state.watermark) + timedelta(minutes=5))
            state.registerTimer(max(latest, state.watermark) + timedelta(minutes=1), name="t")
        yield self.told(key, state)

    def handleExpiredTimer(self, key: Any, _timer: Any, state: State[Seen]) -> Told:
        return self.told(key, state, quiet=True)

    def told(self, key: Any, state: State[Seen], *, quiet: bool = False) -> Told:
        held = state.value
        return Told(key.key, held.count, held.typed, [*held.recent.get()], quiet)


@dataclass
class Where:
    spark: int = 0


def unlike(key: Any, rows: list[dict[str, Any]], state: State[Where]) -> dict[str, Any]:
    """Puts out the same everywhere, and keeps what it is told where it runs."""
    state.value.spark += len(rows) * (1 if TaskContext.get() is None else 2)
    return {"key": key.key, "n": 1}


def anywhere(key: Any, rows: list[dict[str, Any]], state: State[Where]) -> dict[str, Any]:
    state.value.spark += len(rows)
    return {"key": key.key, "n": 0}


def elsewhere(key: Any, rows: list[dict[str, Any]], state: State[Where]) -> dict[str, Any]:
    state.value.spark += len(rows)
    return {"key": key.key, "n": 0 if TaskContext.get() is None else 1}


@dataclass
class Counted:
    n: int = 0


@dataclass
class Totalled:
    """What `Counted` has become."""

    n: float = 0.0
    batches: int = 0
    recent: ListState[int] = list_state()


def counting(key: Any, rows: list[dict[str, Any]], state: State[Counted]) -> dict[str, Any]:
    state.value.n += len(rows)
    return {"key": key.key, "n": state.value.n}


def totalling(key: Any, rows: list[dict[str, Any]], state: State[Totalled]) -> dict[str, Any]:
    held = state.value
    held.n += sum(row["value"] for row in rows)
    held.batches += 1
    held.recent.appendValue(len(rows))
    return {
        "key": key.key,
        "total": held.n,
        "batches": held.batches,
        "of": len(list(held.recent.get())),
    }


def at(minute: int) -> datetime:
    return datetime(2024, 3, 1, 12, tzinfo=UTC) + timedelta(minutes=minute)


@dataclass
class Days:
    first: datetime | None = None


def in_days(key: Any, _rows: list[dict[str, Any]], state: State[Days]) -> dict[str, Any]:
    """Keeps a datetime, and puts none out."""
    held = state.value
    assert held.first is None or held.first == at(0)
    held.first = at(0)
    return {"key": key.key}


def dated(key: Any, _rows: list[dict[str, Any]], _state: State[Days]) -> dict[str, Any]:
    return {"key": key.key, "at": at(0)}


def failing(key: Any, rows: list[dict[str, Any]], state: State[Counted]) -> None:
    """Fails in the second batch of a key."""
    if state.exists:
        raise ZeroDivisionError(f"as it was told, for {key.key}")
    state.update({"n": len(rows)})


def failing_there(_key: Any, _rows: list[dict[str, Any]], _state: State[Counted]) -> None:
    """Fails in Spark alone."""
    if TaskContext.get() is not None:
        raise ZeroDivisionError("in a worker")


@dataclass
class Numbered:
    n: int = 0


def numbered(_key: Any, rows: list[Numbered], state: State[Counted]) -> None:
    state.value.n += len(rows)


def of_classes(_key: Any, rows: list[classes.AsModel], state: State[classes.AsAttrs]) -> Any:
    """Rows of one kind of class into a state of another, and out of that as a third one."""
    for row in rows:
        for name in classes.AsModel.model_fields:
            setattr(state.value, name, getattr(row, name))
    yield classes.AsNamedTuple(*attrs.astuple(state.value, recurse=False))
