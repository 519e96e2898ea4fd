"""Documents of `bucketstate.stateful` as typed columns, and as instances of their class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.checkpoint.spark.values import arrow_type
from bucketstate.checkpoint.store.shapes import EXPIRY
from bucketstate.errors import NoSuchStateError
from bucketstate.stateful.codec.document import Clock, PartCodec, StateCodec, state_codec
from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept, order
from bucketstate.stateful.codec.kept import SCHEMA as KEPT
from bucketstate.stateful.codec.parts import ListState, MapState
from bucketstate.stateful.errors import MigrationError, MismatchError, UnreadableError

TIMERS = pa.list_(pa.struct([("at", EXPIRY), ("name", pa.string())]))
NO_PARTS: Mapping[str, Any] = MappingProxyType({})
_NOTHING_EXPIRES = Clock(now=0, watermark=0)


class Documents:
    """Reads the documents of a state class, a DDL text or a StructType. Immutable.

    Parts that are state variables of their own (`beside`) are not in the documents: they are given
    with each.

    Raises DefinitionError for a state that cannot be one, MigrationError, naming the key, for a
    document that cannot be read as it.
    """

    def __init__(self, state: Any, *, beside: bool) -> None:
        self._codec: StateCodec = state_codec(state, UTC)
        # What is no class has no versions, so it is asked for fields alone.
        self._versioned = isinstance(state, type)
        self._parts = self._codec.parts
        self._codecs = {**{f.name: f.codec for f in self._codec.fields}, **self._parts}
        self._beside = beside and bool(self._parts)
        self._kinds = {
            f.name: self._column(f.name, T.type_of(f.dataType.jsonValue()))
            for f in self._codec.stored
        }
        self.type = pa.struct([(name, arrow_type(kind)) for name, kind in self._kinds.items()])

    @property
    def beside(self) -> dict[str, PartCodec]:
        """The parts that are not in the documents."""
        return self._parts if self._beside else {}

    @property
    def owner(self) -> str:
        """What the class is called."""
        return self._codec.name

    def value(self, kept: Kept, key: Any, beside: Mapping[str, Any] = NO_PARTS) -> Any:
        """An instance of the class; None where a key has timers alone.

        `beside` are the parts that hold something, of those that are not in the documents.
        """
        if kept.text is None:
            return None
        codec = self._codec
        parts = {n: p.kind() for n, p in self._parts.items()} | {**beside} if self._beside else None
        try:
            version = kept.version if self._versioned else codec.evolution.version
            return codec.load(kept.text, version, _NOTHING_EXPIRES, parts)
        except (MismatchError, UnreadableError, ValueError) as error:
            what = str(error)
            if isinstance(error, MismatchError):
                what = f"{error.place} holds {error.found_text}, expected {error.expected}"
            raise MigrationError(
                f"The state of {key!r}, written by version {kept.version}, cannot be read as "
                f"{codec.name}: {what}. Give the class that wrote it, or one with a migration."
            ) from error

    def column(self, values: list[Any], names: Sequence[str]) -> pa.StructArray:
        """These fields of the instances; null for None."""
        kind = pa.struct([self.type.field(name) for name in names])
        rows = [
            None if value is None else {name: self._cell(name, value) for name in names}
            for value in values
        ]
        return pa.array(rows, kind)

    def _cell(self, name: str, value: Any) -> Any:
        return _plain(self._codecs[name].check(getattr(value, name)), self._kinds[name])

    @property
    def names(self) -> list[str]:
        return list(self._kinds)

    def _column(self, name: str, kind: T.DataType) -> T.DataType:
        part = self._parts.get(name)
        if part is None:
            return kind
        assert isinstance(kind, T.ArrayType)
        item = kind.elementType
        assert isinstance(item, T.StructType)
        value = item["value"].dataType
        if part.kind is MapState:
            return T.MapType(item["key"].dataType, value)
        return T.ArrayType(value) if part.kind is ListState else value


def kept_of(values: pa.StructArray | pa.ChunkedArray) -> Iterator[Kept]:
    """What each key keeps. Of applyInPandasWithState it lies in a field `groupState`."""
    if values.type.get_field_index("groupState") >= 0:
        # Null where the whole value is.
        values = pc.struct_field(values, "groupState")
    for row in python_values(values):
        yield Kept.of(None if row is None else (row["version"], row["timeout"], row["state"]))


def check_kept(kind: pa.DataType, where: str) -> None:
    """NoSuchStateError for values that `bucketstate.stateful` did not write."""
    if pa.types.is_struct(kind) and kind.get_field_index("groupState") >= 0:
        kind = kind.field("groupState").type
    if not pa.types.is_struct(kind) or [f.name for f in kind] != KEPT.names:
        raise NoSuchStateError(
            f"{where} has no documents of bucketstate.stateful, its values are {kind}: read them "
            "without decode."
        )


def timers_of(kept: Iterable[Kept]) -> pa.ListArray:
    """The timers of each key by time; the timeout is one without a name."""
    return pa.array([_timers(one) for one in kept], TIMERS)


def _timers(kept: Kept) -> list[dict[str, Any]]:
    timeout = () if kept.timeout == NO_TIMEOUT else ((kept.timeout, None),)
    return [{"at": at, "name": name} for at, name in sorted({*kept.timers, *timeout}, key=order)]


def _plain(value: Any, kind: T.DataType) -> Any:
    """A value that a codec has checked, as Arrow takes it."""
    if value is None:
        return None
    match kind:
        case T.StructType():
            return {f.name: _plain(value[f.name], f.dataType) for f in kind}
        case T.MapType():
            return [(_plain(k, kind.keyType), _plain(v, kind.valueType)) for k, v in value.items()]
        case T.ArrayType() if isinstance(value, dict):
            pairs = [{"key": k, "value": v} for k, v in value.items()]
            return [_plain(pair, kind.elementType) for pair in pairs]
        case T.ArrayType():
            return [_plain(element, kind.elementType) for element in value]
    return value
