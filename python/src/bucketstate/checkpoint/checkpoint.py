"""A query's checkpoint, looked into without a JVM."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.bucket_residency import SCHEMA as BUCKET_RESIDENCY
from bucketstate.checkpoint.bucket_residency import residency_per_bucket
from bucketstate.checkpoint.change_columns import ChangeColumns
from bucketstate.checkpoint.history import history
from bucketstate.checkpoint.overview import Overview, overview
from bucketstate.checkpoint.query import DEFAULT_STORE
from bucketstate.checkpoint.report import Report
from bucketstate.checkpoint.state import MEMORY
from bucketstate.checkpoint.states import StateDocuments
from bucketstate.checkpoint.storage import Folder
from bucketstate.checkpoint.verify import Progress, verify


class Checkpoint(StateDocuments, ChangeColumns):
    """The checkpoint of a stateful query on bucketstate, read only.

    It is looked at as it is when it is opened; open it again to see later batches. Not thread-safe;
    it reads many files at a time by itself. Wherever a version can be given, `batch` can be given
    instead: batch n makes version n + 1.

    Args:
        path: what the query was given as `checkpointLocation`: a local path, or a URI of a file
            system that pyarrow knows (`s3:`, which `s3a:` is as well, `gs:`, `abfs:`, `hdfs:`), or
            that fsspec knows, where that is installed.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.
        memory: bytes of keys and values held at a time while state is read, unless a single bucket
            has more.

    Raises:
        InvalidArgumentError: what is given is no path, or no file system.
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
        super().__init__(Folder.at(path, filesystem), memory)

    def keys_per_bucket(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        batch: int | None = None,
    ) -> pa.Table:
        """How many keys each bucket holds: `partition_id`, `bucket`, `keys`. Reads the state.

        Args:
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        reading = self._reading(operator, column_family, store)
        version = self.version_at(version, batch)
        return reading.keys_per_bucket(self._parts(operator, partition, store, version))

    def residency_per_bucket(
        self,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        *,
        store: str = DEFAULT_STORE,
        batch: int | None = None,
    ) -> pa.Table:
        """What of each bucket lies in data files (cold), and what in changelogs alone (warm).

        A row for each bucket of each column family: `partition_id`, `column_family` (null for what
        is left of removed ones), `bucket`, `keys`; `cold_entries`, `cold_bytes` of the files,
        `cold_raw_bytes` inflated; `warm_keys`, `warm_records`, `warm_bytes`, `warm_raw_bytes`.
        Reads the state; `overview` has the sums without that.

        Args:
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            store: for stream-stream joins, which have several.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        tables = [BUCKET_RESIDENCY.empty_table()]
        version = self.version_at(version, batch)
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
        batch: int | None = None,
    ) -> pa.Table:
        """How many keys expire together: `partition_id`, `time_bucket`, `keys`.

        `time_bucket` is when a span of time starts, in UTC; null stands for keys that never expire.
        Reads the indexes of the files, not the state.

        Args:
            operator: the id of the stateful operator.
            partition: one partition; all of them without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        reading = self._reading(operator, column_family, store)
        version = self.version_at(version, batch)
        return reading.keys_per_time_bucket(self._parts(operator, partition, store, version))

    def overview(self, version: int | None = None, *, batch: int | None = None) -> Overview:
        """What is in it, and what a restart would read, by the indexes of the files alone.

        A store that cannot be read is told in its `problem`, and raises nothing.

        Args:
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: both are given, or what is no whole number.
            CheckpointError: what Spark recorded of the query cannot be read.
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
        """
        return history(self)

    def verify(self, progress: Progress | None = None) -> Report:
        """Reads every file, and says what is damaged and what a restart would do.

        Every checksum and reference is verified, and every version that Spark could ask for: that
        of a restart, and of each batch in Spark's commit log that retention still has to keep.
        Damage is reported, not raised.

        Args:
            progress: is told how many files of how many are done, in one thread at a time.

        Raises:
            StorageError: the file system failed, which says nothing about the checkpoint.
        """
        return verify(self, progress)
