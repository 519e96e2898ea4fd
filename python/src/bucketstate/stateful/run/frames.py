"""The rows of a group as a DataFrame: of what travels, see `wire`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import EXACT
from bucketstate.stateful.errors import MismatchError, WrongTypeError
from bucketstate.stateful.run.chunks import arrow_types, pandas_column
from bucketstate.stateful.run.plain import Plain
from bucketstate.stateful.run.wire import holds_times

if TYPE_CHECKING:
    from datetime import tzinfo

    from bucketstate.stateful.run.chunks import Columns

EXTENSION = "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype"
"""The setting by which Spark gives whole numbers with nulls as such."""

_NAT = np.iinfo(np.int64).min
_EXTENSIONS: dict[type[DataType], str] = {
    ByteType: "Int8",
    ShortType: "Int16",
    IntegerType: "Int32",
    LongType: "Int64",
}


class Frames:
    """Makes frames of rows of one schema: picklable, without side effects.

    Args:
        schema: of the rows as the function gets them.
        zone: the session's.
        extension: whether the session has `EXTENSION`.
    """

    def __init__(self, schema: StructType, zone: tzinfo, *, extension: bool) -> None:
        self._types = {f.name: f.dataType for f in schema.fields}
        self._arrow = arrow_types(schema)
        self._zone = zone
        self._extension = extension
        self._nested = {
            f.name: Plain(f.dataType, zone) for f in schema.fields if holds_times(f.dataType)
        }

    def made(self, columns: Columns) -> pd.DataFrame:
        """Raises WrongTypeError, with the column's name, for what pandas cannot hold as it is."""
        return pd.DataFrame({n: self._column(n, c) for n, c in columns.items()}, copy=False)

    def _column(self, name: str, column: Any) -> pd.Series[Any]:
        spark = self._types[name]
        if isinstance(column, pa.Array):
            # As it comes where Spark makes columns of it: see `wire`.
            if self._extension and type(spark) in _EXTENSIONS:
                # So Spark makes all whole numbers then, also where no null is among them.
                kind = pd.api.types.pandas_dtype(_EXTENSIONS[type(spark)])
                return cast("pd.Series[Any]", column.to_pandas(types_mapper=lambda _: kind))
            masked = column.null_count and isinstance(spark, LongType)
            nested = name in self._nested or isinstance(spark, TimestampType | TimestampNTZType)
            column = column.to_pylist() if masked or nested else pandas_column(column)
        if isinstance(spark, TimestampType):
            made: pd.Series[Any] = _times(column).dt.tz_localize("UTC").dt.tz_convert(self._zone)
            return made
        if isinstance(spark, TimestampNTZType):
            return _times(column)
        if name in self._nested:
            try:
                return pd.Series([*map(self._nested[name], column)], dtype=object)
            except MismatchError as e:
                raise _unfit(name, f"has {e.found_text}, expected {e.expected}") from None
        if not isinstance(column, list):
            return cast("pd.Series[Any]", column)
        if self._extension and type(spark) in _EXTENSIONS:
            return pd.Series(column, dtype=_EXTENSIONS[type(spark)])
        if isinstance(spark, LongType) and None in column:
            for value in column:
                if value is not None and abs(value) > EXACT:
                    raise _unfit(
                        name,
                        f"has the whole number {value} beside nulls, and pandas would make another "
                        f"one of it, as a float (or set {EXTENSION}=true, from Spark 4.2 on)",
                    )
        try:
            return pandas_column(pa.array(column, self._arrow[name]))
        except (pa.ArrowException, ValueError, OverflowError) as e:
            raise _unfit(name, f"does not fit into pandas: {e}") from None


def _unfit(name: str, why: str) -> WrongTypeError:
    return WrongTypeError(
        f"The column {name} of the rows {why}. Take the rows as list[dict], or as a list of a "
        "dataclass."
    )


def _times(column: Any) -> pd.Series[Any]:
    """Microseconds as pandas holds them, which is enough for the years of Spark."""
    if isinstance(column, list):
        made = np.array([_NAT if v is None else v for v in column], np.int64)
    elif column.dtype.kind == "i" and not column.hasnans:
        made = column.to_numpy(np.int64)
    else:
        # A key without a value.
        made = np.full(len(column), _NAT, np.int64)
    return pd.Series(made.view("M8[us]"))
