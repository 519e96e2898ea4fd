"""Rows of a checkpoint, as columns: state, changes, differences, timers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import pyarrow as pa

from bucketstate.checkpoint.filtering import (
    Filter,
    checked,
    column_of,
    key_in,
    path_of,
    rows_where,
    type_at,
)
from bucketstate.checkpoint.one_key import history_of_key, rows_of_key
from bucketstate.checkpoint.selection import CHANGES, DIFF, HISTORY, NAMES, STATE
from bucketstate.checkpoint.source import Source
from bucketstate.checkpoint.spark.python_values import as_frame, flattened, with_dicts
from bucketstate.checkpoint.store.bucket_residency import SCHEMA as BUCKET_RESIDENCY
from bucketstate.checkpoint.store.bucket_residency import residency_per_bucket
from bucketstate.errors import InvalidArgumentError
from bucketstate.notebook import MOST, shown, table
from bucketstate.optional import needed

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

    from bucketstate.checkpoint.states import States

if TYPE_CHECKING:
    # With a default a scan that does not decode is a plain `Scan`. pyspark's types come with it.
    import typing_extensions

    V = typing_extensions.TypeVar("V", default=Any)
else:
    V = TypeVar("V")
"""What the value of one key is."""

T = TypeVar("T")
"""A state class."""


class Scan(Generic[V]):
    """What to read of a checkpoint, and the ways to have it. Made by `Checkpoint.scan`.

    To type checkers one that decodes is a `Scan[Total | None]`, with its state class: what `get`
    gives.

    It cannot be changed: `update` makes another one. Files are read when rows are asked for, each
    time anew. Whatever knows Arrow's PyCapsule interface takes a scan as it is:
    `polars.DataFrame(scan)`, `pyarrow.table(scan)`. Not thread-safe, since its checkpoint is not.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def __repr__(self) -> str:
        of = self._source.selection
        given = [f for f in fields(of) if getattr(of, f.name) is not f.default]
        return f"Scan({', '.join(f'{f.name}={getattr(of, f.name)!r}' for f in given)})"

    @cached_property
    def _states(self) -> States | None:
        if self._source.selection.decode is None:
            return None
        # Documents are read by what wrote them, which takes pyspark.
        from bucketstate.checkpoint.states import States

        return States(self._source)

    def _repr_html_(self) -> str:
        return shown(self._first_rows)

    def _first_rows(self) -> str:
        rows: list[tuple[Any, ...]] = []
        reader = self.to_arrow_batch_reader()
        empty = reader.schema.empty_table().flatten()
        for batch in reader:
            part = pa.Table.from_batches([batch.slice(0, MOST + 1 - len(rows))]).flatten()
            rows += zip(*(with_dicts(c) for c in part.itercolumns()), strict=True)
            if len(rows) > MOST:
                break
        reader.close()
        more = f"... more than these {MOST}" if len(rows) > MOST else ""
        return table(repr(self), empty.column_names, rows[:MOST], more or f"{len(rows)} rows")

    @overload
    def update(self, *, decode: type[T], **overrides: Any) -> Scan[T | None]: ...

    @overload
    def update(self, **overrides: Any) -> Scan[V]: ...

    def update(self, **overrides: Any) -> Any:
        """A scan like this one with other arguments, which are as for `Checkpoint.scan`.

        Raises:
            InvalidArgumentError: there is no such argument, or it is at odds with another.
        """
        for name in sorted(overrides.keys() - set(NAMES)):
            raise InvalidArgumentError(
                f"A scan has no argument {name}. There are: {', '.join(NAMES)}."
            )
        return Scan(self._source.of(**overrides))

    @property
    def version(self) -> int:
        """The version that is read: batch n makes version n + 1.

        Raises:
            InvalidArgumentError: what is given as a version or a batch is no whole number.
            NoSuchStateError: the batch is negative.
        """
        return self._source.version

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types. Errors are as for `to_arrow_batch_reader`."""
        reader = self.to_arrow_batch_reader()
        found = reader.schema
        reader.close()
        return found

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of record batches.

        Memory is bounded by the checkpoint's `memory`, in bytes; the data files of a partition that
        are not on a local disk are copied to the local temporary folder while it is read. Errors
        of files may be raised while batches are read.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with what is there.
            DefinitionError: what is given to decode states as cannot be a state.
            MissingLibraryError: states are decoded, and pyspark is not installed.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            MigrationError: a document cannot be read as the class.
            NewerFormatError: a newer release wrote a file that is needed.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there. Of changes, retention may have
                removed it; a scan of `diff` compares the states instead.
            StorageError: the file system failed.
            CheckpointError: Spark's schema has a type that this release does not read, or values
                written with an older schema do not fit the newest one.
        """
        states = self._states
        stored = self._source if states is None else states.source
        reader = _reader(stored)
        schema = reader.schema if states is None else states.schema
        reader = reader if states is None else states.every(reader)
        of = self._source.selection
        filters = checked(of.filters, schema)
        names = schema.names if of.columns is None else of.columns
        paths = {name: path_of(name, schema, "columns") for name in names}
        if of.kind == STATE and of.key is None:
            reader = _looked_up(stored, reader, filters)
        if states is None and of.columns is None and not filters:
            return reader
        used = [*paths.values(), *(path_of(f[0], schema, "filters") for f in filters)]
        batches = reader if states is None else states.batches(reader, used, filters)
        target = pa.schema([(name, type_at(schema, path)) for name, path in paths.items()])

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found = rows_where(batch, filters)
                arrays = [column_of(found, path) for path in paths.values()]
                yield pa.RecordBatch.from_arrays(arrays, schema=target)

        return pa.RecordBatchReader.from_batches(target, rows())

    def to_arrow(self) -> pa.Table:
        """The rows as one table, in memory. Errors are as for `to_arrow_batch_reader`."""
        return self.to_arrow_batch_reader().read_all()

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame whose columns are the fields: `key.<field>`, `value.<field>`.

        The field of a struct in a struct is `key.window.start`. A map is a dict where its keys are
        plain values, else a list of pairs. A column with a value that pandas has not, such as a
        year beyond 9999, is one of objects, in which that is a text. Errors are as for
        `to_arrow_batch_reader`.
        """
        return as_frame(flattened(self.to_arrow()))

    def to_duckdb(
        self, table_name: str, connection: DuckDBPyConnection | None = None
    ) -> DuckDBPyConnection:
        """The rows as a table of DuckDB, for queries in SQL.

        They are read by each query anew, at the version that is read now: the columns and the
        partition that it needs, and one key, if it asks for that. A query whose rows cannot be read
        ends with DuckDB's error, which has the text of the package's. A scan of one key, or with
        columns or filters of its own, is read at once, and is in memory.

        Args:
            table_name: what queries call it.
            connection: where it is registered; a new database in memory without.

        Raises:
            MissingLibraryError: duckdb is not installed (`bucketstate[duckdb]`).
            BucketstateError: as for `to_arrow_batch_reader`.
        """
        duckdb = needed("duckdb", extra="duckdb", what="A scan as a table of DuckDB")
        into: DuckDBPyConnection = duckdb.connect() if connection is None else connection
        of = self._source.selection
        if of.key is None and of.columns is None and of.filters is None:
            # Loaded here, for it takes a while, and who asks for rows needs none of it.
            from bucketstate.checkpoint.dataset import ScanDataset

            dataset = ScanDataset(self.update(version=self.version, batch=None), of.partition)
            # What is not there is told in the package's words, and at once.
            _ = dataset.schema
            into.register(table_name, dataset)
        else:
            into.register(table_name, self.to_arrow())
        return into

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)

    def get(self, key: Any, user_key: Any = None) -> V:
        """The value of one key, as Python values; None if it is not there.

        A value is a dict by column. Where a key has several, as in a list variable, it is a list of
        them; of a map variable it is a list of its keys with their values, or with `user_key` the
        value of that one. A scan that decodes gives an instance of the state class, whose datetimes
        are in UTC, without a zone. `update(key=...)` has the same as columns. A year beyond 1 to
        9999 is a text in ISO 8601, and bytes that are no UTF-8 are in a text as a backslash, an x
        and two digits. Arguments are as for `Checkpoint.scan`, and errors as for
        `to_arrow_batch_reader`.
        """
        of = self._source.selection
        if of.kind != STATE or of.columns is not None or of.filters is not None:
            raise InvalidArgumentError(
                f"{self!r} has no values by key: ask a scan of state, without columns and filters."
            )
        # A key that is null is (None,) from here on, since None stands for no key.
        asked = {"key": (None,) if key is None else key, "user_key": user_key}
        if self._states is not None:
            # Made first: whether there are documents at all.
            _ = self._states.schema
            value = self._states.value_in(rows_of_key(self._states.source.of(**asked)), key)
            return cast("V", value)
        table = rows_of_key(self._source.of(**asked, flatten=user_key is not None))
        if table.num_rows > 1:
            raise InvalidArgumentError(
                f"key={key!r} is the beginning of {table.num_rows} keys: give all columns, or scan "
                "with that key for all of them."
            )
        # The partition stands behind the value.
        found = with_dicts(table.column(table.num_columns - 2 - of.times))
        return cast("V", found[0] if found else None)

    def keys_per_bucket(self) -> pa.Table:
        """How many keys each bucket holds: `partition_id`, `bucket`, `keys`. Reads the state.

        Only those of the scan's arguments count that say which column family, where, and at which
        version. Errors are as for `to_arrow_batch_reader`.
        """
        return self._source.reading().keys_per_bucket(self._source.parts())

    def keys_per_time_bucket(self) -> pa.Table:
        """How many keys expire together: `partition_id`, `time_bucket`, `keys`.

        `time_bucket` is when a span of time starts, in UTC; null stands for keys that never expire.
        Reads the indexes of the files, not the state. Arguments count as for `keys_per_bucket`, and
        errors are as for `to_arrow_batch_reader`.
        """
        return self._source.reading().keys_per_time_bucket(self._source.parts())

    def residency_per_bucket(self) -> pa.Table:
        """What of each bucket lies in data files (cold), and what in changelogs alone (warm).

        A row for each bucket of every column family: `partition_id`, `column_family` (null for what
        is left of removed ones), `bucket`, `keys`; `cold_entries`, `cold_bytes` of the files,
        `cold_raw_bytes` inflated; `warm_keys`, `warm_records`, `warm_bytes`, `warm_raw_bytes`.
        Reads the state; `Checkpoint.overview` has the sums without that. Of the scan's arguments
        those count that say which store, which partition, and at which version. Errors are as for
        `to_arrow_batch_reader`.
        """
        tables = [BUCKET_RESIDENCY.empty_table()]
        for part in self._source.parts():
            plan = part.store.plan(part.target)
            tables.append(residency_per_bucket(part.store, plan, self._source.memory))
        return pa.concat_tables(tables)


def _reader(source: Source) -> pa.RecordBatchReader:
    """The rows as they are stored: all columns, and no filter applied."""
    kind = source.selection.kind
    if kind == HISTORY:
        return history_of_key(source).to_reader()
    if kind == CHANGES:
        return source.reading().changes(source.parts())
    if kind == DIFF:
        return source.reading().differences(source.parts())
    if source.selection.key is not None:
        return rows_of_key(source).to_reader()
    return source.reading().state(source.parts())


def _looked_up(
    source: Source, reader: pa.RecordBatchReader, filters: list[Filter]
) -> pa.RecordBatchReader:
    """A reader of the one key that the filters ask for; the same one if they ask for several."""
    key = key_in(filters, reader.schema)
    if key is None:
        return reader
    try:
        found = rows_of_key(source.of(key=key))
    except InvalidArgumentError:
        # Nothing that can be a key is equal to it: the filters find that out.
        return reader
    reader.close()
    return found.to_reader()
