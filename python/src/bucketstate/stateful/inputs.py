"""The rows of a group in the shape that a function asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from bucketstate.stateful.chunks import arrow_types, frame, plain_values
from bucketstate.stateful.errors import MismatchError, WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from pyspark.sql.types import StructType

    from bucketstate.stateful.chunks import Columns
    from bucketstate.stateful.containers import StructCodec
    from bucketstate.stateful.definition import Definition


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
        values = [
            [*map(self._plain[n], c)] if isinstance(c, list) else c.tolist()
            for n, c in columns.items()
        ]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def records(columns: Columns, record: StructCodec) -> list[Any]:
    """The rows as instances of a dataclass: the fields it has, of the columns there are."""
    values = []
    for field in record.fields:
        column: Any = columns.get(field.name)
        try:
            if column is None:
                if not field.required:
                    continue
                raise MismatchError(field.codec.expected, list(columns), "")
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
