"""Named parts of a state: a value, a list, a map, each with a time to live of its own.

Names and methods are those of Spark's `StatefulProcessor`. Here the values lie in memory, as what
`applyInPandasWithState` reads and writes with the whole state; on `transformWithState` the parts
are state variables: see `variables`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from bucketstate.stateful.errors import DefinitionError, StateUsageError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

TTL = "bucketstate.ttl"
Time = Literal["processing", "event"]


class Held(Generic[T]):
    """A value, and when it expires in milliseconds since the epoch; None until first stored."""

    __slots__ = ("expires", "value")

    def __init__(self, value: T, expires: int | None = None) -> None:
        self.value = value
        self.expires = expires


class ValueState(Generic[T]):
    """One value, or none. Not thread-safe, like every part.

    Parts are equal if they hold equal values, whenever these expire. Given where a state is made,
    as `ValueState(1)`; the state that a function gets has its own.

    Args:
        value: what it holds; None for nothing.
    """

    _field: str | None = None
    """The field that it was read of, where the document has it."""

    def __init__(self, value: T | None = None) -> None:
        self._held: Held[T] | None = None if value is None else Held(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueState):
            return NotImplemented
        return (self.exists(), self.get()) == (other.exists(), other.get())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ValueState({self.get()!r})" if self.exists() else "ValueState()"

    def exists(self) -> bool:
        """Whether it holds a value that has not expired."""
        return self._held is not None

    def get(self) -> T | None:
        """The value, or None if there is none or it has expired."""
        return None if self._held is None else self._held.value

    def update(self, newValue: T) -> None:
        """Sets the value; its time to live starts again."""
        self._held = Held(newValue)

    def clear(self) -> None:
        """Removes the value."""
        self._held = None


class ListState(Generic[T]):
    """Values in the order they came; each expires on its own. Not thread-safe.

    Args:
        values: what it holds.

    Raises:
        StateUsageError: it is one value, such as a text, whose letters would be the values.
    """

    _field: str | None = None
    """The field that it was read of, where the document has it."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._held: list[Held[T]] = [Held(v) for v in several(values, "ListState")]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListState):
            return NotImplemented
        return [*self.get()] == [*other.get()]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ListState({[*self.get()]!r})"

    def exists(self) -> bool:
        """Whether it holds a value that has not expired."""
        return bool(self._held)

    def get(self) -> Iterator[T]:
        """The values that have not expired, the oldest first."""
        return iter([h.value for h in self._held])

    def put(self, newState: Iterable[T]) -> None:
        """Replaces all values; their time to live starts again.

        Raises:
            StateUsageError: it is one value, such as a text, whose letters would be the values.
        """
        self._held = [Held(v) for v in several(newState, "put")]

    def appendValue(self, newState: T) -> None:
        """Adds a value behind the others; its time to live starts now."""
        self._held.append(Held(newState))

    def appendList(self, newState: Iterable[T]) -> None:
        """Adds values behind the others; their time to live starts now.

        Raises:
            StateUsageError: it is one value, such as a text, whose letters would be the values.
        """
        self._held.extend(Held(v) for v in several(newState, "appendList"))

    def clear(self) -> None:
        """Removes all values."""
        self._held = []

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[T]:
        return self.get()


