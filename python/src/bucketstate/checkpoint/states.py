"""The states of a function of `bucketstate.stateful`, read as its state class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.documents import (
    NO_PARTS,
    TIMERS,
    Documents,
    check_kept,
    kept_of,
    timers_of,
)
from bucketstate.checkpoint.filtering import Filter, rows_where
from bucketstate.checkpoint.one_key import rows_of_key
from bucketstate.checkpoint.parts_beside import PartsBeside, frozen
from bucketstate.checkpoint.selection import DIFF, HISTORY, STATE
from bucketstate.checkpoint.source import DOCUMENTS, Source
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.stateful.codec.kept import Kept

_FEW = 8
"""Keys of a batch that are looked up in variables one by one; of more the partition is read."""
_COLUMNS = {
    DIFF: {"before": ("before", "timers_before"), "after": ("after", "timers_after")},
}
_OF_OTHERS = {"value": ("state", "timers")}
"""What becomes of a column of stored values: one of states, and one of timers."""


class States:
    """Reads the documents that a selection names, as what it says with `decode`.

    Raises DefinitionError for a state that cannot be one, NoSuchStateError for an operator that
    `bucketstate.stateful` did not run.
    """

    def __init__(self, source: Source) -> None:
        operator = source.selection.operator
        transform = source.catalog.operator_at(operator, source.version).transform
        self.source = source.of(decode=None, state_var=None if transform is None else DOCUMENTS)
        """Where the documents are, as they are stored."""
        self._documents = Documents(source.selection.decode, beside=transform is not None)
        self._parts = PartsBeside(self.source, self._documents.beside, self._documents.owner)
        self._columns = _COLUMNS.get(source.selection.kind, _OF_OTHERS)

    @cached_property
    def schema(self) -> pa.Schema:
        reader = self.source.reading().state(self.source.parts())
        found = self.schema_over(reader.schema)
        reader.close()
        return found

    def schema_over(self, stored: pa.Schema) -> pa.Schema:
        """The columns of states, over those of the state as it is stored."""
        check_kept(stored.field("value").type, f"operator {self.source.selection.operator}")
        key = stored.field("key")
        numbers = {HISTORY: [("version", pa.int64()), ("batch_id", pa.int64())]}
        before = numbers.get(self.source.selection.kind, [])
        if self.source.selection.kind == DIFF:
            before = [("change", pa.string())]
        states = [(state, self._documents.type) for state, _ in self._columns.values()]
        timers = [(name, TIMERS) for _, name in self._columns.values()]
        return pa.schema([*before, key, *states, *timers, ("partition_id", pa.int32())])

    def value_in(self, table: pa.Table, key: Any) -> Any:
        """An instance of the class, from the stored rows of the key; None without any."""
        for batch in table.to_batches():
            for kept in kept_of(batch.column("value")):
                (of,) = python_values(batch.column("key"))
                partition = batch.column("partition_id")[0].as_py()
                names, version = self._documents.beside, self.source.version
                parts = self._parts.of_key(of, partition, version, names)
                return self._documents.value(kept, key, parts)
        return None

    def rows_in(self, table: pa.Table) -> list[dict[str, Any]]:
        """The stored rows of a few keys, with instances of the class; parts are looked up."""
        names, found = ("key", "state", "timers", "partition_id"), []
        for batch in table.to_batches(max_chunksize=_FEW):
            kept = list(kept_of(batch.column("value")))
            states = self._values(batch, "value", kept, self._documents.names)
            # Times are as in the rows of a scan, those beyond Python's years among them.
            keys, timers = python_values(batch.column("key")), python_values(timers_of(kept))
            places = batch.column("partition_id").to_pylist()
            for row in zip(keys, states, timers, places, strict=True):
                found.append(dict(zip(names, row, strict=True)))
        return found

    def columns_of(self, table: pa.Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """What `rows_in` has made of the stored rows, as columns. Reads no file; thread-safe."""
        schema = self.schema_over(table.schema)
        states = self._documents.column([row["state"] for row in rows], self._documents.names)
        # Not of the rows, where a time beyond Python's years is a text.
        timers = timers_of(kept_of(table["value"]))
        columns = [table["key"], states, timers, table["partition_id"]]
        return pa.Table.from_arrays(columns, schema=schema)

    def every(self, stored: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The stored rows, and those of keys of which parts alone differ."""
        if self.source.selection.kind != DIFF or not self._documents.beside:
            return stored
        return pa.RecordBatchReader.from_batches(stored.schema, self._every(stored))

    def _every(self, stored: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        seen: set[tuple[Any, int]] = set()
        for batch in stored:
            places = batch.column("partition_id").to_pylist()
            seen.update(zip(map(frozen, python_values(batch.column("key"))), places, strict=True))
            yield batch
        source = self.source
        since, version = source.since, source.version
        for key, partition in self._parts.changed(since, version, source.selection.partition):
            (value,) = python_values(key)
            if (place := (frozen(value), partition)) in seen:
                continue
            seen.add(place)
            of = source.of(kind=STATE, batch=None, since=None, key=value, partition=partition)
            there = rows_of_key(of.of(version=version))
            if len(there) and frozen(python_values(there.column("key"))[0]) == place[0]:
                kept = there.column("value").combine_chunks()
                arrays = [pa.array(["changed"]), key, kept, kept]
                arrays.append(pa.array([partition], pa.int32()))
                yield pa.RecordBatch.from_arrays(arrays, schema=stored.schema)

    def batches(
        self,
        stored: pa.RecordBatchReader,
        paths: Sequence[tuple[str, ...]],
        filters: Sequence[Filter],
    ) -> Iterator[pa.RecordBatch]:
        """The stored rows with typed states, of which only the fields on the paths are made."""
        every = self._documents.names
        asked = {state: _state_fields(paths, state, every) for state, _ in self._columns.values()}
        kinds = {
            state: pa.struct([self._documents.type.field(name) for name in names])
            for state, names in asked.items()
        }
        schema = pa.schema([(f.name, kinds.get(f.name, f.type)) for f in self.schema])
        of_key = [f for f in filters if f[0].startswith("key.")]
        for batch in stored:
            rows = rows_where(batch, of_key)
            made = {name: rows.column(name) for name in rows.schema.names}
            for column, (state, timers) in self._columns.items():
                kept = list(kept_of(rows.column(column)))
                values = self._values(rows, column, kept, asked[state])
                made[timers] = timers_of(kept)
                made[state] = self._documents.column(values, asked[state])
            yield pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def _values(
        self, rows: pa.RecordBatch, column: str, kept: Sequence[Kept], names: Sequence[str]
    ) -> list[Any]:
        """Instances of the class, as far as these fields of them are asked for."""
        if not names:
            return [None] * len(kept)
        parts = [name for name in names if name in self._documents.beside]
        few = len(kept) <= _FEW or self.source.selection.kind == HISTORY
        read = self._parts.of_key if few else self._parts.of_partition
        versions = [self.source.since if column == "before" else self.source.version] * len(kept)
        if self.source.selection.kind == HISTORY:
            versions = rows.column("version").to_pylist()
        keys, places = python_values(rows.column("key")), rows.column("partition_id").to_pylist()
        return [
            self._documents.value(
                one, key, read(key, place, version, parts) if parts and one.text else NO_PARTS
            )
            for one, key, place, version in zip(kept, keys, places, versions, strict=True)
        ]


def _state_fields(
    paths: Sequence[tuple[str, ...]], column: str, every: Sequence[str]
) -> Sequence[str]:
    """The fields of a column of states that are asked for."""
    of_state = [path for path in paths if path[0] == column]
    if any(len(path) == 1 for path in of_state):
        return every
    return list(dict.fromkeys(path[1] for path in of_state))
