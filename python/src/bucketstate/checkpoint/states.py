"""The states of a function of `bucketstate.stateful`, read as its state class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.checkpoint.documents import (
    TIMERS,
    Documents,
    check_kept,
    kept_of,
    timers_of,
)
from bucketstate.checkpoint.filtering import (
    Filter,
    checked,
    column_of,
    equal_to,
    path_of,
    rows_where,
)
from bucketstate.checkpoint.python_values import as_frame, python_values
from bucketstate.checkpoint.state_columns import StateColumns
from bucketstate.errors import InvalidArgumentError
from bucketstate.stateful.processor import STATE

if TYPE_CHECKING:
    import pandas as pd


DOCUMENTS = STATE
"""The state variable of transformWithState that has the documents."""


class States:
    """The states at one version, typed. Reads when it is asked; not thread-safe.

    Made by `Checkpoint.states`. The columns are `key`, `state` (a struct of the class's fields,
    null for a key that has timers alone), `timers` (a list of `at`, in UTC, and `name`; a timeout
    is one without a name) and `partition_id`. Whatever has expired and was not removed yet is
    there, as in `to_arrow`.

    Args:
        checkpoint: where they are.
        state: the state class, or a DDL text or a StructType.
        operator: the id of the stateful operator.
        partition: one partition; all of them without.
        version: the state after batch n is version n + 1.

    Raises:
        DefinitionError: the state cannot be one.
        CheckpointError: what Spark recorded of the operator cannot be read.
    """

    def __init__(
        self,
        checkpoint: StateColumns,
        state: Any,
        operator: int,
        partition: int | None,
        version: int,
    ) -> None:
        self._checkpoint = checkpoint
        transform = checkpoint.operator_at(operator, version).transform
        self._how: dict[str, Any] = {
            "operator": operator,
            "partition": partition,
            "version": version,
            "state_var": DOCUMENTS if transform is not None else None,
        }
        self._documents = Documents(state, beside=transform is not None)
        self._key_type: pa.StructType | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types.

        Raises:
            NoSuchStateError: the operator's state is not that of a function of
                `bucketstate.stateful`.
            CheckpointError: the schema of the key cannot be read.
        """
        if self._key_type is None:
            reader = self._checkpoint.to_arrow_batch_reader(**self._how)
            check_kept(reader.schema.field("value").type, f"operator {self._how['operator']}")
            self._key_type = reader.schema.field("key").type
            reader.close()
        fields = [("key", self._key_type), ("state", self._documents.type)]
        return pa.schema([*fields, ("timers", TIMERS), ("partition_id", pa.int32())])

    def get(self, key: Any) -> Any:
        """The state of one key, as an instance of the class; None if it has none.

        Datetimes are in UTC, without a zone.

        Args:
            key: as for `Checkpoint.get`.

        Raises:
            InvalidArgumentError: the key cannot be one of this state.
            NoSuchStateError: the operator's state is not that of a function of
                `bucketstate.stateful`.
            MigrationError: what is stored cannot be read as the class.
            CheckpointError: a file that is needed cannot be read.
        """
        _ = self.schema
        table = self._checkpoint.to_arrow(**self._how, key=(None,) if key is None else key)
        for kept in kept_of(table.column("value").combine_chunks()):
            return self._documents.value(kept, key)
        return None

    def to_arrow_batch_reader(
        self,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
        *,
        key: Any = None,
    ) -> pa.RecordBatchReader:
        """The states as a stream of record batches, in no order.

        Args:
            columns: these alone, such as `key.station` and `state.total`, by those names.
            filters: rows for which all of them hold, such as `("state.total", ">", 5)`. Filters of
                the key are applied before documents are read; where they say what the whole key is,
                it is looked up.
            key: this key alone, given as to `Checkpoint.get`.

        Raises:
            InvalidArgumentError: a column that is not there, or a filter that cannot be.
            NoSuchStateError: the operator's state is not that of a function of
                `bucketstate.stateful`.
            MigrationError: a document cannot be read as the class. This and what follows may be
                raised while they are read.
            CheckpointError: a file that is needed cannot be read.
        """
        if isinstance(columns, str):
            raise InvalidArgumentError(f"columns={columns!r} is a text: give a list of columns.")
        schema = self.schema
        wanted = checked(filters, schema)
        paths = {name: path_of(name, schema, "columns") for name in columns or schema.names}
        names = _state_fields([*paths.values(), *(path_of(f[0], schema, "") for f in wanted)])
        if names is None:
            names = self._documents.names
        target = pa.schema([(name, _type_at(schema, path)) for name, path in paths.items()])

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._decoded(names, wanted, key):
                found = rows_where(batch, wanted)
                arrays = [column_of(found, path) for path in paths.values()]
                yield pa.RecordBatch.from_arrays(arrays, schema=target)

        return pa.RecordBatchReader.from_batches(target, batches())

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
    ) -> pa.Table:
        """The same as one table: see `to_arrow_batch_reader` for arguments and errors."""
        return self.to_arrow_batch_reader(columns, filters).read_all()

    def to_pandas(
        self,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] | None = None,
    ) -> pd.DataFrame:
        """The same as a DataFrame whose columns are the fields: `key.<field>`, `state.<field>`.

        Arguments and errors are as for `to_arrow_batch_reader`.
        """
        return as_frame(self.to_arrow(columns, filters).flatten())

    def _decoded(
        self, names: list[str], filters: Sequence[Filter], key: Any
    ) -> Iterator[pa.RecordBatch]:
        of_key = [f for f in filters if f[0].startswith("key.")]
        key_names = [field.name for field in self.schema.field("key").type]
        key = equal_to(of_key, "key", key_names) if key is None else key
        schema = self.schema
        if names != self._documents.names:
            kind = pa.struct([self._documents.type.field(name) for name in names])
            schema = schema.set(1, pa.field("state", kind))
        for batch in self._checkpoint.to_arrow_batch_reader(**self._how, key=key):
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


class StateDocuments(StateColumns):
    """Reads states of `bucketstate.stateful`. Not thread-safe."""

    def states(
        self,
        state: Any,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        batch: int | None = None,
    ) -> States:
        """The states that a function of `bucketstate.stateful` keeps, read as its state class.

        Fields that a document lacks get their defaults, and documents of older versions go through
        the class's migrations, as when the query runs. With `transformWithState`, parts (values,
        lists and maps) are state variables: read them with `to_arrow(state_var=...)`.

        Args:
            state: the state class, or a DDL text or a StructType, as `stateful.define` takes it.
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            DefinitionError: the state cannot be one.
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: there is no such operator or version.
            CheckpointError: what Spark recorded of the operator cannot be read.
        """
        return States(self, state, operator, partition, self.version_at(version, batch))


def _state_fields(paths: Sequence[tuple[str, ...]]) -> list[str] | None:
    """The fields of the state that are asked for; None for all of them."""
    of_state = [path for path in paths if path[0] == "state"]
    if any(len(path) == 1 for path in of_state):
        return None
    return list(dict.fromkeys(path[1] for path in of_state))


def _type_at(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType:
    kind = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind
