"""State into a file, batch by batch."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from bucketstate.checkpoint.format.writing import replaceable, whole_file
from bucketstate.checkpoint.spark.python_values import (
    flattened,
    held_by_python,
    python_values,
    with_dicts,
)
from bucketstate.cli.terminal.output import while_read
from bucketstate.cli.terminal.rows import as_json, records
from bucketstate.cli.terminal.usage import FORMATS
from bucketstate.errors import BucketstateError

_TEXT = ("csv", "jsonl")
_URI = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""How a URI begins, in which a path has one slash where there were two."""


class ExportError(BucketstateError):
    """What is read cannot be written to a file as asked.

    Raised on the command line alone (exit code 1): the file is there already, its ending says no
    format, it cannot be written, its format has no place for a type, or a terminal would get what
    is no text.

    What to do: name another file or add `--overwrite`, name another format with `--format`, or send
    the output into a file.
    """


def standard_output() -> BinaryIO:
    """Where bytes go that are for no file. Raises ExportError where the shell closed it."""
    if sys.stdout is None:
        raise ExportError("Standard output is closed: name a file.")
    sys.stdout.flush()
    return sys.stdout.buffer


def format_of(target: Path, given: str | None) -> str:
    """The format of a file: the one that is given, or what its ending says.

    Raises ExportError for an ending that says nothing.
    """
    found = given or target.suffix.removeprefix(".")
    if found not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ExportError(
            f"{target} has the ending '{target.suffix}': it must be one of {known}, or add "
            "--format."
        )
    return found


def exported(
    reader: pa.RecordBatchReader,
    target: Path,
    format: str,  # noqa: A002
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Writes all rows into a file, in one of FORMATS; how many.

    Parquet and Arrow keep the structs; in CSV each of their fields is a column, and what is not
    flat then is JSON text. The file is there when it is whole: it is written under another name
    first. A link is followed; a pipe or a device is written to as it is.

    Raises ExportError if the file is there already or cannot be written, or its format has no place
    for a type.
    """
    check_target(target, overwrite=overwrite)
    with (
        _told(target, format),
        whole_file(target) as path,
        pa.PythonFile(path.open("wb"), "w") as sink,
    ):
        return _written(_WRITERS[format](sink, reader.schema), reader, progress)


def check_target(target: Path, *, overwrite: bool) -> None:
    """ExportError for a file that is there already, and for a place that is no local path."""
    if _URI.match(str(target)):
        raise ExportError(
            f"{target} is no file on a local disk: name one and copy it there, or send the output "
            "('-') to a program that writes there, such as aws s3 cp - s3://bucket/name."
        )
    if replaceable(target) and target.exists() and not overwrite:
        raise ExportError(f"{target} is there already: choose another name, or add --overwrite.")


@contextmanager
def _told(target: object, format: str) -> Iterator[None]:  # noqa: A002
    """What fails in writing as ExportError; what fails in reading as it is."""
    try:
        yield
    except (BucketstateError, BrokenPipeError):
        raise
    except pa.ArrowNotImplementedError as error:
        others = ", ".join(name for name in FORMATS if name != format)
        raise ExportError(
            f"{target} cannot be written as {format}: {error}. Choose another format ({others})."
        ) from error
    except (OSError, pa.ArrowInvalid) as error:
        raise ExportError(f"{target} cannot be written: {error}.") from error


def streamed(reader: pa.RecordBatchReader, output: BinaryIO, format: str) -> int:  # noqa: A002
    """Writes all rows to a stream, in one of FORMATS; how many.

    As `exported`, but that Arrow is its stream format, which is read as it comes. The reader has to
    see whether the program failed: what comes before an error has been written. Where a reader of
    standard output goes, the rows end.

    Raises ExportError for a format that is no text where the stream is a terminal.
    """
    if output.isatty() and format not in _TEXT:
        raise ExportError(
            f"{format} is not for a terminal: send the output into a file or another program, or "
            f"choose one of {', '.join(_TEXT)} with --format."
        )
    make = _streaming if format == "arrow" else _WRITERS[format]
    with _told("standard output", format):
        writer = make(pa.PythonFile(output, "w"), reader.schema)
        return _written(writer, while_read(reader), lambda _: None)


def _written(
    writer: Any, batches: Iterable[pa.RecordBatch], progress: Callable[[int], None]
) -> int:
    done = 0
    with writer as write:
        for batch in batches:
            write(batch)
            done += batch.num_rows
            progress(done)
    return done


class _Arrow(AbstractContextManager[Callable[[pa.RecordBatch], None]]):
    """One of pyarrow's own writers."""

    def __init__(
        self, make: Callable[[pa.NativeFile, pa.Schema], Any], sink: pa.NativeFile, schema: Any
    ) -> None:
        self._writer = make(sink, schema)

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return self._writer.write_batch  # type: ignore[no-any-return]

    def __exit__(self, *_: object) -> None:
        self._writer.close()


class _Lines(AbstractContextManager[Callable[[pa.RecordBatch], None]]):
    """JSON, one row a line."""

    def __init__(self, sink: pa.NativeFile, _schema: pa.Schema) -> None:
        self._sink = sink

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return self._write

    def _write(self, batch: pa.RecordBatch) -> None:
        self._sink.write("".join(as_json(row) + "\n" for row in records(batch)).encode())

    def __exit__(self, *_: object) -> None:
        self._sink.flush()


class _Csv(_Arrow):
    def __init__(self, sink: pa.NativeFile, schema: pa.Schema) -> None:
        flat = _flat(pa.RecordBatch.from_pylist([], schema=schema))
        super().__init__(pa.csv.CSVWriter, sink, flat.schema)

    def __enter__(self) -> Callable[[pa.RecordBatch], None]:
        return lambda batch: self._writer.write_batch(_flat(batch))


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    flat = flattened(pa.Table.from_batches([batch]))
    columns = []
    for column in flat.itercolumns():
        array = column.combine_chunks()
        if pa.types.is_nested(array.type) or pa.types.is_interval(array.type):
            texts = [None if v is None else as_json(v) for v in with_dicts(array)]
            array = pa.array(texts, pa.string())
        elif pa.types.is_binary(array.type):
            texts = [None if v is None else v.hex() for v in array.to_pylist()]
            array = pa.array(texts, pa.string())
        elif pa.types.is_duration(array.type):
            array = array.cast(pa.int64())
        elif pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
            array = _dated(array)
        columns.append(array)
    return pa.RecordBatch.from_arrays(columns, names=flat.column_names)


def _dated(array: pa.Array) -> pa.Array:
    """With years beyond Python's as texts: of those that are further yet Arrow writes others."""
    if held_by_python(array):
        return array
    # In the form in which Arrow writes the others.
    texts = [
        value.replace("T", " ").replace("+00:00", "Z") if isinstance(value, str) else None
        for value in python_values(array)
    ]
    far = pa.array(texts, pa.string())
    near = pc.if_else(far.is_valid(), None, array).cast(pa.string())
    return pc.coalesce(far, near)


def _streaming(sink: pa.NativeFile, schema: pa.Schema) -> Any:
    return _Arrow(pa.ipc.new_stream, sink, schema)


_WRITERS: dict[str, Callable[[pa.NativeFile, pa.Schema], Any]] = {
    "arrow": lambda sink, schema: _Arrow(pa.ipc.new_file, sink, schema),
    "csv": _Csv,
    "jsonl": _Lines,
    "parquet": lambda sink, schema: _Arrow(pa.parquet.ParquetWriter, sink, schema),
}
