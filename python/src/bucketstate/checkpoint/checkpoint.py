"""A query's checkpoint, looked into without a JVM."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import pyarrow as pa

from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.history import history
from bucketstate.checkpoint.overview import Overview, overview
from bucketstate.checkpoint.scan import Scan
from bucketstate.checkpoint.selection import STATE, Selection
from bucketstate.checkpoint.source import Source
from bucketstate.checkpoint.spark.query import DEFAULT_STORE
from bucketstate.checkpoint.store.catalog import Catalog, whole_number
from bucketstate.checkpoint.store.state import MEMORY
from bucketstate.checkpoint.verify.one_store import Progress
from bucketstate.checkpoint.verify.report import Report
from bucketstate.checkpoint.verify.verify import verify
from bucketstate.errors import InvalidArgumentError
from bucketstate.notebook import shown

if TYPE_CHECKING:
    from bucketstate.checkpoint.selection import Asked

_log = logging.getLogger("bucketstate.checkpoint")

T = TypeVar("T")
"""A state class."""


class Checkpoint(Catalog):
    """The checkpoint of a stateful query on bucketstate, read only.

    It is looked at as it is when it is opened; open it again to see later batches. Not thread-safe;
    it reads many files at a time by itself, and holds none open between calls: there is nothing to
    close. Wherever a version can be given, `batch` can be given
    instead: batch n makes version n + 1.

    Args:
        path: what the query was given as `checkpointLocation`: a local path, or a URI of a file
            system that pyarrow knows (`s3:`, which `s3a:` is as well, `gs:`, `abfs:`, `hdfs:`), or
            that fsspec knows, where that is installed.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.
        memory: bytes of keys and values held at a time while state is read, unless a single bucket
            has more.

    Raises:
        InvalidArgumentError: what is given is no path, no file system, or no number of bytes.
        MissingLibraryError: fsspec is needed and not installed.
        NotACheckpointError: the folder is not the checkpoint of a stateful query.
        OtherProviderError: another state store provider wrote its state.
        NewerFormatError: a newer release wrote one of its logs.
        DamagedFileError: one of its logs is damaged.
        MissingFileError: a file that a log names is not there.
        StorageError: the file system failed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        filesystem: Any | None = None,
        *,
        memory: int = MEMORY,
    ) -> None:
        if whole_number("memory", memory) < 1:
            raise InvalidArgumentError(f"memory={memory}: give a number of bytes from 1 on.")
        super().__init__(Folder.at(path, filesystem))
        self._memory = memory
        _log.info("opened %s", self.location)

    def __repr__(self) -> str:
        return f"Checkpoint({self.location!r})"

    @overload
    def scan(
        self, kind: str = STATE, *, decode: type[T], **asked: Unpack[Asked]
    ) -> Scan[T | None]: ...

    @overload
    def scan(self, kind: str = STATE, *, decode: Any = None, **asked: Unpack[Asked]) -> Scan: ...

    def scan(
        self,
        kind: str = STATE,
        *,
        operator: int = 0,
        partition: int | None = None,
        store: str = DEFAULT_STORE,
        column_family: str | None = None,
        state_var: str | None = None,
        version: int | None = None,
        batch: int | None = None,
        since: int | None = None,
        since_batch: int | None = None,
        key: Any = None,
        user_key: Any = None,
        times: bool = False,
        flatten: bool = True,
        decode: Any = None,
        columns: Sequence[str] | None = None,
        filters: Sequence[tuple[str, str, Any]] | None = None,
    ) -> Scan[Any]:
        """Says what to read; the scan has the ways to have it, such as `to_arrow()`.

        The kinds, with their columns:

        - `state`: the state at a version, in no order, as Spark's `statestore` source has it: the
          structs `key` and `value`, and `partition_id`. Where Spark's struct has a name twice, the
          second gets a number (`sum_2`). Of a state variable it is `key`, then `value`, or
          `list_element`, or `user_map_key` and `user_map_value`. With `decode` it is `key`, `state`
          (a struct of the class's fields, null for a key that has timers alone), `timers` (a list
          of `at`, in UTC, and `name`; a timeout is one without a name) and `partition_id`. What has
          expired and was not removed yet is there.
        - `changes`: what batches wrote after the version `since`, one row for each key and batch:
          `batch_id`, `change_type` (`update`, `delete`, or `append` for values behind those that a
          key had), `key`, `value`, `partition_id`. Batches come in order within a partition. Keys
          that expired were not written, and are not there.
        - `diff`: how the states at two versions differ, in no order: `change` (`added`, `changed`
          or `removed`), `key`, `before` and `after` (null where it is not there), `partition_id`.
          A key that has expired is removed; one whose time alone is another is the same. With
          `decode`, `before` and `after` are structs of the class's fields, `timers_before` and
          `timers_after` stand behind them, and a key of which a part alone differs is there, too.
        - `timers`: those that a transformWithState has registered, in no order: `key`,
          `expiration_timestamp_ms` in milliseconds since 1970, `partition_id`.
        - `history`: one key at every version that can still be read, the oldest first: `version`,
          `batch_id`, then the columns of `state`, null where the key is not there. Values are read
          as of the newest schemas. With `decode` it has `state` and `timers`.

        Args:
            kind: `state`, `changes`, `diff`, `timers` or `history`.
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            store: for stream-stream joins, which have several.
            column_family: for operators that have several.
            state_var: a state variable of transformWithState.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.
            since: of `changes` and `diff` the older version; without, the one before.
            since_batch: the state that this batch made, in place of `since`.
            key: this key alone, looked up without reading the others: the value of the key's
                column; of several columns a tuple of all values, or a dict of them by column. Of a
                state variable it is the grouping key. Texts may be bytes. The first columns are
                enough where keys are scanned by them. (None,) is a key that is null.
            user_key: with `key`, this key of a map variable alone.
            times: adds `time_bucket`, the start of the time bucket that a key expires with, in UTC;
                null where it never does. Of a state variable with TTL, and of timers, it is
                `expires_at`, when a value or a timer does.
            flatten: a row for each element of a list or entry of a map; without, one for each key,
                with `list_value` or `map_value`.
            decode: the class of the states that a function of `bucketstate.stateful` keeps, or a
                DDL text or a StructType, as `stateful.define` takes it. Fields that a document
                lacks get their defaults, and documents of older versions go through the class's
                migrations, as when the query runs. With transformWithState, parts (values, lists
                and maps) are read from their state variables; those of a partition are held in
                memory, unless few keys are asked for. Takes pyspark.
            columns: these alone, such as `key.station` and `state.total`, by those names.
            filters: rows for which all of them hold, such as `("value.count", ">", 5)`, with one of
                `=`, `!=`, `<`, `<=`, `>`, `>=`, `in` and `not in`, the last two of a list of
                values. None is what is null, which is found by that alone. Where they say what the
                whole key is, it is looked up; other filters of the key are applied before documents
                are decoded.

        Raises:
            InvalidArgumentError: an argument is at odds with another.
        """
        selection = Selection(
            kind,
            operator,
            partition,
            store,
            column_family,
            state_var,
            version,
            batch,
            since,
            since_batch,
            key,
            user_key,
            times,
            flatten,
            decode,
            columns,
            filters,
        )
        return Scan(Source(self, selection, self._memory))

    def overview(self, version: int | None = None, *, batch: int | None = None) -> Overview:
        """What is in it, and what a restart would read, by the indexes of the files alone.

        A store that cannot be read is told in its `problem`, and raises nothing.

        Args:
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: both are given, or what is no whole number.
            CheckpointError: what Spark recorded of the query cannot be read.
            StorageError: the file system failed.
        """
        return overview(self, self.version_at(version, batch))

    def history(self) -> pa.Table:
        """What each version of each store added to the checkpoint, by the files' indexes alone.

        Columns: `operator`, `store`, `partition_id`, `version`; `keys`, those held at the version,
        of all column families; `changes`, those that it wrote; `changelog_bytes`; `manifest`,
        whether it has one; `run_bytes`, what the data files of its manifest take. Null where there
        is no such file.

        Raises:
            CheckpointError: a file cannot be read.
            StorageError: the file system failed.
        """
        return history(self)

    def _repr_html_(self) -> str:
        return shown(lambda: self.overview()._repr_html_())

    def verify(self, progress: Progress | None = None) -> Report:
        """Reads every file, and says what is damaged and what a restart would do.

        Every checksum and reference is verified, and every version that Spark could ask for: that
        of a restart, and of each batch in Spark's commit log that retention still has to keep.
        Damage is reported, not raised.

        Args:
            progress: is told how many files of how many are done, in one thread at a time.

        Raises:
            InvalidArgumentError: `progress` is no function.
            StorageError: the file system failed, which says nothing about the checkpoint.
        """
        if progress is not None and not callable(progress):
            raise InvalidArgumentError(f"progress={progress!r}: give a function of two numbers.")
        return verify(self, progress)
