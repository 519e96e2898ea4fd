"""A query's checkpoint, looked into without a JVM."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.checkpoint.bucket_residency import SCHEMA as BUCKET_RESIDENCY
from bucketstate.checkpoint.bucket_residency import residency_per_bucket
from bucketstate.checkpoint.catalog import Catalog
from bucketstate.checkpoint.history import history
from bucketstate.checkpoint.overview import Overview, overview
from bucketstate.checkpoint.parallel import in_order
from bucketstate.checkpoint.query import DEFAULT_STORE
from bucketstate.checkpoint.reading import Part, Reading
from bucketstate.checkpoint.report import Report
from bucketstate.checkpoint.schema_files import DEFAULT_FAMILY
from bucketstate.checkpoint.shapes import Shape, TimersShape, shape_of
from bucketstate.checkpoint.state import MEMORY
from bucketstate.checkpoint.storage import Folder
from bucketstate.checkpoint.store import Store
from bucketstate.checkpoint.verify import Progress, verify
from bucketstate.errors import CheckpointError, NoSuchStateError

if TYPE_CHECKING:
    import pandas as pd


class Checkpoint(Catalog):
    """The checkpoint of a stateful query on bucketstate, read only.

    It is looked at as it is when it is opened; open it again to see later batches. Not thread-safe;
    it reads many files at a time by itself.

    Args:
        path: what the query was given as `checkpointLocation`: a local path, or a URI of a file
            system that pyarrow knows (`s3:`, which `s3a:` is as well, `gs:`, `abfs:`, `hdfs:`), or
            that fsspec knows, where that is installed.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.
        memory: bytes of keys and values held at a time while state is read, unless a single bucket
            has more.

    Raises NotACheckpointError, OtherProviderError, NewerFormatError, DamagedFileError,
    MissingFileError or StorageError, each with what to do.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        filesystem: Any | None = None,
        *,
        memory: int = MEMORY,
    ) -> None:
        super().__init__(Folder.at(path, filesystem))
        self._memory = memory

    def to_arrow_batch_reader(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        times: bool = False,
        state_var: str | None = None,
        flatten: bool = True,
    ) -> pa.RecordBatchReader:
        """The state at a version, as a stream of record batches, in no order.

        The columns are those of Spark's `statestore` source: structs `key` and `value`, and
        `partition_id`. Where Spark's struct has a name twice, the second gets a number (`sum_2`).
        Memory is bounded as said above; the data files of a partition are copied to the local
        temporary folder while it is read.

        Args:
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            times: adds `time_bucket`, the start of the time bucket that a key expires with, in UTC;
                null where it never does. Of a state variable with TTL it is `expires_at`, when a
                value does.
            state_var: a state variable of transformWithState. Its columns are those of Spark's
                source, too: `key`, then `value`, or `list_element`, or `user_map_key` and
                `user_map_value`.
            flatten: a row for each element of a list or entry of a map; without, one for each key,
                with `list_value` or `map_value`.

        Raises NoSuchStateError, and whatever makes a file unreadable, here or while it is read.
        """
        reading = self._reading(
            operator, column_family, store, version, state_var, times=times, flatten=flatten
        )
        return reading.state(self._parts(operator, partition, store, version))

    def to_arrow(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        times: bool = False,
        state_var: str | None = None,
        flatten: bool = True,
    ) -> pa.Table:
        """The state at a version as one table: see `to_arrow_batch_reader`."""
        return self.to_arrow_batch_reader(
            operator,
            partition,
            version,
            column_family,
            store=store,
            times=times,
            state_var=state_var,
            flatten=flatten,
        ).read_all()

    def to_pandas(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        times: bool = False,
        state_var: str | None = None,
        flatten: bool = True,
    ) -> pd.DataFrame:
        """The same as a DataFrame whose columns are the fields: `key.<field>`, `value.<field>`."""
        table = self.to_arrow(
            operator,
            partition,
            version,
            column_family,
            store=store,
            times=times,
            state_var=state_var,
            flatten=flatten,
        )
        frame: pd.DataFrame = table.flatten().to_pandas()
        return frame

    def timers_batch_reader(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        times: bool = False,
    ) -> pa.RecordBatchReader:
        """The timers that a transformWithState has registered, in no order.

        Columns, as with Spark's `readRegisteredTimers`: `key`, `expiration_timestamp_ms` in
        milliseconds since 1970, `partition_id`. With `times` also `expires_at`, the same in UTC.
        They are by event time or by processing time, as the operator's time mode says.
        """
        family = self.timers_family(operator, version)
        schema = self.schema(operator, column_family=family, version=version)
        reading = Reading(family, schema, self._memory, times, TimersShape(), created=False)
        return reading.state(self._parts(operator, partition, DEFAULT_STORE, version))

    def timers(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        times: bool = False,
    ) -> pa.Table:
        """The same as one table: see `timers_batch_reader`."""
        return self.timers_batch_reader(operator, partition, version, times=times).read_all()

    def changes_batch_reader(
        self,
        from_version: int,
        to_version: int,
        operator: int = 0,
        partition: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        state_var: str | None = None,
    ) -> pa.RecordBatchReader:
        """What turned one version into a later one: the writes of the batches between them.

        One row for each key and batch, as in the change feed of Spark's `statestore` source:
        `batch_id`, `change_type` (`update`, `delete`, or `append` for values behind those that a
        key had), `key`, `value`, `partition_id`. Batches come in order within a partition. Keys
        that expired were not written, and are not there: `diff` has them.

        Raises MissingFileError if retention has removed a changelog of those batches; `diff`
        compares the states instead.
        """
        reading = self._reading(operator, column_family, store, to_version, state_var)
        return reading.changes(self._parts(operator, partition, store, to_version, from_version))

    def changes(
        self,
        from_version: int,
        to_version: int,
        operator: int = 0,
        partition: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        state_var: str | None = None,
    ) -> pa.Table:
        """The same as one table: see `changes_batch_reader`."""
        return self.changes_batch_reader(
            from_version,
            to_version,
            operator,
            partition,
            column_family,
            store=store,
            state_var=state_var,
        ).read_all()

    def diff_batch_reader(
        self,
        from_version: int,
        to_version: int,
        operator: int = 0,
        partition: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        state_var: str | None = None,
    ) -> pa.RecordBatchReader:
        """How the states at two versions differ: the keys that do, in no order.

        Columns: `change` (`added`, `changed` or `removed`), `key`, `before` and `after` (its
        values; null where it is not there), `partition_id`. Reads both states, not the changes
        between them. A key that has expired is removed; a key whose time alone is another is the
        same.
        """
        reading = self._reading(operator, column_family, store, to_version, state_var)
        parts = self._parts(operator, partition, store, to_version, from_version)
        return reading.differences(parts)

    def diff(
        self,
        from_version: int,
        to_version: int,
        operator: int = 0,
        partition: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        state_var: str | None = None,
    ) -> pa.Table:
        """The same as one table: see `diff_batch_reader`."""
        return self.diff_batch_reader(
            from_version,
            to_version,
            operator,
            partition,
            column_family,
            store=store,
            state_var=state_var,
        ).read_all()

    def keys_per_bucket(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
    ) -> pa.Table:
        """How many keys each bucket holds: `partition_id`, `bucket`, `keys`. Reads the state."""
        reading = self._reading(operator, column_family, store)
        return reading.keys_per_bucket(self._parts(operator, partition, store, version))

    def residency_per_bucket(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        store: str = DEFAULT_STORE,
    ) -> pa.Table:
        """What of each bucket lies in data files (cold), and what in changelogs alone (warm).

        A row for each bucket of each column family: see `bucketstate.checkpoint.bucket_residency`.
        Reads the state; `overview` has the sums without that.
        """
        tables = [BUCKET_RESIDENCY.empty_table()]
        for part in self._parts(operator, partition, store, version):
            plan = part.store.plan(part.target)
            tables.append(residency_per_bucket(part.store, plan, self._memory))
        return pa.concat_tables(tables)

    def keys_per_time_bucket(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
    ) -> pa.Table:
        """How many keys expire together: `partition_id`, `time_bucket`, `keys`.

        `time_bucket` is when a span of time starts, in UTC; null stands for keys that never expire.
        Reads the indexes of the files, not the state.
        """
        reading = self._reading(operator, column_family, store)
        return reading.keys_per_time_bucket(self._parts(operator, partition, store, version))

    def overview(self, version: int | None = None) -> Overview:
        """What is in it, and what a restart would read: see `bucketstate.checkpoint.overview`."""
        return overview(self, version)

    def history(self) -> pa.Table:
        """Keys, changes and bytes of each version: see `bucketstate.checkpoint.history`."""
        return history(self)

    def verify(self, progress: Progress | None = None) -> Report:
        """Reads every file: see `bucketstate.checkpoint.verify`."""
        return verify(self, progress)

    def _reading(
        self,
        operator: int,
        column_family: str | None,
        store: str,
        version: int | None = None,
        state_var: str | None = None,
        *,
        times: bool = False,
        flatten: bool = True,
    ) -> Reading:
        shape = Shape()
        if state_var is not None:
            if column_family is not None:
                raise ValueError("give a state variable or a column family, not both")
            column_family = state_var
            shape = shape_of(self.state_variable(state_var, operator, version), flatten=flatten)
        schema = self.schema(operator, store=store, column_family=column_family, version=version)
        family = column_family or DEFAULT_FAMILY
        created = state_var is None
        return Reading(family, schema, self._memory, times, shape, created=created)

    def _parts(
        self,
        operator: int,
        partition: int | None,
        store: str,
        version: int | None,
        since: int = 0,
    ) -> list[Part]:
        """The partitions, each at the version; found out before anything is read."""
        target = self.restart_version if version is None else version
        if since > target >= 0:
            raise NoSuchStateError(
                f"From version {since} to {target} is not a way forward: give two versions, the "
                "older one first."
            )
        info = self.store_info(self.operator(operator), store)
        numbers = range(info.partitions) if partition is None else [partition]
        stores = [self.store(operator, number, store) for number in numbers]
        _ = self.query.committed
        return list(in_order(lambda s: self._part(s, target, since), stores))

    def _part(self, store: Store, target: int, since: int) -> Part:
        """With the indexes of its files read already, which is for many partitions at a time."""
        part = Part(store, self.attempt(store, target), self.attempt(store, since))
        # A partition that cannot be read fails when its turn has come.
        with suppress(CheckpointError):
            store.plan(part.target)
        return part
