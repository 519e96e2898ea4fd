"""Parts of a state that are Spark's own state variables, as on `transformWithState`.

What is called here is done at once: an append hands over what is appended, a map's entry is read
and written alone. Each value, and each key of a map, is one text, so that its type may change as it
may inside a document. An iterator goes on with what was there when it was made.

An entry that was removed from a map whose entries expire stays until then, without a value: Spark
leaves it in its index of what expires when, and would take out by that, too early, what is put in
its place.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyspark.sql.types import StringType, StructField, StructType

from bucketstate.stateful.codec.parts import ListState, MapState, ValueState, several
from bucketstate.stateful.errors import MismatchError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from bucketstate.stateful.codec.document import PartCodec, StateCodec
    from bucketstate.stateful.codec.parts import Part

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_KEY = StructType([StructField("key", StringType(), True)])
_VALUE = StructType([StructField("value", StringType(), True)])


class PartErrors(Protocol):
    """Makes errors of a part's values that name the key."""

    def unfit(self, mismatch: MismatchError, /) -> Exception:
        """The error for a value that does not fit the declared type."""

    def unreadable(self, why: MismatchError | UnreadableError, /) -> Exception:
        """The error for a stored value that the declared type cannot take."""


class _Values:
    """A part's way between Python values and texts, with errors that name the key and the field."""

    def __init__(self, name: str, codec: PartCodec, errors: PartErrors) -> None:
        self._name = name
        self._codec = codec
        self._errors = errors

    def encoded(self, value: Any) -> tuple[str]:
        return (self._through(self._codec.encode, value, self._errors.unfit),)

    def encoded_key(self, key: Any) -> tuple[str]:
        return (self._through(self._codec.encode_key, key, self._errors.unfit),)

    def decoded(self, row: Any) -> Any:
        return self._through(self._codec.decode, row[0], self._errors.unreadable)

    def decoded_key(self, row: Any) -> Any:
        return self._through(self._codec.decode_key, row[0], self._errors.unreadable)

    def _through(self, step: Callable[[Any], Any], value: Any, error: Any) -> Any:
        try:
            return step(value)
        except MismatchError as e:
            raise error(e.under(self._name)) from e.cause


