"""Where an export goes: local files and those elsewhere, tables of Delta and Iceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import fs

from bucketstate.checkpoint.format.filesystems import first_line, hint, opened, split_uri
from bucketstate.checkpoint.format.writing import first_name, renamed, sent
from bucketstate.cli.export import ExportError, exported, format_of
from bucketstate.cli.terminal.usage import STANDARD_OUTPUT, TABLES
from bucketstate.errors import BucketstateError, StorageError
from bucketstate.interrupts import temporary_folder, undone
from bucketstate.optional import needed

Progress = Callable[[int], None]
Write = Callable[[pa.RecordBatchReader, Progress], int]
"""Writes all rows, telling how many are done; how many there were."""

_BYTES = 1 << 27
"""What is held in memory before it becomes a file of a table, at least."""


def writing(output: str, format: str | None, *, overwrite: bool) -> Write:  # noqa: A002
    """What writes rows to that place.

    Raises ExportError for a format that says nothing, or is none of that place.
    """
    if format in TABLES:
        if output == STANDARD_OUTPUT:
            raise ExportError(f"{format} is a table, not standard output: name one.")
        to = _to_delta if format == "delta" else _to_iceberg
        return lambda rows, told: to(rows, output, overwrite=overwrite, progress=told)
    if split_uri(output)[0] != "file":
        return lambda rows, told: _uploaded(
            rows, output, format, overwrite=overwrite, progress=told
        )
    target = Path(output)
    found = format_of(target, format)
    return lambda rows, told: exported(rows, target, found, overwrite=overwrite, progress=told)


def _uploaded(
    reader: pa.RecordBatchReader,
    target: str,
    format: str | None,  # noqa: A002
    *,
    overwrite: bool,
    progress: Callable[[int], None],
) -> int:
    """Writes all rows into a file, by way of one in the local temporary folder; how many.

    An object store shows a file when it is closed, whole or not: so nothing is sent before all rows
    are written.

    Raises ExportError as `exported`, StorageError for what the file system refuses.
    """
    filesystem, path, scheme = opened(target)
    name = PurePosixPath(path.partition("?")[0])
    shown = target.partition("?")[0]
    found = format_of(Path(name.name), format)
    with _told(shown, scheme):
        there = filesystem.get_file_info(str(name)).type
    if there != fs.FileType.NotFound and not overwrite:
        raise ExportError(f"{shown} is there already: choose another name, or add --overwrite.")
    try:
        temporary = temporary_folder("bucketstate-")
    except OSError as error:
        raise StorageError(
            f"{shown} cannot be written: its rows go to the temporary folder first, and "
            f"{first_line(error)}. See that TMPDIR is a folder with room for it."
        ) from error
    with undone(), temporary as folder:
        local = Path(folder) / f"rows.{found}"
        done = exported(reader, local, found, progress=progress)
        with _told(shown, scheme), local.open("rb") as source:
            _sent(source, filesystem, str(name))
    return done


def _sent(source: BinaryIO, filesystem: fs.FileSystem, name: str) -> None:
    """The file is there when it is whole; what fails or is stopped leaves no part of it."""
    before = filesystem.get_file_info(name)
    hidden = first_name(filesystem, name)

    def withdraw() -> None:
        if hidden != name or filesystem.get_file_info(name) != before:
            filesystem.delete_file(hidden)

    with undone(withdraw):
        try:
            sent(filesystem, source, hidden)
        except BaseException:
            # What is wrong is told as it is.
            with suppress(Exception):
                withdraw()
            raise
    renamed(filesystem, hidden, name)


@contextmanager
def _told(shown: str, scheme: str) -> Iterator[None]:
    try:
        yield
    # Those of fsspec raise what their libraries do, which have no error in common.
    except Exception as error:
        raise StorageError(
            f"{shown} cannot be written: {first_line(error)}. {hint(scheme)}"
        ) from error


class _Rows:
    """The rows in types that tables have, and what went wrong in reading them."""

    def __init__(self, reader: pa.RecordBatchReader, progress: Progress) -> None:
        self._reader = reader
        self._progress = progress
        self.schema = pa.schema([(f.name, _in_micros(f.type)) for f in reader.schema])
        self.done = 0
        self.failure: BucketstateError | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                columns = [
                    column.cast(field.type)
                    for column, field in zip(batch.columns, self.schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
                self.done += batch.num_rows
                self._progress(self.done)
        except BucketstateError as error:
            self.failure = error
            raise

    def tables(self) -> Iterator[pa.Table]:
        """The rows in tables of some size; one at least."""
        waiting: list[pa.RecordBatch] = []
        for batch in self:
            waiting.append(batch)
            if sum(b.nbytes for b in waiting) >= _BYTES:
                yield pa.Table.from_batches(waiting, self.schema)
                waiting = []
        if waiting or not self.done:
            yield pa.Table.from_batches(waiting, self.schema)

    @contextmanager
    def written(self, target: str, format: str) -> Iterator[None]:  # noqa: A002
        """What fails in writing as ExportError; what fails in reading as it is."""
        try:
            yield
        except BucketstateError:
            raise
        except Exception as error:
            # The libraries have errors of many kinds, and none above them.
            if self.failure is not None:
                raise self.failure from error
            raise ExportError(
                f"{target} cannot be written as {format}: {error}. See that it can be reached and "
                "has these columns, leave some out with --columns, or choose another format."
            ) from error


def _to_delta(
    reader: pa.RecordBatchReader, target: str, *, overwrite: bool, progress: Progress
) -> int:
    """Writes all rows into a new table of Delta, at a path or a URI; how many.

    With `overwrite` they take the place of all rows, and their columns that of the columns.

    Raises ExportError if the table is there, or cannot be written; MissingLibraryError without
    deltalake.
    """
    delta = needed("deltalake", extra="delta", what="A table of Delta")
    rows = _Rows(reader, progress)
    with rows.written(target, "delta"):
        if delta.DeltaTable.is_deltatable(target) and not overwrite:
            raise _there(target)
        delta.write_deltalake(
            target,
            pa.RecordBatchReader.from_batches(rows.schema, iter(rows)),
            mode="overwrite" if overwrite else "error",
            schema_mode="overwrite" if overwrite else None,
        )
    return rows.done


def _to_iceberg(
    reader: pa.RecordBatchReader, target: str, *, overwrite: bool, progress: Progress
) -> int:
    """Writes all rows into a new table of Iceberg, named `[CATALOG:]NAMESPACE.TABLE`; how many.

    Catalogs are those of pyiceberg's own configuration. With `overwrite` the rows take the place of
    all that are there, in the columns that are there.

    Raises ExportError if the table is there, or cannot be written; MissingLibraryError without
    pyiceberg.
    """
    catalogs = needed("pyiceberg.catalog", extra="iceberg", what="A table of Iceberg")
    catalog_name, colon, name = target.rpartition(":")
    rows = _Rows(reader, progress)
    with rows.written(target, "iceberg"):
        catalog: Any = catalogs.load_catalog(catalog_name if colon else None)
        there = catalog.table_exists(name)
        if there and not overwrite:
            raise _there(target)
        if not there:
            catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            with catalog.create_table_transaction(name, rows.schema) as made:
                for table in rows.tables():
                    made.append(table)
            return rows.done
        with catalog.load_table(name).transaction() as made:
            for number, table in enumerate(rows.tables()):
                if number == 0:
                    made.overwrite(table)
                else:
                    made.append(table)
    return rows.done


def _there(target: str) -> ExportError:
    return ExportError(f"{target} is there already: choose another name, or add --overwrite.")


def _in_micros(kind: pa.DataType) -> pa.DataType:
    """The type with times of microseconds, which are those of tables."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_map(kind):
        return pa.map_(_in_micros(kind.key_type), _in_micros(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_in_micros(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_micros(field.type)) for field in kind])
    return kind
