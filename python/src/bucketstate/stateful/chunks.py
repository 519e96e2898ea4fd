"""The rows of a group as Spark hands them over, as chunks of columns.

`applyInPandasWithState` gives pandas columns, one chunk per Arrow batch that the group lies in;
`transformWithState` gives rows of Python values, which become lists.
"""

from __future__ import annotations

from inspect import signature
from itertools import islice
from types import GeneratorType
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime, tzinfo

    Columns = Mapping[str, pd.Series[Any] | list[Any]]

_ROWS_PER_CHUNK = 10_000
# Spark 4.1 takes UTC without being told, and does not know how to be.
_IN_UTC: Any = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def columns_of(chunks: Iterable[pd.DataFrame]) -> Iterator[Columns]:
    """Each chunk as its columns by name.

    Spark's worker hands over a generator that joins columns it already has with `pd.concat`, which
    is a sixth of the whole cost of a small group. Where the generator is that one, the columns are
    taken from before the join; from any other iterable, the frames are taken apart.
    """
    columns = _before_concat(chunks)
    if columns is not None:
        return ({str(s.name): s for s in chunk} for chunk in columns)
    return ({str(n): chunk[n] for n in chunk.columns} for chunk in chunks)


def columns_of_rows(
    rows: Iterable[Any], names: list[str], size: int = _ROWS_PER_CHUNK
) -> Iterator[Columns]:
    """The rows of a group, `size` at a time, as lists of Python values by column."""
    left = iter(rows)
    while chunk := list(islice(left, size)):
        # Spark puts the columns of the key first.
        places = {name: n for n, name in enumerate(chunk[0].__fields__)}
        yield {name: [row[places[name]] for row in chunk] for name in names}


def frame(columns: Columns, types: Mapping[str, pa.DataType], zone: tzinfo) -> pd.DataFrame:
    """A DataFrame whose columns are as `applyInPandasWithState` makes them."""
    made = {
        name: pandas_column(pa.array(values, types[name]), zone)
        if isinstance(values, list)
        else values
        for name, values in columns.items()
    }
    return pd.DataFrame(made, copy=False)


def pandas_column(values: pa.Array | pa.ChunkedArray, zone: tzinfo) -> pd.Series[Any]:
    """As Spark's worker makes it: nanoseconds without a zone, nulls as NaN, maps as dicts."""
    column: pd.Series[Any] = values.to_pandas(date_as_object=True)
    if pa.types.is_timestamp(values.type):
        if values.type.tz is not None:
            column = column.dt.tz_convert(zone).dt.tz_localize(None)
        column = column.astype("datetime64[ns]")
    elif pa.types.is_duration(values.type):
        column = column.astype("timedelta64[ns]")
    elif pa.types.is_map(values.type):
        column = column.map(lambda v: v if v is None else dict(v))
    return column


def arrow_schema(schema: StructType) -> pa.Schema:
    """As Spark's workers get it: timestamps are of UTC."""
    return to_arrow_schema(schema, **_IN_UTC)


def arrow_types(schema: StructType) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in arrow_schema(schema)}


def plain_values(schema: StructType, zone: tzinfo) -> dict[str, Callable[[Any], Any]]:
    """By column, what makes of an Arrow value what a row in a dict holds.

    That is naive datetimes in the session's time zone, and maps as dicts.
    """
    return {f.name: _Plain(f.dataType, zone) for f in schema.fields}


class _Plain:
    def __init__(self, spark: DataType, zone: tzinfo) -> None:
        self._spark = spark
        self._zone = zone

    def __call__(self, value: Any) -> Any:
        return self._plain(value, self._spark)

    def _plain(self, value: Any, spark: DataType) -> Any:
        if value is None:
            return None
        match spark:
            case TimestampType():
                at: datetime = value
                return at.astimezone(self._zone).replace(tzinfo=None)
            case ArrayType():
                return [self._plain(v, spark.elementType) for v in value]
            case MapType():
                return {
                    self._plain(k, spark.keyType): self._plain(v, spark.valueType) for k, v in value
                }
            case StructType():
                return {f.name: self._plain(value[f.name], f.dataType) for f in spark.fields}
        return value


def _before_concat(chunks: Iterable[pd.DataFrame]) -> Iterator[list[pd.Series[Any]]] | None:
    if not isinstance(chunks, GeneratorType) or chunks.gi_frame is None:
        return None
    code = chunks.gi_code
    if code.co_names != ("concat",) or not code.co_filename.endswith("worker.py"):
        return None
    return cast("Iterator[list[pd.Series[Any]]] | None", chunks.gi_frame.f_locals.get(".0"))