def several(values: Iterable[T], method: str) -> Iterable[T]:
    """The values; StateUsageError for one alone, as a text is, though Python sees its letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        letters = " would add each letter" if isinstance(values, str | bytes) else ""
        raise StateUsageError(
            f"{method}({values!r}){letters}: give a list of values, or one alone to appendValue."
        )
    return values


class MapState(Generic[K, V]):
    """Values by key; each entry expires on its own. Not thread-safe.

    It can be used as a dict is: `key in part`, `part[key]`, which raises KeyError for an entry that
    is not there, `part[key] = value`, `del part[key]`, and a loop over the keys. A function's own
    refuses a key of another type than its field declares with WrongTypeError, wherever one is
    given.

    Args:
        entries: what it holds; None for nothing.

    Raises:
        StateUsageError: it is no dict.
    """

    _field: str | None = None
    """The field that it was read of, where the document has it."""
    _check: Callable[[Any], None] | None = None
    """Refuses a key of a wrong type, in a call of a function."""

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        if not isinstance(entries, Mapping | None):
            raise StateUsageError(f"MapState({entries!r}): give a dict of values by key.")
        self._held: dict[K, Held[V]] = {k: Held(v) for k, v in (entries or {}).items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MapState):
            return NotImplemented
        return dict(self.iterator()) == dict(other.iterator())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"MapState({dict(self.iterator())!r})"

    def __getstate__(self) -> dict[str, Any]:
        # A copy is another call's, or nobody's.
        return {name: value for name, value in self.__dict__.items() if name != "_check"}

    def exists(self) -> bool:
        """Whether it holds an entry that has not expired."""
        return bool(self._held)

    def getValue(self, key: K) -> V | None:
        """The entry's value, or None if there is none or it has expired."""
        held = self._held.get(self._checked(key))
        return None if held is None else held.value

    def containsKey(self, key: K) -> bool:
        """Whether there is an entry of that key that has not expired."""
        return self._checked(key) in self._held

    def updateValue(self, key: K, value: V) -> None:
        """Sets the entry; its time to live starts again."""
        self._held[self._checked(key)] = Held(value)

    def iterator(self) -> Iterator[tuple[K, V]]:
        """The entries that have not expired, as keys with values."""
        return iter([(k, h.value) for k, h in self._held.items()])

    def keys(self) -> Iterator[K]:
        """The keys of the entries that have not expired."""
        return iter(list(self._held))

    def values(self) -> Iterator[V]:
        """The values of the entries that have not expired."""
        return iter([h.value for h in self._held.values()])

    def removeKey(self, key: K) -> None:
        """Removes the entry of that key, if there is one."""
        self._held.pop(self._checked(key), None)

    def clear(self) -> None:
        """Removes all entries."""
        self._held = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return self.containsKey(key)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __getitem__(self, key: K) -> V:
        value = self.getValue(key)
        if value is None and not self.containsKey(key):
            raise KeyError(key)
        return cast("V", value)

    def __setitem__(self, key: K, value: V) -> None:
        self.updateValue(key, value)

    def __delitem__(self, key: K) -> None:
        if not self.containsKey(key):
            raise KeyError(key)
        self.removeKey(key)

    def _checked(self, key: K) -> K:
        if self._check is not None:
            self._check(key)
        return key


Part = ValueState[Any] | ListState[Any] | MapState[Any, Any]

KINDS: Mapping[type[Any], Literal["value", "list", "map"]] = {
    ValueState: "value",
    ListState: "list",
    MapState: "map",
}
"""What a checkpoint calls the state variable that a part is."""


def holds(part: Part) -> bool:
    """Whether a part of a state that was not stored before holds anything now."""
    return getattr(part, "written", True) and part.exists()


@dataclasses.dataclass(frozen=True)
class Ttl:
    """How long a value lives after it was set, and by which clock."""

    duration: timedelta
    time: Time

    @property
    def millis(self) -> int:
        return self.duration // timedelta(milliseconds=1)


def value_state(*, ttl: timedelta | None = None, time: Time = "processing") -> ValueState[Any]:
    """A field that holds one value.

    Args:
        ttl: how long each lives after it was last set, 1 ms or more; for good without.
        time: the clock of that: "processing", the batches' time, or "event", the watermark.

    Raises:
        DefinitionError: the ttl is no timedelta or too short, or there is no such clock.
    """
    return cast("ValueState[Any]", _field(ValueState, ttl, time))


def list_state(*, ttl: timedelta | None = None, time: Time = "processing") -> ListState[Any]:
    """A field that holds a list whose values expire one by one.

    Args:
        ttl: how long each lives after it was last set, 1 ms or more; for good without.
        time: the clock of that: "processing", the batches' time, or "event", the watermark.

    Raises:
        DefinitionError: the ttl is no timedelta or too short, or there is no such clock.
    """
    return cast("ListState[Any]", _field(ListState, ttl, time))


def map_state(*, ttl: timedelta | None = None, time: Time = "processing") -> MapState[Any, Any]:
    """A field that holds a map whose entries expire one by one.

    Args:
        ttl: how long each lives after it was last set, 1 ms or more; for good without.
        time: the clock of that: "processing", the batches' time, or "event", the watermark.

    Raises:
        DefinitionError: the ttl is no timedelta or too short, or there is no such clock.
    """
    return cast("MapState[Any, Any]", _field(MapState, ttl, time))


def _field(part: type[Any], ttl: timedelta | None, time: Time) -> Any:
    if time not in ("processing", "event"):
        raise DefinitionError(f"time={time!r} of a part: it must be 'processing' or 'event'.")
    if ttl is None:
        return dataclasses.field(default_factory=part)
    if not isinstance(ttl, timedelta) or ttl < timedelta(milliseconds=1):
        raise DefinitionError(f"ttl={ttl!r} of a part: it must be a timedelta of 1 ms or more.")
    return dataclasses.field(default_factory=part, metadata={TTL: Ttl(ttl, time)})
