"""What changed between two versions, as columns."""

from __future__ import annotations

import pyarrow as pa

from bucketstate.checkpoint.arguments import whole_number
from bucketstate.checkpoint.query import DEFAULT_STORE
from bucketstate.checkpoint.selection import Selection


class ChangeColumns(Selection):
    """Reads what batches wrote, and how two states differ. Not thread-safe."""

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

        Args:
            from_version: the version that is changed.
            to_version: the version that it becomes, a later one.
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            state_var: a state variable of transformWithState.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: retention has removed a changelog of those batches; `diff` compares
                the states instead.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        from_version = whole_number("from_version", from_version)
        to_version = whole_number("to_version", to_version)
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
        """The same as one table: see `changes_batch_reader` for arguments and errors."""
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

        Args:
            from_version: the version before.
            to_version: the version after.
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            state_var: a state variable of transformWithState.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        from_version = whole_number("from_version", from_version)
        to_version = whole_number("to_version", to_version)
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
        """The same as one table: see `diff_batch_reader` for arguments and errors."""
        return self.diff_batch_reader(
            from_version,
            to_version,
            operator,
            partition,
            column_family,
            store=store,
            state_var=state_var,
        ).read_all()