class _Ahead(Iterator[T]):
    """What an iterator has left; `fetch` takes it all, before something is written."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._fetched: deque[T] = deque()

    def __next__(self) -> T:
        return self._fetched.popleft() if self._fetched else next(self._source)

    def fetch(self) -> None:
        self._fetched.extend(self._source)
        self._source = iter(())


class _Variable:
    """What the three kinds share. `written` says whether anything was, in this call."""

    def __init__(self, variable: Any, values: _Values) -> None:
        self.written = False
        self._variable = variable
        self._values = values
        self._open: weakref.WeakSet[_Ahead[Any]] = weakref.WeakSet()

    def exists(self) -> bool:
        found: bool = self._variable.exists()
        return found

    def clear(self) -> None:
        self._write()
        self._variable.clear()

    def drop(self, *, was_stored: bool) -> None:
        """Removes what there may be, of a state that is none any more."""
        if was_stored or self.written:
            self.clear()

    def _write(self) -> None:
        for iterator in list(self._open):
            iterator.fetch()
        self.written = True

    def _iterate(self, source: Iterator[T]) -> Iterator[T]:
        made = _Ahead(source)
        self._open.add(made)
        return made


class ValueVariable(_Variable, ValueState[T]):
    def get(self) -> T | None:
        row = self._variable.get()
        return None if row is None else self._values.decoded(row)

    def update(self, newValue: T) -> None:
        row = self._values.encoded(newValue)
        self._write()
        self._variable.update(row)

    def plain(self) -> ValueState[T]:
        made: ValueState[T] = ValueState()
        if self.exists():
            made.update(self.get())  # type: ignore[arg-type]
        return made

    def replace(self, other: ValueState[T]) -> None:
        """Holds what another part holds."""
        if other.exists():
            self.update(other.get())  # type: ignore[arg-type]
        else:
            self.clear()


class ListVariable(_Variable, ListState[T]):
    def get(self) -> Iterator[T]:
        return self._iterate(map(self._values.decoded, self._variable.get()))

    def put(self, newState: Iterable[T]) -> None:
        rows = [self._values.encoded(v) for v in several(newState, "put")]
        self._write()
        if rows:
            self._variable.put(rows)
        else:
            # Spark refuses to put an empty list.
            self._variable.clear()

    def appendValue(self, newState: T) -> None:
        row = self._values.encoded(newState)
        self._write()
        self._variable.appendValue(row)

    def appendList(self, newState: Iterable[T]) -> None:
        rows = [self._values.encoded(v) for v in several(newState, "appendList")]
        if rows:
            self._write()
            self._variable.appendList(rows)

    def plain(self) -> ListState[T]:
        return ListState(self.get())

    def replace(self, other: ListState[T]) -> None:
        self.put(other.get())

    def __len__(self) -> int:
        return sum(1 for _ in self._variable.get())


class MapVariable(_Variable, MapState[K, V]):
    def getValue(self, key: K) -> V | None:
        row = self._variable.getValue(self._values.encoded_key(key))
        return None if row is None else self._values.decoded(row)

    def containsKey(self, key: K) -> bool:
        return bool(self._variable.containsKey(self._values.encoded_key(key)))

    def updateValue(self, key: K, value: V) -> None:
        entry = self._values.encoded_key(key), self._values.encoded(value)
        self._write()
        self._variable.updateValue(*entry)

    def iterator(self) -> Iterator[tuple[K, V]]:
        values = self._values
        pairs = self._variable.iterator()
        return self._iterate((values.decoded_key(k), values.decoded(v)) for k, v in pairs)

    def keys(self) -> Iterator[K]:
        return self._iterate(map(self._values.decoded_key, self._variable.keys()))

    def values(self) -> Iterator[V]:
        return self._iterate(map(self._values.decoded, self._variable.values()))

    def removeKey(self, key: K) -> None:
        known = self._values.encoded_key(key)
        self._write()
        self._variable.removeKey(known)

    def plain(self) -> MapState[K, V]:
        return MapState(dict(self.iterator()))

    def replace(self, other: MapState[K, V]) -> None:
        entries = list(other.iterator())
        self.clear()
        for key, value in entries:
            self.updateValue(key, value)

    def __len__(self) -> int:
        keys = self._variable.keys()
        return sum(1 for _ in keys)


REMOVED = (None,)
"""What stands for the value of a removed entry: each value is a text."""


class _AgingMap:
    """Spark's map whose entries expire, in which one that was removed stays without a value."""

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def exists(self) -> bool:
        return any(True for _ in self.iterator())

    def clear(self) -> None:
        self._variable.clear()

    def getValue(self, key: tuple[str]) -> Any:
        row = self._variable.getValue(key)
        return None if row is None or is_removed(row) else row

    def containsKey(self, key: tuple[str]) -> bool:
        return self.getValue(key) is not None

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:
        self._variable.updateValue(key, value)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        return (entry for entry in self._variable.iterator() if not is_removed(entry[1]))

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.iterator())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.iterator())

    def removeKey(self, key: tuple[str]) -> None:
        if self.containsKey(key):
            self._variable.updateValue(key, REMOVED)


def is_removed(row: Any) -> bool:
    """Whether a map's value, as it is stored, is of an entry that was removed."""
    return row[0] is None


Bound = ValueVariable[Any] | ListVariable[Any] | MapVariable[Any, Any]


def in_memory(part: Part) -> Any:
    """The part, or what a variable holds now, which later writes leave alone."""
    return part.plain() if isinstance(part, ValueVariable | ListVariable | MapVariable) else part


_KINDS: dict[type[Any], type[Any]] = {
    ValueState: ValueVariable,
    ListState: ListVariable,
    MapState: MapVariable,
}


class Variables:
    """The state variables of one state class, made when Spark initialises the operator."""

    def __init__(self, handle: StatefulProcessorHandle, codec: StateCodec) -> None:
        self._codecs = codec.parts
        self._variables = {n: _variable(handle, n, part) for n, part in codec.parts.items()}

    def bound(self, errors: PartErrors) -> Mapping[str, Bound]:
        """The parts of the key that Spark works on now."""
        return bound(self._codecs, self._variables, errors)


def bound(
    codecs: Mapping[str, PartCodec], variables: Mapping[str, Any], errors: PartErrors
) -> Mapping[str, Bound]:
    """Parts on what has the interface of Spark's state variables."""
    return {
        name: _KINDS[codec.kind](variables[name], _Values(name, codec, errors))
        for name, codec in codecs.items()
    }


def _variable(handle: StatefulProcessorHandle, name: str, part: PartCodec) -> Any:
    ttl = None if part.ttl is None else part.ttl.millis
    if part.kind is MapState:
        variable = handle.getMapState(name, _KEY, _VALUE, ttl)
        return variable if ttl is None else _AgingMap(variable)
    make = handle.getListState if part.kind is ListState else handle.getValueState
    return make(name, _VALUE, ttl)
