"""The libraries of columns that a function can have, and the way between them and Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.optional import needed
from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import EXACT
from bucketstate.stateful.errors import WrongTypeError
from bucketstate.stateful.run.frames import EXTENSION

if TYPE_CHECKING:
    from bucketstate.stateful.run.frames import Frames

Library = Literal["RecordBatch", "Table", "pandas", "polars"]


class Tables(ABC):
    """One library: picklable, without side effects."""

    name: str
    """What messages call a table of it."""

    @abstractmethod
    def table(self, columns: pa.RecordBatch, what: str) -> Any:
        """Columns of keys or states.

        `what` names them. Raises WrongTypeError for what the library cannot hold as it is.
        """

    @abstractmethod
    def column(self, values: pa.Array) -> Any:
        """One column, with a value for each key."""

    @abstractmethod
    def numbers(self, values: np.ndarray[Any, Any]) -> Any:
        """Whole numbers, one for each row."""

    def rows(self, columns: pa.RecordBatch, _frames: Frames) -> Any:
        """The rows of the call."""
        return self.table(columns, "the rows")


class ArrowBatches(Tables):
    name = "pyarrow.RecordBatch"

    def table(self, columns: pa.RecordBatch, _what: str) -> Any:
        return columns

    def column(self, values: pa.Array) -> Any:
        return values

    def numbers(self, values: np.ndarray[Any, Any]) -> Any:
        return pa.array(values)


class ArrowTables(ArrowBatches):
    name = "pyarrow.Table"

    def table(self, columns: pa.RecordBatch, _what: str) -> Any:
        return pa.Table.from_batches([columns])


class PandasFrames(Tables):
    """Frames of pandas.

    Args:
        extension: as of `Frames`.
    """

    name = "pandas.DataFrame"

    def __init__(self, *, extension: bool) -> None:
        self._extension = extension

    def table(self, columns: pa.RecordBatch, what: str) -> Any:
        if not any(pa.types.is_nested(c.type) or _nulls_in_whole(c) for c in columns.columns):
            return columns.to_pandas(date_as_object=True)
        names = columns.schema.names
        made = {n: self._series(c, n, what) for n, c in zip(names, columns.columns, strict=True)}
        # Copied, as what shares its memory with Arrow cannot be changed in place.
        return pd.DataFrame(made, copy=True)

    def _series(self, column: pa.Array, name: str, what: str) -> Any:
        types = None
        if _nulls_in_whole(column):
            if self._extension:
                types = {pa.int64(): pd.Int64Dtype()}.get
            else:
                _check_exact(column, name, what)
        # Within lists, maps and structs, too, pandas would make floats of whole numbers.
        whole_numbers = pa.types.is_nested(column.type)
        return column.to_pandas(
            date_as_object=True, integer_object_nulls=whole_numbers, types_mapper=types
        )

    def column(self, values: pa.Array) -> Any:
        return values.to_pandas()

    def numbers(self, values: np.ndarray[Any, Any]) -> Any:
        return values

    def rows(self, columns: pa.RecordBatch, frames: Frames) -> Any:
        """The rows as a function with one key in a call has them."""
        return frames.made(dict(zip(columns.schema.names, columns.columns, strict=True))).copy()


class PolarsFrames(Tables):
    name = "polars.DataFrame"

    def table(self, columns: pa.RecordBatch, _what: str) -> Any:
        return _polars().from_arrow(columns)

    def column(self, values: pa.Array) -> Any:
        return _polars().Series(values)

    def numbers(self, values: np.ndarray[Any, Any]) -> Any:
        return _polars().Series("key", values)


def _nulls_in_whole(column: pa.Array) -> bool:
    """Whether to pandas these are floats, which do not have all whole numbers of 64 bits."""
    return bool(column.null_count and pa.types.is_int64(column.type))


def _check_exact(column: pa.Array, name: str, what: str) -> None:
    for value in pc.min_max(column).values():
        # That float itself is not taken back, as it may be another number's.
        if value.is_valid and abs(value.as_py()) >= EXACT:
            raise WrongTypeError(
                f"The column {name} of {what} has the whole number {value} beside nulls, and "
                "pandas would make another one of it, as a float. Take the rows as "
                f"polars.DataFrame, pyarrow.Table or pyarrow.RecordBatch, or set {EXTENSION}=true "
                "(from Spark 4.2 on)."
            )


def tables_of(library: Library, *, extension: bool) -> Tables:
    """Raises MissingLibraryError for polars that is not installed.

    `extension` is as of `Frames`.
    """
    match library:
        case "RecordBatch":
            return ArrowBatches()
        case "Table":
            return ArrowTables()
        case "pandas":
            return PandasFrames(extension=extension)
    _polars()
    return PolarsFrames()


def flags(given: Any, count: int) -> np.ndarray[Any, Any] | None:
    """A bool for each key, False for null; None for what is something else."""
    if given is None:
        return np.ones(count, dtype=bool)
    try:
        array = arrow_of(given)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    if array is None or len(array) != count or not pa.types.is_boolean(array.type):
        return None
    made: np.ndarray[Any, Any] = array.fill_null(False).to_numpy(zero_copy_only=False)
    return made


OTHER_ORDER = (
    "its index does not count from 0. Call reset_index(drop=True) on what is in their order"
)
"""What is said of a column of pandas that `counts_up` does not take."""


def counts_up(given: Any) -> bool:
    """Whether a column is in the order of the keys; of pandas' its index says so."""
    if not isinstance(given, pd.Series):
        return True
    index = given.index
    if isinstance(index, pd.RangeIndex):
        return bool(index.start == 0 and index.step == 1)
    return bool((index == np.arange(len(index))).all())


def arrow_of(given: Any) -> pa.Array | None:
    """One column of any library as Arrow; None for what is no column. Raises as pyarrow does."""
    if isinstance(given, pa.Array):
        return given
    if isinstance(given, pa.ChunkedArray):
        return whole(given)
    if isinstance(given, pd.Series):
        return pa.Array.from_pandas(given)
    if isinstance(given, np.ndarray | list | tuple):
        return pa.array(given)
    if hasattr(given, "__arrow_c_stream__"):
        return whole(pa.chunked_array(given))
    if hasattr(given, "__arrow_c_array__"):
        return pa.array(given)
    return None


def columns_of_table(given: Any) -> dict[str, Any] | None:
    """A table of any library as its columns by name; None for what is none."""
    if isinstance(given, pd.DataFrame):
        return {str(n): given.iloc[:, at] for at, n in enumerate(given.columns)}
    if isinstance(given, dict):
        return {str(n): column for n, column in given.items()}
    if isinstance(given, pa.RecordBatch | pa.Table):
        return dict(zip(given.schema.names, given.columns, strict=True))
    if hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns"):
        table = pa.table(given)
        return dict(zip(table.schema.names, table.columns, strict=True))
    return None


def whole(column: pa.ChunkedArray) -> pa.Array:
    """All chunks as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _polars() -> Any:
    return needed("polars", extra="polars", what="A function with polars.DataFrame")
