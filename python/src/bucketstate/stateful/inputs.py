"""The rows of a group in the shape that a function asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.types import IntegralType

from bucketstate.stateful.chunks import arrow_types, frame, plain_values
from bucketstate.stateful.errors import DefinitionError, MismatchError, WrongTypeError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from pyspark.sql.types import StructType

    from bucketstate.stateful.chunks import Columns
    from bucketstate.stateful.definition import Definition
    from bucketstate.stateful.structs import StructCodec


class Inputs:
    """Of one function, for rows of one schema: picklable, without side effects."""

    def __init__(self, definition: Definition, schema: StructType, zone: tzinfo) -> None:
        self._shape_name = definition.shape
        self._chunked = definition.chunked
        self._record = definition.record_codec(zone)
        self._names = list(schema.names)
        self._zone = zone
        self._arrow = arrow_types(schema)
        self._plain = plain_values(schema, zone)
        self._whole = {f.name for f in schema.fields if isinstance(f.dataType, IntegralType)}

    def check(self) -> None:
        """DefinitionError for a record with a field that the rows have no column for."""
        if self._record is not None:
            _check_columns(self._record, self._names)

    def shaped(self, chunks: Iterator[Columns]) -> Any:
        shaped = map(self._shape(), chunks)
        if self._chunked:
            return shaped
        parts = list(shaped)
        return parts[0] if len(parts) == 1 else self._joined(parts)

    def empty(self) -> Any:
        """The rows of a call that has none."""
        if self._chunked:
            return iter(())
        return pd.DataFrame(columns=self._names) if self._shape_name == "frame" else []

    def record(self, columns: Columns, record: StructCodec | None) -> Any:
        """One row, as an instance of a dataclass or as a dict."""
        return (self._dicts(columns) if record is None else records(columns, record))[0]

    def _shape(self) -> Any:
        if self._shape_name == "frame":
            return self._frame
        return self._dicts if self._record is None else self._records

    def _joined(self, parts: list[Any]) -> Any:
        if self._shape_name == "frame":
            return pd.concat(parts, ignore_index=True)
        return [row for part in parts for row in part]

    def _frame(self, columns: Columns) -> pd.DataFrame:
        return frame(columns, self._arrow, self._zone)

    def _records(self, columns: Columns) -> list[Any]:
        assert self._record is not None
        return records(columns, self._record)

    def _dicts(self, columns: Columns) -> list[dict[str, Any]]:
        values = [self._values(name, column) for name, column in columns.items()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]

    def _values(self, name: str, column: Any) -> list[Any]:
        if isinstance(column, list):
            return [*map(self._plain[name], column)]
        values: list[Any] = column.tolist()
        if name in self._whole and column.dtype.kind == "f":
            # pandas holds whole numbers as floats where a column has nulls.
            return [None if v != v else int(v) for v in values]
        return [None if v is pd.NaT else v for v in values] if column.dtype.kind in "mM" else values


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


def records(columns: Columns, record: StructCodec) -> list[Any]:
    """The rows as instances of a dataclass: the fields it has, of the columns there are."""
    values = []
    for field in record.fields:
        column: Any = columns.get(field.name)
        try:
            if column is None:
                _check_columns(record, columns)
                continue
            cells = (
                [*map(field.codec.cell, column)]
                if isinstance(column, list)
                else field.codec.cells(column)
            )
            values.append((field.name, cells))
        except MismatchError as e:
            raise WrongTypeError(
                f"A row has {e.found_text} for {record.cls.__name__}.{field.name}, expected "
                f"{e.expected}. Change the field's type or the column."
            ) from None
    names = [n for n, _ in values]
    make = record.cls
    if names == list(record.names):
        return [make(*row) for row in zip(*(v for _, v in values), strict=True)]
    return [
        make(**dict(zip(names, row, strict=True)))
        for row in zip(*(v for _, v in values), strict=True)
    ]
