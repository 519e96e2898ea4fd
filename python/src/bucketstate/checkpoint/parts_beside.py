"""Parts of a state that are state variables of their own: those of keys, as the class has them."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.one_key import rows_of_key
from bucketstate.checkpoint.selection import DIFF, STATE
from bucketstate.checkpoint.source import Source
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.checkpoint.spark.variables import TTL_FIELD
from bucketstate.stateful.codec.document import PartCodec
from bucketstate.stateful.codec.parts import KINDS, ListState, MapState, ValueState
from bucketstate.stateful.errors import MigrationError, MismatchError, UnreadableError

Key = Mapping[str, Any]
Parts = dict[str, Any]
"""The parts that hold something, by name."""


class PartsBeside:
    """Reads the variables that a class has as parts. What the checkpoint has not is empty.

    Args:
        source: of the states; its place counts, not its kind or its version.
        codecs: of the parts, by name.
        owner: what the class is called.
    """

    def __init__(self, source: Source, codecs: Mapping[str, PartCodec], owner: str) -> None:
        self._source = source.of(kind=STATE, batch=None, since=None, key=None)
        self._codecs = codecs
        self._owner = owner
        self._held: tuple[int, dict[tuple[str, int], dict[Any, Any]]] = (-1, {})

    def of_key(self, key: Key, partition: int, version: int, names: Collection[str]) -> Parts:
        """The parts of one key, looked up."""
        found = {}
        for name in self._there(version, names):
            source = self._of(name, version, partition=partition, key=key)
            # What is found for -0.0 may be of 0.0, which is another key of a function's.
            of_key = [r for r in _rows(rows_of_key(source)) if frozen(r["key"]) == frozen(key)]
            if of_key:
                found[name] = self._made(name, key, of_key)
        return found

    def of_partition(self, key: Key, partition: int, version: int, names: Collection[str]) -> Parts:
        """The parts of one key, of a partition whose variables are held in memory."""
        if self._held[0] != partition:
            self._held = (partition, {})
        held = self._held[1]
        for name in self._there(version, names):
            if (name, version) not in held:
                source = self._of(name, version, partition=partition)
                rows: dict[Any, Any] = {}
                for batch in source.reading().state(source.parts()):
                    for row in _rows(pa.Table.from_batches([batch])):
                        rows.setdefault(frozen(row["key"]), []).append(row)
                held[name, version] = rows
        return {
            name: self._made(name, key, found)
            for name in names
            if (found := held.get((name, version), {}).get(frozen(key)))
        }

    def changed(
        self, since: int, version: int, partition: int | None
    ) -> Iterator[tuple[pa.StructArray, int]]:
        """Keys, each in an array of its own, and partitions, of which a part differs.

        A key of which several do comes several times.
        """
        for name in self._there(version, self._codecs):
            place = self._of(name, version, partition=partition)
            source = place.of(kind=DIFF, since=since)
            grouped = self._codecs[name].kind is MapState
            for batch in source.reading().differences(source.parts()):
                keys = batch.column("key")
                keys = keys.field("key") if grouped else keys
                for n, number in enumerate(batch.column("partition_id").to_pylist()):
                    yield keys.slice(n, 1), number

    def _there(self, version: int, names: Collection[str]) -> list[str]:
        """Those of the names that are variables at the version."""
        catalog, operator = self._source.catalog, self._source.selection.operator
        kinds = {v.name: v.kind for v in catalog.operator_at(operator, version).state_variables}
        for name in names:
            wanted = KINDS[self._codecs[name].kind]
            if kinds.get(name, wanted) != wanted:
                raise MigrationError(
                    f"{self._owner}.{name} is a {wanted}, and the checkpoint has it as a "
                    f"{kinds[name]}. Give the class that wrote it."
                )
        return [name for name in names if name in kinds]

    def _of(self, name: str, version: int, **place: Any) -> Source:
        return self._source.of(state_var=name, version=version, **place)

    def _made(self, name: str, key: Key, rows: list[dict[str, Any]]) -> Any:
        codec = self._codecs[name]
        try:
            if codec.kind is MapState:
                return MapState(
                    {
                        codec.decode_key(row["user_map_key"]["key"]): _decoded(
                            codec, row["user_map_value"]
                        )
                        for row in rows
                    }
                )
            if codec.kind is ListState:
                return ListState([_decoded(codec, row["list_element"]) for row in rows])
            made: ValueState[Any] = ValueState()
            made.update(_decoded(codec, rows[0]["value"]))
            return made
        except (MismatchError, UnreadableError, ValueError) as error:
            what = str(error)
            if isinstance(error, MismatchError):
                what = f"it holds {error.found_text}, expected {error.expected}"
            raise MigrationError(
                f"The part {name} of the state of {key!r} cannot be read as that of "
                f"{self._owner}: {what}. Give the class that wrote it."
            ) from error


def frozen(value: Any) -> Any:
    """A key as one of a dict's: floats by their bits, since a NaN is not equal to itself."""
    match value:
        case dict():
            return tuple(map(frozen, value.values()))
        case list() | tuple():
            return tuple(map(frozen, value))
        case float():
            return struct.pack(">d", value)
    return value


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a variable, without a map's entries that were removed and have yet to expire."""
    columns = [python_values(column) for column in table.columns]
    rows = zip(*columns, strict=True)
    made = (dict(zip(table.column_names, row, strict=True)) for row in rows)
    return [row for row in made if "user_map_value" not in row or _text(row["user_map_value"])]


def _decoded(codec: PartCodec, stored: dict[str, Any]) -> Any:
    return codec.decode(_text(stored))


def _text(stored: dict[str, Any]) -> Any:
    """A variable's value as it is stored: a text, or None for an entry that was removed."""
    held = stored["value"] if TTL_FIELD in stored else stored
    return held["value"]
