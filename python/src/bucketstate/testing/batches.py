"""A test's rows as the groups of pandas columns that Spark hands to a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.classes import is_record_instance
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.errors import DefinitionError, MismatchError, WrongTypeError
from bucketstate.stateful.run.chunks import arrow_schema
from bucketstate.stateful.run.definition import output_codec
from bucketstate.stateful.run.keys import key_field
from bucketstate.testing.rows import (
    INSTANT,
    Column,
    by_name,
    check_columns,
    rows_in,
)
from bucketstate.testing.runs import Group
from bucketstate.testing.tables import table_of, types_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from bucketstate.stateful.codec.structs import StructCodec
    from bucketstate.stateful.ready.recipe import Recipe
    from bucketstate.stateful.run.keys import KeyCodec


class Batches:
    """Reads batches of one schema: the given one, or that of the first batch with rows.

    Args:
        recipe: the ready-made function that they are for, which may add columns.
    """

    def __init__(self, schema: Any, zone: tzinfo, recipe: Recipe | None = None) -> None:
        self._zone = zone
        self._recipe = recipe
        self._codec: StructCodec | None = None
        if schema is not None:
            self._codec = output_codec(schema, zone, "schema of the rows")
        self._columns: dict[str, Column] = {}

    @property
    def known(self) -> bool:
        """Whether the columns are known."""
        return self._codec is not None or bool(self._columns)

    @property
    def schema(self) -> StructType:
        """The columns' types, once they are known: of a column of None alone, void."""
        read = self._read_schema()
        return read if self._recipe is None else self._recipe.columns(read)

    def _read_schema(self) -> StructType:
        if self._codec is not None:
            return self._codec.schema
        return from_arrow_schema(pa.schema([(n, c.type) for n, c in self._columns.items()]))

    def key_schema(self, by: list[str]) -> StructType:
        """The grouping columns, by the names that `by` has for them."""
        schema = self.schema
        found = zip(by, self.key_columns(by), strict=True)
        fields = [StructField(name, schema[n].dataType, schema[n].nullable) for name, n in found]
        if maps := [f.name for f in fields if _holds_map(f.dataType)]:
            raise DefinitionError(
                f"by={maps[0]!r} holds a map, for which the harness has no keys. Group by what "
                "tells the groups apart, such as one of its entries."
            )
        return StructType(fields)

    def key_columns(self, by: list[str]) -> list[str]:
        """What the rows call the grouping columns: Spark finds a column by its name in any case."""
        schema = self.schema
        return [key_field(schema, name).name for name in by]

    def table(self, rows: Any) -> pa.Table | None:
        """The batch as Arrow; None where it has no rows.

        Raises WrongTypeError for rows whose columns are not those of the others, and for a value
        that does not fit its column as it is.
        """
        table = self._read(rows)
        return table if table is None or self._recipe is None else self._recipe.table(table)

    def _read(self, rows: Any) -> pa.Table | None:
        came = table_of(rows)
        given = rows_in(rows if came is None else came)
        if not given:
            return None
        if self._codec is None and not self._columns and is_record_instance(given[0]):
            self._codec = output_codec(type(given[0]), self._zone)
        if self._codec is not None:
            return self._typed(given, self._codec)
        made = [by_name(number, row, self._zone) for number, row in enumerate(given)]
        columns = self._columns or {str(n): Column(str(n), self._zone) for n in made[0]}
        for number, row in enumerate(made):
            check_columns(number, row, columns, frozenset())
        types = {} if came is None else types_of(came)
        if isinstance(rows, pd.DataFrame):
            types = _pandas_types(rows)
        arrays = {
            name: column.array([row[name] for row in made], types.get(name))
            for name, column in columns.items()
        }
        self._columns = columns
        return pa.table(arrays)

    def _typed(self, rows: list[Any], codec: StructCodec) -> pa.Table:
        """By the codec of a schema, in which a column that may be null may be left out."""
        optional = frozenset(f.name for f in codec.fields if f.codec.nullable)
        made = []
        for number, row in enumerate(rows):
            named = row if isinstance(row, codec.cls) else by_name(number, row, self._zone)
            if isinstance(named, dict):
                check_columns(number, named, codec.names, optional)
            try:
                made.append(codec.check(named if named is row else _cells(named, codec)))
            except MismatchError as e:
                raise WrongTypeError(
                    f"Row {number} of the batch, field {e.path}, is {e.found_text}, expected "
                    f"{e.expected}. Change the row, or the harness's schema."
                ) from None
        return pa.Table.from_pylist(made, schema=arrow_schema(codec.schema))

    def groups(
        self, table: pa.Table, key: KeyCodec, rows_per_chunk: int | None, *, by_rows: bool
    ) -> Iterator[Group]:
        """The rows by key, in the order of each one's first row.

        Within a batch Spark brings together what its order of values has as equal: -0.0 and 0.0,
        and every NaN. The group's key is that of its first row. `by_rows`: as its worker does that
        compares the keys of rows once more, to which a NaN is equal to no other.
        """
        by = self.key_columns(list(key.names))
        keys = zip(*(table.column(n).to_pylist() for n in by), strict=True)
        found: dict[Any, tuple[Any, list[int]]] = {}
        for row, cells in enumerate(keys):
            alike = _alike(cells)
            if by_rows and _NAN in _flat(alike):
                # A number alone might be the key of another row, which is a float equal to it.
                alike = (_NAN, row)
            found.setdefault(alike, (cells, []))[1].append(row)
        for cells, rows in found.values():
            size = rows_per_chunk or len(rows)
            chunks = [table.take(rows[at : at + size]) for at in range(0, len(rows), size)]
            yield Group(key.identity(cells), chunks)

    def micros(self, table: pa.Table, column: str) -> list[int | None]:
        """An event-time column in microseconds since the epoch.

        Raises DefinitionError for a column that is not there, or that Spark has no watermark of.
        """
        if column not in table.column_names:
            raise DefinitionError(
                f"event_time={column!r} is not a column of the rows, which have "
                f"{', '.join(table.column_names)}."
            )
        values = table.column(column)
        kind = from_arrow_type(values.type, prefer_timestamp_ntz=True)
        if isinstance(kind, StructType):
            # Spark takes one with an `end`, and for its time the place where it lies in the row.
            raise DefinitionError(
                f"event_time={column!r} is {kind.simpleString()}: Spark reckons no watermark from "
                "a struct. Name the timestamp that it is made of: in the query withWatermark goes "
                "before `window`, too."
            )
        if not isinstance(kind, TimestampType):
            raise DefinitionError(
                f"event_time={column!r} is {kind.simpleString()}: it must be a timestamp, since "
                "Spark has no watermark of another column. Cast it."
            )
        return _micros(values)

    def late_by(self, table: pa.Table, column: str) -> list[int | None]:
        """The times that say whether rows come too late, in microseconds since the epoch.

        Spark goes by the end of a row's window, where the column is one.
        """
        values = table.column(column)
        if pa.types.is_struct(values.type):
            values = pc.struct_field(values, "end")
        return _micros(values)


