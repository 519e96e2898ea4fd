"""A scan as a dataset of pyarrow: whoever queries it says which columns and rows are needed.

DuckDB asks a dataset for the columns of its query, with the filter as an expression, which says
what it is as text alone. Of that, what a scan can use goes down to it; the expression is applied to
all rows that come, so that nothing depends on how much of it was understood.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from bucketstate.checkpoint.filtering import Filter, Shown
from bucketstate.checkpoint.spark.python_values import held_by_python
from bucketstate.errors import NoSuchStateError

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda column, value: column == value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}
_AND = " and "


class Scanned(Protocol):
    """A `Scan`, of which this module is a part: it cannot name it."""

    @property
    def schema(self) -> pa.Schema: ...

    def update(self, **overrides: Any) -> Self: ...

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader: ...


class ScanDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """A scan without columns and filters of its own. Not thread-safe, since the scan is not.

    Args:
        scan: the scan.
        partition: the one that it is of, if it is of one.

    Attributes:
        failure: what reading raised, since who queries the dataset may tell it in other words.
    """

    def __init__(self, scan: Scanned, partition: int | None = None) -> None:
        # That of pyarrow is for datasets of its own.
        self._scan = scan
        self._partition = partition
        self.failure: Exception | None = None

    @cached_property
    def _columns(self) -> pa.Schema:
        with self._told():
            return self._scan.schema

    @property
    def schema(self) -> pa.Schema:
        return self._columns

    def scanner(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002
        **_: Any,
    ) -> pyarrow.dataset.Scanner:
        """What a query wants of the rows, in the form in which pyarrow has it of its datasets."""
        names = self.schema.names if columns is None else list(columns)
        with self._told():
            reader = self._narrowed(names, filter).to_arrow_batch_reader()
        rows = self._watched(reader)
        return pyarrow.dataset.Scanner.from_batches(
            rows, schema=reader.schema, columns=columns or names, filter=filter
        )

    def _narrowed(self, names: Sequence[str], filter: pc.Expression | None) -> Scanned:  # noqa: A002
        """The scan with what of this it can do by itself."""
        text = "" if filter is None else str(filter)
        # A name may be part of another one: then a column more is read.
        used = [name for name in self.schema.names if name in names or name in text]
        key = self.schema.field("key").type
        filters: list[Filter] = []
        scan = self._scan.update(columns=used)
        for part in _parts(text):
            if found := _filter_of(part, key):
                filters.append(found)
            elif self._partition is None and part.startswith("(partition_id == "):
                scan = _of_partition(scan, part)
        return scan.update(filters=filters)

    def _watched(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with self._told():
            for batch in reader:
                columns = [_in_utf8(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failure = error
            raise


def _in_utf8(array: pa.Array) -> pa.Array:
    """The values with texts that DuckDB takes: what is not UTF-8 as in `python_values`."""
    kind = array.type
    if pa.types.is_string(kind):
        if not held_by_python(array):
            raw = array.cast(pa.binary()).to_pylist()
            texts = [r if r is None else r.decode("utf-8", "backslashreplace") for r in raw]
            return pa.array(texts, kind)
    elif pa.types.is_struct(kind):
        fields = [_in_utf8(array.field(n)) for n in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=array.is_null())
    elif pa.types.is_map(kind):
        keys, items = _in_utf8(array.keys), _in_utf8(array.items)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, kind)
    elif pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_offsets(array), _in_utf8(array.values), kind)
    return array


def _offsets(array: pa.Array) -> pa.Array:
    """Where lists begin and the last one ends; null for one that is."""
    there = [*array.is_valid().to_pylist(), True]
    pairs = zip(array.offsets.to_pylist(), there, strict=True)
    return pa.array([at if valid else None for at, valid in pairs], pa.int32())


def _of_partition(scan: Scanned, part: str) -> Scanned:
    """The scan of a partition alone; of all of them, if there is no such one."""
    number = part.removeprefix("(partition_id == ").removesuffix(")")
    if not number.isdecimal():
        return scan
    one = scan.update(partition=int(number))
    try:
        _ = one.schema
    except NoSuchStateError:
        return scan
    return one


def _filter_of(part: str, key: pa.DataType) -> Filter | None:
    """A comparison of a field of the key as a scan has it; None for whatever else there is."""
    for field in key if pa.types.is_struct(key) else ():
        if not pa.types.is_integer(field.type) and not pa.types.is_string(field.type):
            continue
        column = pc.field("key", field.name)
        for name, compared in _OPERATORS.items():
            start = str(compared(column, pa.scalar(None, field.type)))
            start = start.removesuffix(f"null[{field.type}])")
            if not part.startswith(start):
                continue
            try:
                value = json.loads(part.removeprefix(start).removesuffix(")"))
                same = str(compared(column, pa.scalar(value, field.type))) == part
            except (ValueError, pa.ArrowException, TypeError):
                continue
            # What stands for bytes that are no text is one only when it has been read.
            if same and "\\x" not in str(value):
                is_shown = isinstance(value, str) and name.startswith("<")
                return f"key.{field.name}", name, Shown(value) if is_shown else value
    return None


def _parts(text: str) -> Iterator[str]:
    """The expressions of which all have to hold, of one as pyarrow writes it."""
    inner = text[1:-1]
    depth, quoted, at = 0, False, 0
    while text.startswith("(") and at < len(inner):
        letter = inner[at]
        if quoted:
            quoted = letter != '"'
            at += letter == "\\"
        elif letter == '"':
            quoted = True
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif depth == 0 and inner.startswith(_AND, at):
            yield from _parts(inner[:at])
            yield from _parts(inner[at + len(_AND) :])
            return
        at += 1
    if text:
        yield text
