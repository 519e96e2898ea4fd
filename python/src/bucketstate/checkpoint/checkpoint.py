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
    it reads many files at a time by itself.

    Args:
        path: what the query was given as `checkpointLocation`: a local path, or a URI of a file
            system that pyarrow knows (`s3:`, which `s3a:` is as well, `gs:`, `abfs:`, `hdfs:`), or
            that fsspec knows, where that is installed.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.
        memory: bytes of keys and values held at a time while state is read, unless a single bucket
            has more.

    Wherever a version can be given, `batch` can be given instead: batch n makes version n + 1.

    Raises InvalidArgumentError for what is no path or no file system, and NotACheckpointError,
    OtherProviderError, NewerFormatError, DamagedFileError, MissingFileError or StorageError, each
    with what to do.
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
        """How many keys each bucket holds: `partition_id`, `bucket`, `keys`. Reads the state."""
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

        A row for each bucket of each column family: see `bucketstate.checkpoint.bucket_residency`.
        Reads the state; `overview` has the sums without that.
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
        """
        reading = self._reading(operator, column_family, store)
        version = self.version_at(version, batch)
        return reading.keys_per_time_bucket(self._parts(operator, partition, store, version))

    def overview(self, version: int | None = None, *, batch: int | None = None) -> Overview:
        """What is in it, and what a restart would read: see `bucketstate.checkpoint.overview`."""
        return overview(self, self.version_at(version, batch))

    def history(self) -> pa.Table:
        """Keys, changes and bytes of each version: see `bucketstate.checkpoint.history`."""
        return history(self)

    def verify(self, progress: Progress | None = None) -> Report:
        """Reads every file: see `bucketstate.checkpoint.verify`."""
        return verify(self, progress)
