"""What a function sees of the values that travel, see `wire`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import whole
from bucketstate.stateful.codec.instants import of_micros, of_wall_micros
from bucketstate.stateful.errors import MismatchError, WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo


def needs_plain(spark: DataType) -> bool:
    """Whether values of this type come as other ones than a function sees."""
    return isinstance(
        spark,
        TimestampType | TimestampNTZType | DayTimeIntervalType | ArrayType | MapType | StructType,
    )


class Plain:
    """Makes Python values of one type's: datetimes with an offset, lists, dicts; null is None.

    MismatchError for a time that has no year in Python, and for what pandas may have changed.
    """

    def __init__(self, spark: DataType, zone: tzinfo) -> None:
        self._spark = spark
        self._zone = zone

    def __call__(self, value: Any) -> Any:
        return self._plain(value, self._spark)

    def column(self, name: str, values: Iterable[Any]) -> list[Any]:
        """All values of a column of the rows; WrongTypeError, with its name, for a mismatch."""
        try:
            return [*map(self, values)]
        except MismatchError as e:
            raise WrongTypeError(
                f"The column {name} of the rows has {e.found_text}, expected {e.expected}. "
                "Cast the column to what holds it, such as a text."
            ) from None

    def _plain(self, value: Any, spark: DataType) -> Any:
        if value is None or value is pd.NA or value is pd.NaT:
            return None
        match spark:
            case TimestampType() | TimestampNTZType():
                return self._time(value, spark)
            case IntegralType() if isinstance(value, float):
                # Spark 4.0 and 4.1 make floats of those in an array with nulls.
                return None if value != value else whole(value)
            case DayTimeIntervalType():
                if isinstance(value, np.timedelta64):
                    value = pd.Timedelta(value)
                return value.to_pytimedelta() if isinstance(value, pd.Timedelta) else value
            case ArrayType():
                values = value.tolist() if _numbers(value) else value
                if isinstance(spark.elementType, FloatType | DoubleType):
                    # To pandas they are one; so they are on every way that rows come.
                    return [math.nan if v is None else v for v in values]
                if isinstance(spark.elementType, IntegralType) and _whole_numbers(value):
                    return values
                return [self._plain(v, spark.elementType) for v in values]
            case MapType():
                pairs = value.items() if isinstance(value, dict) else value
                return {
                    self._plain(k, spark.keyType): self._plain(v, spark.valueType) for k, v in pairs
                }
            case StructType():
                return {f.name: self._plain(value[f.name], f.dataType) for f in spark.fields}
        return value

    def _time(self, value: Any, spark: DataType) -> Any:
        # pandas has NaN for the nulls of a key.
        if value != value:
            return None
        at = int(value)
        try:
            if isinstance(spark, TimestampNTZType):
                return of_wall_micros(at)
            return of_micros(at, self._zone)
        except OverflowError:
            raise MismatchError("a time within the years 1 to 9999", Instant(at)) from None


class Instant(int):
    """Reads in messages as what it is."""

    def __repr__(self) -> str:
        return f"{int(self)} microseconds since 1970"


def _numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "mMO"


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"