_NAN = "NaN", object()


def _micros(times: pa.ChunkedArray) -> list[int | None]:
    made: list[int | None] = times.cast(INSTANT).cast(pa.int64()).to_pylist()
    return made


def _holds_map(spark: DataType) -> bool:
    match spark:
        case MapType():
            return True
        case ArrayType():
            return _holds_map(spark.elementType)
        case StructType():
            return any(_holds_map(f.dataType) for f in spark.fields)
    return False


def _alike(cell: Any) -> Any:
    """What is equal for cells that Spark's order has as equal."""
    if isinstance(cell, float) and cell != cell:
        return _NAN
    if isinstance(cell, dict):
        return tuple(map(_alike, cell.values()))
    return tuple(map(_alike, cell)) if isinstance(cell, list | tuple) else cell


def _flat(alike: Any) -> Iterator[Any]:
    yield alike
    if isinstance(alike, tuple) and alike is not _NAN:
        for inner in alike:
            yield from _flat(inner)


def _cells(row: dict[str, Any], codec: StructCodec) -> dict[str, Any]:
    """The row's values without pandas' ways: NaN for null, floats for whole numbers."""
    cells = dict(row)
    for field in codec.fields:
        if field.name not in row:
            continue
        value = row[field.name]
        try:
            field.codec.check(value)
        except MismatchError:
            try:
                cells[field.name] = OptionalCodec(field.codec).cell(value)
            except MismatchError as e:
                raise e.under(field.name) from None
    return cells


def _pandas_types(frame: pd.DataFrame) -> dict[str, pa.DataType]:
    """The types of the columns that are numbers to pandas; of the others the values decide."""
    return {
        str(name): pa.from_numpy_dtype(dtype)
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in "if"
    }
