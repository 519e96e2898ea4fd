"""How values of columns lie in a state: in types that Arrow reads and writes as documents.

A document whose fields are numbers, texts and flags is read a hundred times faster than one with
times in it, so times are numbers there.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    DataType,
    DateType,
    DayTimeIntervalType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.run.chunks import arrow_schema


def stored_type(spark: DataType) -> DataType:
    """The type in a state: microseconds since 1970 for times, days for dates."""
    if isinstance(spark, TimestampType | TimestampNTZType | DayTimeIntervalType):
        return LongType()
    return IntegerType() if isinstance(spark, DateType) else spark


def arrow_of_type(spark: DataType) -> pa.DataType:
    """The type of Arrow in which a column of this type comes."""
    return arrow_schema(StructType([StructField("_", spark)])).field(0).type


def to_stored(values: pa.Array) -> pa.Array:
    """A column as it lies in a state."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        return values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_duration(kind):
        return values.cast(pa.duration("us")).cast(pa.int64())
    if pa.types.is_date(kind):
        return values.cast(pa.int32())
    if pa.types.is_large_string(kind):
        return values.cast(pa.string())
    return values


def from_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of a state in its own type again."""
    return values if values.type == kind else values.cast(kind)


def stacked(stored: pa.Array, rows: pa.Array) -> pa.Array:
    """What is stored, with what rows have behind it; times within them in the zone of the rows."""
    return pa.concat_arrays([stored.cast(rows.type), rows])
