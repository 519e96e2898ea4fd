"""The states of a function of `bucketstate.stateful`, read as its state class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.documents import TIMERS, Documents, check_kept, kept_of, timers_of
from bucketstate.checkpoint.filtering import Filter, rows_where
from bucketstate.checkpoint.source import DOCUMENTS, Source
from bucketstate.checkpoint.spark.python_values import python_values


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

    @cached_property
    def schema(self) -> pa.Schema:
        reader = self.source.reading().state(self.source.parts())
        check_kept(reader.schema.field("value").type, f"operator {self.source.selection.operator}")
        key = reader.schema.field("key")
        reader.close()
        fields = [key, ("state", self._documents.type)]
        return pa.schema([*fields, ("timers", TIMERS), ("partition_id", pa.int32())])

    def value_in(self, table: pa.Table, key: Any) -> Any:
        """An instance of the class, from the stored rows of the key; None without any."""
        for kept in kept_of(table.column("value").combine_chunks()):
            return self._documents.value(kept, key)
        return None

    def batches(
        self,
        stored: pa.RecordBatchReader,
        paths: Sequence[tuple[str, ...]],
        filters: Sequence[Filter],
    ) -> Iterator[pa.RecordBatch]:
        """The stored rows with typed states, of which only the fields on the paths are made."""
        names = _state_fields(paths)
        schema = self.schema
        if names is None:
            names = self._documents.names
        else:
            kind = pa.struct([self._documents.type.field(name) for name in names])
            schema = schema.set(1, pa.field("state", kind))
        of_key = [f for f in filters if f[0].startswith("key.")]
        for batch in stored:
            rows = rows_where(batch, of_key)
            keys = rows.column("key")
            kept = list(kept_of(rows.column("value")))
            values: list[Any] = [None] * len(kept)
            if names:
                for n, (one, of) in enumerate(zip(kept, python_values(keys), strict=True)):
                    values[n] = self._documents.value(one, of)
            timers = pa.array([timers_of(one) for one in kept], TIMERS)
            states = self._documents.column(values, names)
            arrays = [keys, states, timers, rows.column("partition_id")]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _state_fields(paths: Sequence[tuple[str, ...]]) -> list[str] | None:
    """The fields of the state that are asked for; None for all of them."""
    of_state = [path for path in paths if path[0] == "state"]
    if any(len(path) == 1 for path in of_state):
        return None
    return list(dict.fromkeys(path[1] for path in of_state))
