"""State variables and timers in memory: what a `StatefulProcessor` asks of Spark.

Spark's own `TwsTester` has the like, but knows no time to live, and its state cannot be put back
after a batch that failed.
"""

# The parameters are Spark's.
# ruff: noqa: ARG002

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    ListState,
    MapState,
    StatefulProcessorHandle,
    ValueState,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Item = tuple[Any, int | None]
"""A value, and when it expires in milliseconds since the epoch, or never."""


@dataclass
class Memory:
    """By variable and key, what is stored. No value in it is ever changed in place."""

    variables: dict[str, dict[Any, Any]] = field(default_factory=dict)
    timers: dict[Any, frozenset[int]] = field(default_factory=dict)
    cells: dict[Any, tuple[Any, ...]] = field(default_factory=dict)
    """Each key that was seen, as Spark hands it over."""

    def copied(self) -> Memory:
        variables = {name: dict(keys) for name, keys in self.variables.items()}
        return Memory(variables, dict(self.timers), dict(self.cells))


class MemoryHandle(StatefulProcessorHandle):
    """The handle of one batch. `key` is the key that the processor works on."""

    def __init__(self, memory: Memory, now: int) -> None:
        self.memory = memory
        self.now = now
        self.key: Any = None

    def getValueState(
        self, stateName: str, schema: Any, ttlDurationMs: int | None = None
    ) -> ValueState:
        return _Value(self, stateName, ttlDurationMs)

    def getListState(
        self, stateName: str, schema: Any, ttlDurationMs: int | None = None
    ) -> ListState:
        return _List(self, stateName, ttlDurationMs)

    def getMapState(
        self, stateName: str, userKeySchema: Any, valueSchema: Any, ttlDurationMs: int | None = None
    ) -> MapState:
        return _Map(self, stateName, ttlDurationMs)

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self._set_timers(self._timers() | {expiryTimestampMs})

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._set_timers(self._timers() - {expiryTimestampMs})

    def listTimers(self) -> Iterator[int]:
        return iter(sorted(self._timers()))

    def _timers(self) -> frozenset[int]:
        return self.memory.timers.get(self.key, frozenset())

    def _set_timers(self, timers: frozenset[int]) -> None:
        if timers:
            self.memory.timers[self.key] = timers
        else:
            self.memory.timers.pop(self.key, None)


class _Variable:
    """What the three kinds share: the items of the handle's key, without those that expired."""

    def __init__(self, handle: MemoryHandle, name: str, ttl: int | None) -> None:
        self._handle = handle
        self._name = name
        self._ttl = ttl

    def exists(self) -> bool:
        return bool(self._items())

    def clear(self) -> None:
        self._stored().pop(self._handle.key, None)

    def _items(self) -> Any:
        raise NotImplementedError

    def _stored(self) -> dict[Any, Any]:
        return self._handle.memory.variables.setdefault(self._name, {})

    def _new(self, value: Any) -> Item:
        return value, None if self._ttl is None else self._handle.now + self._ttl

    def _live(self, item: Item) -> bool:
        return item[1] is None or item[1] > self._handle.now


class _Value(_Variable, ValueState):
    def _items(self) -> tuple[Item, ...]:
        found = self._stored().get(self._handle.key)
        return () if found is None or not self._live(found) else (found,)

    def get(self) -> Any:
        return next((value for value, _ in self._items()), None)

    def update(self, newValue: Any) -> None:
        self._stored()[self._handle.key] = self._new(newValue)


class _List(_Variable, ListState):
    def _items(self) -> tuple[Item, ...]:
        return tuple(filter(self._live, self._stored().get(self._handle.key, ())))

    def get(self) -> Iterator[Any]:
        return (value for value, _ in self._items())

    def put(self, newState: Any) -> None:
        self._stored()[self._handle.key] = tuple(map(self._new, newState))

    def appendValue(self, newState: Any) -> None:
        self.appendList([newState])

    def appendList(self, newState: Any) -> None:
        self._stored()[self._handle.key] = (*self._items(), *map(self._new, newState))


class _Map(_Variable, MapState):
    def _items(self) -> dict[Any, Item]:
        found = self._stored().get(self._handle.key, {})
        return {key: item for key, item in found.items() if self._live(item)}

    def getValue(self, key: Any) -> Any:
        return self._items().get(key, (None, None))[0]

    def containsKey(self, key: Any) -> bool:
        return key in self._items()

    def updateValue(self, key: Any, value: Any) -> None:
        self._stored()[self._handle.key] = {**self._items(), key: self._new(value)}

    def removeKey(self, key: Any) -> None:
        self._stored()[self._handle.key] = {k: i for k, i in self._items().items() if k != key}

    def iterator(self) -> Iterator[Any]:
        return ((key, value) for key, (value, _) in self._items().items())

    def keys(self) -> Iterator[Any]:
        return iter(self._items())

    def values(self) -> Iterator[Any]:
        return (value for value, _ in self._items().values())
