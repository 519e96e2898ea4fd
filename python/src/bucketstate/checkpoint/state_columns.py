"""The state at a version as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.checkpoint.key_columns import KeyColumns
from bucketstate.checkpoint.python_values import as_frame
from bucketstate.checkpoint.query import DEFAULT_STORE
from bucketstate.checkpoint.reading import Reading
from bucketstate.checkpoint.shapes import TimersShape
from bucketstate.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd


class StateColumns(KeyColumns):
    """Reads keys, values, state variables and timers. Not thread-safe."""

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
        batch: int | None = None,
        key: Any = None,
        user_key: Any = None,
    ) -> pa.RecordBatchReader:
        """The state at a version, as a stream of record batches, in no order.

        The columns are those of Spark's `statestore` source: structs `key` and `value`, and
        `partition_id`. Where Spark's struct has a name twice, the second gets a number (`sum_2`).
        Memory is bounded by the checkpoint's `memory`, in bytes; the data files of a partition are
        copied to the local temporary folder while it is read.

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
            batch: the state that this batch made, in place of a version.
            key: this key alone, looked up without reading the others: see `get`. The first columns
                of a key are enough where keys are scanned by them. (None,) is a key that is null.
            user_key: with `key`, this key of a map variable alone.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file is damaged. This and what follows may be raised while it is
                read.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        version = self.version_at(version, batch)
        if key is not None:
            return self._key_table(
                key,
                operator,
                partition,
                version,
                column_family,
                store=store,
                state_var=state_var,
                user_key=user_key,
                times=times,
                flatten=flatten,
            ).to_reader()
        if user_key is not None:
            raise InvalidArgumentError(
                f"user_key={user_key!r} is given without key: give the grouping key, too."
            )
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
        batch: int | None = None,
        key: Any = None,
        user_key: Any = None,
    ) -> pa.Table:
        """The state at a version as one table.

        Arguments and errors are as for `to_arrow_batch_reader`; all rows are in memory.
        """
        return self.to_arrow_batch_reader(
            operator,
            partition,
            version,
            column_family,
            store=store,
            times=times,
            state_var=state_var,
            flatten=flatten,
            batch=batch,
            key=key,
            user_key=user_key,
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
        batch: int | None = None,
        key: Any = None,
        user_key: Any = None,
    ) -> pd.DataFrame:
        """The same as a DataFrame whose columns are the fields: `key.<field>`, `value.<field>`.

        A column with a value that pandas has not, such as a year beyond 9999, is one of objects, in
        which that is a text. Arguments and errors are as for `to_arrow_batch_reader`; all rows are
        in memory.
        """
        table = self.to_arrow(
            operator,
            partition,
            version,
            column_family,
            store=store,
            times=times,
            state_var=state_var,
            flatten=flatten,
            batch=batch,
            key=key,
            user_key=user_key,
        )
        return as_frame(table.flatten())

    def timers_batch_reader(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        times: bool = False,
        batch: int | None = None,
    ) -> pa.RecordBatchReader:
        """The timers that a transformWithState has registered, in no order.

        Columns, as with Spark's `readRegisteredTimers`: `key`, `expiration_timestamp_ms` in
        milliseconds since 1970, `partition_id`. They are by event time or by processing time, as
        the operator's time mode says.

        Args:
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            times: adds `expires_at`, when a timer is reached as a timestamp in UTC.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there, or the operator can have no timers.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        version = self.version_at(version, batch)
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
        batch: int | None = None,
    ) -> pa.Table:
        """The timers as one table: see `timers_batch_reader` for arguments and errors."""
        return self.timers_batch_reader(
            operator, partition, version, times=times, batch=batch
        ).read_all()
