"""The rows of a group in the shape that a function asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import IntegralType

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.fitting import fits
from bucketstate.stateful.errors import (
    DefinitionError,
    MismatchError,
    StatefulError,
    WrongTypeError,
    did_you_mean,
)
from bucketstate.stateful.run.frames import Frames
from bucketstate.stateful.run.plain import Plain, needs_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from pyspark.sql.types import StructType

    from bucketstate.stateful.codec.codecs import Codec
    from bucketstate.stateful.codec.structs import StructCodec
    from bucketstate.stateful.run.chunks import Columns
    from bucketstate.stateful.run.definition import Definition


class Inputs:
    """Makes a function's input of rows of one schema: picklable, without side effects.

    Args:
        definition: the function.
        schema: of the rows as the function gets them.
        zone: the session's.
        extension: as of `Frames`.
    """

    def __init__(
        self, definition: Definition, schema: StructType, zone: tzinfo, *, extension: bool
    ) -> None:
        self._shape_name = definition.shape
        self._chunked = definition.chunked
        self._record = definition.record_codec(zone)
        self._names = list(schema.names)
        self._types = {f.name: f.dataType for f in schema.fields}
        self._frames = Frames(schema, zone, extension=extension)
        self._plain = {
            f.name: Plain(f.dataType, zone) for f in schema.fields if needs_plain(f.dataType)
        }
        self._whole = {f.name for f in schema.fields if isinstance(f.dataType, IntegralType)}

    def check(self) -> None:
        """DefinitionError for a record with a field that no column, or none of its type, is for."""
        if self._record is None:
            return
        _check_columns(self._record, self._names)
        for field in self._record.fields:
            found = self._types.get(field.name)
            if found is not None and not fits(field.codec.spark, found):
                raise DefinitionError(
                    f"{self._record.cls.__name__}.{field.name} takes {field.codec.expected}, and "
                    f"that column of the rows is {found.simpleString()}: change the field's type, "
                    "or cast the column."
                )

    def shaped(self, chunks: Iterator[Columns]) -> Any:
        shaped = map(self._shape(), chunks)
        if self._chunked:
            return shaped
        parts = list(shaped)
        return parts[0] if len(parts) == 1 else self._joined(parts)

    def of_many(
        self, columns: Mapping[str, pa.Array], offsets: Sequence[int]
    ) -> Callable[[int], Any]:
        """What has the rows of the n-th of many keys, `offsets[n]` to `offsets[n + 1]` of Arrow.

        They are made at once where that makes the same of them. It raises for those that do not
        fit, like `shaped`.
        """
        shape, chunked = self._shape(), self._chunked

        def alone(n: int) -> Any:
            first, end = offsets[n], offsets[n + 1]
            return shape({name: c.slice(first, end - first) for name, c in columns.items()})

        rows = alone
        if self._shape_name != "frame":
            try:
                whole = shape(columns)
                rows = lambda n: whole[offsets[n] : offsets[n + 1]]  # noqa: E731
            except StatefulError:
                # One key is at fault, and each call for those before it is to be made.
                pass
        elif not any(map(_changes_by_nulls, columns.values())):
            frame = shape(columns).copy()
            rows = lambda n: _part(frame, offsets[n], offsets[n + 1])  # noqa: E731
        return (lambda n: iter([rows(n)])) if chunked else rows

    def empty(self) -> Any:
        """The rows of a call that has none."""
        if self._chunked:
            return iter(())
        return pd.DataFrame(columns=self._names) if self._shape_name == "frame" else []

    def record(self, columns: Columns, record: StructCodec | None) -> Any:
        """One row, as an instance of a dataclass or as a dict."""
        return (self._dicts(columns) if record is None else self._records(columns, record))[0]

    def _shape(self) -> Any:
        if self._shape_name == "frame":
            return self._frames.made
        record = self._record
        return self._dicts if record is None else lambda columns: self._records(columns, record)

    def _joined(self, parts: list[Any]) -> Any:
        if self._shape_name == "frame":
            return pd.concat(parts, ignore_index=True)
        return [row for part in parts for row in part]

    def _dicts(self, columns: Columns) -> list[dict[str, Any]]:
        values = [self._values(name, column) for name, column in columns.items()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]

    def _values(self, name: str, column: Any) -> list[Any]:
        """A column's values as Python has them, None for null."""
        exact = isinstance(column, list | pa.Array)
        values: list[Any] = column if isinstance(column, list) else column.tolist()
        plain = self._plain.get(name)
        if plain is not None:
            return plain.column(name, values)
        if exact or name not in self._whole or _whole(column):
            return values
        # pandas holds whole numbers of fewer bits as floats where a column has nulls, or has NA.
        return [None if v is pd.NA or v != v else int(v) for v in values]

    def _records(self, columns: Columns, record: StructCodec) -> list[Any]:
        """The rows as instances of a dataclass: the fields it has, of the columns there are."""
        values = []
        for field in record.fields:
            column: Any = columns.get(field.name)
            if column is None:
                _check_columns(record, columns)
                continue
            try:
                cells = self._cells(field.name, column, field.codec)
            except MismatchError as e:
                raise WrongTypeError(
                    f"A row has {e.found_text} for {record.cls.__name__}.{field.name}, expected "
                    f"{e.expected}. Change the field's type or the column."
                ) from None
            values.append((field.name, cells))
        names = [n for n, _ in values]
        rows = zip(*(v for _, v in values), strict=True)
        try:
            if record.positional and names == list(record.names):
                return [record.make(*row) for row in rows]
            return [record.make(**dict(zip(names, row, strict=True))) for row in rows]
        except MismatchError as e:
            raise WrongTypeError(
                f"A row has {e.found_text}, expected {e.expected}. Change the class or the rows."
            ) from e.cause

    def _cells(self, name: str, column: Any, codec: Codec) -> list[Any]:
        if isinstance(column, pa.Array) and name not in self._plain and codec.takes(column):
            made: list[Any] = column.tolist()
            return made
        if name in self._plain or name in self._whole or isinstance(column, list | pa.Array):
            values = self._values(name, column)
            if "i" in codec.kinds and None not in values and name in self._whole:
                return values
            return [*map(codec.cell, values)]
        return codec.cells(column)


def _changes_by_nulls(column: pa.Array) -> bool:
    """Whether pandas has the other values of a column in another way where there is a null."""
    kind = column.type
    return bool(column.null_count) and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _part(frame: pd.DataFrame, first: int, end: int) -> pd.DataFrame:
    made = frame.iloc[first:end]
    made.index = pd.RangeIndex(end - first)
    # Nobody else has these rows: pandas need not warn of changing them.
    made._is_copy = None  # type: ignore[attr-defined]
    return made


def _whole(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind == "i"


def _check_columns(record: StructCodec, columns: Iterable[str]) -> None:
    names = list(columns)
    for field in record.fields:
        if field.required and field.name not in names:
            raise DefinitionError(
                f"{record.cls.__name__}.{field.name} has no column in the rows, which have "
                f"{', '.join(names)}. "
                + did_you_mean(field.name, names)
                + "Rename the field or the column, or give the field a default."
            )
