"""A test's batch that comes as Arrow: a table, a frame of polars, whatever knows its interface."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type

from bucketstate.optional import pandas as pd
from bucketstate.stateful.errors import WrongTypeError
from bucketstate.testing.rows import INSTANT

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32()}
_INTERFACE = ("__arrow_c_stream__", "__arrow_c_array__")


def table_of(given: Any) -> pa.Table | None:
    """The batch as a table of types that Spark has; None for what is not of Arrow.

    A frame of pandas is none, though it knows Arrow's interface: its NaN may be nulls.

    Raises WrongTypeError for a column that Spark has no type for, or with a value that would become
    another one.
    """
    if not any(hasattr(given, name) for name in _INTERFACE) or isinstance(given, pd.DataFrame):
        return None
    try:
        table = pa.table(given)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    columns = [_cast(field, table.column(n)) for n, field in enumerate(table.schema)]
    return pa.table(columns, names=table.column_names)


def types_of(table: pa.Table) -> dict[str, pa.DataType]:
    """The types of the columns, in which all times are points in time."""
    return {field.name: _spark_type(field.type, instants=True) for field in table.schema}


def _cast(field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    wanted = _spark_type(field.type, instants=False)
    try:
        from_arrow_type(wanted)
        return _converted(column, wanted)
    except PySparkException:
        raise WrongTypeError(
            f"The column {field.name!r} of the batch is {field.type}, for which Spark has no type: "
            "cast it, or leave it out."
        ) from None
    except pa.ArrowException as e:
        raise WrongTypeError(
            f"The column {field.name!r} of the batch is {field.type}, and Spark would have it as "
            f"{wanted}: {e}. Cast it."
        ) from None


def _converted(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    try:
        return column.cast(wanted)
    except pa.ArrowNotImplementedError:
        # Such as texts in the form of polars, by their numbers in a dictionary.
        return pa.chunked_array([pa.array(column.to_pylist(), wanted)])


def _spark_type(kind: pa.DataType, *, instants: bool) -> pa.DataType:
    """The type of these values that Spark has, if there is one."""

    def inner(of: pa.DataType) -> pa.DataType:
        return _spark_type(of, instants=instants)

    types = pa.types
    if types.is_dictionary(kind):
        return inner(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if (
        types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    ):
        return pa.binary()
    if types.is_unsigned_integer(kind):
        return _SIGNED.get(kind, pa.int64())
    if types.is_float16(kind):
        return pa.float32()
    if types.is_timestamp(kind):
        return INSTANT if instants else pa.timestamp("us", kind.tz)
    if types.is_duration(kind):
        return pa.duration("us")
    if types.is_date64(kind):
        return pa.date32()
    if types.is_map(kind):
        return pa.map_(inner(kind.key_type), inner(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, inner(field.type)) for field in kind])
    lists = types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view
    if any(is_list(kind) for is_list in lists):
        return pa.list_(inner(kind.value_type))
    return kind
