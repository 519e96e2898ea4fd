"""State into a file, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bucketstate.cli.rows import as_json, records
from bucketstate.errors import BucketstateError


class ExportError(BucketstateError):
    """The file cannot be written as asked."""


def exported(
    reader: pa.RecordBatchReader,
    target: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Writes all rows; how many. What the file is, its ending says.

    Parquet and Arrow keep the structs; in CSV each of their fields is a column, and what is not
    flat then is JSON text. The file is there when it is whole: it is written under another name
    first.
    """
    if target.suffix not in _WRITERS:
        known = ", ".join(sorted(_WRITERS))
        raise ExportError(f"{target} has the ending '{target.suffix}': it must be one of {known}.")
    if target.exists() and not overwrite:
        raise ExportError(f"{target} is there already: choose another name, or add --overwrite.")
    partial = target.with_name(f".{target.name}.partial")
    done = 0
    try:
        with _WRITERS[target.suffix](partial, reader.schema) as write:
            for batch in reader:
                write(batch)
                done += batch.num_rows
                progress(done)
        partial.replace(target)
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error}.") from error
    finally:
        partial.unlink(missing_ok=True)
    return done


class _Arrow(AbstractContextManager[Callable[[pa.RecordBatch], None]]):
    """One of pyarrow's own writers."""

    def __init__(
        self, make: Callable[[str, pa.Schema], Any], path: Path, schema: pa.Schema
    ) -> None:
        self._writer = make(str(path), schema)

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return self._writer.write_batch  # type: ignore[no-any-return]

    def __exit__(self, *_: object) -> None:
        self._writer.close()


class _Lines(AbstractContextManager[Callable[[pa.RecordBatch], None]]):
    """JSON, one row a line."""

    def __init__(self, path: Path, _schema: pa.Schema) -> None:
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return self._write

    def _write(self, batch: pa.RecordBatch) -> None:
        self._file.writelines(as_json(row) + "\n" for row in records(batch))

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _Csv(_Arrow):
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        flat = _flat(pa.RecordBatch.from_pylist([], schema=schema))
        super().__init__(pa.csv.CSVWriter, path, flat.schema)

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return lambda batch: self._writer.write_batch(_flat(batch))


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    names, columns = [], []
    for column in pa.Table.from_batches([batch]).flatten().itercolumns():
        array = column.combine_chunks()
        if pa.types.is_nested(array.type) or pa.types.is_interval(array.type):
            texts = [None if v is None else as_json(v) for v in array.to_pylist()]
            array = pa.array(texts, pa.string())
        elif pa.types.is_binary(array.type):
            texts = [None if v is None else v.hex() for v in array.to_pylist()]
            array = pa.array(texts, pa.string())
        elif pa.types.is_duration(array.type):
            array = array.cast(pa.int64())
        columns.append(array)
    names = pa.Table.from_batches([batch]).flatten().column_names
    return pa.RecordBatch.from_arrays(columns, names=names)


_WRITERS: dict[str, Callable[[Path, pa.Schema], Any]] = {
    ".parquet": lambda path, schema: _Arrow(pa.parquet.ParquetWriter, path, schema),
    ".arrow": lambda path, schema: _Arrow(pa.ipc.new_file, path, schema),
    ".csv": _Csv,
    ".jsonl": _Lines,
}
