"""The rows of a group as Spark hands them over, as chunks of columns.

`applyInPandasWithState` gives pandas columns, one chunk per Arrow batch that the group lies in, and
its form for many keys gives Arrow; `transformWithState` gives rows of Python values, which become
lists.
"""

from __future__ import annotations

import sys
from inspect import signature
from itertools import islice
from types import GeneratorType
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from bucketstate.optional import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql.types import StructType

    Columns = Mapping[str, pd.Series[Any] | list[Any] | pa.Array]

ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
"""The setting that says how many rows a chunk has at most."""

# Spark 4.0 and 4.1 take UTC without being told, and do not know how to be.
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


def columns_of_rows(rows: Iterable[Any], names: list[str], size: int) -> Iterator[Columns]:
    """The rows of a group, `size` at a time, as lists of Python values by column."""
    left = iter(rows)
    while chunk := list(islice(left, size)):
        # Spark puts the columns of the key first.
        places = {name: n for n, name in enumerate(chunk[0].__fields__)}
        yield {name: [row[places[name]] for row in chunk] for name in names}


def chunk_size(most: int) -> int:
    """How many rows a chunk has at most, as `ROWS_PER_BATCH` says it."""
    return most if most > 0 else sys.maxsize


def pandas_column(values: pa.Array | pa.ChunkedArray) -> pd.Series[Any]:
    """The column as Spark's worker makes it: nulls are NaN, nested ones None; maps are dicts."""
    column: pd.Series[Any] = values.to_pandas(
        date_as_object=True, integer_object_nulls=pa.types.is_nested(values.type)
    )
    if pa.types.is_duration(values.type):
        column = column.astype("timedelta64[ns]")
    elif pa.types.is_map(values.type):
        column = column.map(lambda v: v if v is None else dict(v))
    return column


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema that Spark's workers get: timestamps are of UTC."""
    return to_arrow_schema(schema, **_IN_UTC)


def arrow_types(schema: StructType) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in arrow_schema(schema)}


def _before_concat(chunks: Iterable[pd.DataFrame]) -> Iterator[list[pd.Series[Any]]] | None:
    if not isinstance(chunks, GeneratorType) or chunks.gi_frame is None:
        return None
    code = chunks.gi_code
    if code.co_names != ("concat",) or not code.co_filename.endswith("worker.py"):
        return None
    return cast("Iterator[list[pd.Series[Any]]] | None", chunks.gi_frame.f_locals.get(".0"))
