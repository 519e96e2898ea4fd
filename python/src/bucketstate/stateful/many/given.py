"""Columns that a function gives, checked and made what is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.errors import MismatchError, WrongTypeError
from bucketstate.stateful.many.cells import Cells
from bucketstate.stateful.many.tables import OTHER_ORDER, arrow_of, columns_of_table, counts_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from bucketstate.stateful.codec.structs import Field

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_SAME_KINDS = (
    pa.types.is_signed_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
    lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t),
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_decimal,
    lambda t: any(holds(t) for holds in _LISTS),
    pa.types.is_map,
    pa.types.is_struct,
)


class Given:
    """Takes tables of one type from a function: picklable, without side effects.

    Args:
        what: the table in messages, such as "The output of delays".
        fields: the columns and their types.
        zone: the session's, for times without one.
        as_pandas: whether NaN is null, as it is where Spark's own operator has the rows.
    """

    def __init__(
        self, what: str, fields: Sequence[Field], zone: tzinfo, *, as_pandas: bool
    ) -> None:
        self._what = what
        self._fields = tuple(fields)
        self._zone = zone
        self._as_pandas = as_pandas
        self._cells = [Cells(f.codec.spark) for f in fields]

    def struct(self, given: Any, kind: pa.StructType, count: int | None) -> pa.StructArray:
        """The table's columns, of these types.

        `count` is how many rows it has to have, in the order of the keys; None for any number.
        Raises WrongTypeError.
        """
        columns = columns_of_table(given)
        if columns is None:
            raise self._wrong(
                f"is {MismatchError('', given).found_text}, expected a table: a DataFrame, a "
                "RecordBatch, a Table or a dict of columns"
            )
        names = [f.name for f in self._fields]
        missing = [n for n in names if n not in columns]
        unknown = [n for n in columns if n not in names]
        if missing or unknown:
            raise self._wrong(
                f"has the columns {', '.join(columns)}, expected {', '.join(names)}"
                + (f"; missing: {', '.join(missing)}" if missing else "")
                + (f"; unknown: {', '.join(unknown)}" if unknown else "")
            )
        arrays = [
            self._array(field, cells, columns[field.name], to.type, in_order=count is not None)
            for field, cells, to in zip(self._fields, self._cells, kind, strict=True)
        ]
        lengths = {len(a) for a in arrays} | (set() if count is None else {count})
        if len(lengths) > 1:
            found = ", ".join(f"{n} has {len(a)}" for n, a in zip(names, arrays, strict=True))
            wanted = "" if count is None else f", and the call has {count} keys"
            raise self._wrong(f"has columns of several lengths: {found} values{wanted}")
        return pa.StructArray.from_arrays(arrays, fields=list(kind))

    def _array(
        self, field: Field, cells: Cells, given: Any, kind: pa.DataType, *, in_order: bool
    ) -> pa.Array:
        if isinstance(given, pd.Series):
            if in_order and not counts_up(given):
                raise self._wrong(
                    f"has the column {field.name} with rows in another order than the keys: "
                    f"{OTHER_ORDER}"
                )
            made = self._of_series(field, given, kind)
        elif isinstance(given, np.ndarray) and given.dtype.kind in "ifbM":
            made = pa.array(given)
        elif isinstance(given, list | tuple | np.ndarray):
            made = self._checked(field, cells, list(given), kind)
        else:
            made = arrow_of(given)
        if made is None:
            raise self._wrong(
                f"has {MismatchError('', given).found_text} for {field.name}, expected a column of "
                f"{field.codec.spark.simpleString()}"
            )
        return self._without_nan(self._cast(field, made, kind))

    def _of_series(self, field: Field, series: pd.Series[Any], kind: pa.DataType) -> pa.Array:
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "ifb"
        if plain and series.dtype.kind in field.codec.column_kinds:
            # To pandas a null number is NaN.
            return pa.array(series.to_numpy(), from_pandas=field.codec.nullable)
        if series.dtype.kind == "M" and pa.types.is_timestamp(kind):
            return pa.Array.from_pandas(series)
        return self._checked(field, Cells(field.codec.spark), series.tolist(), kind)

    def _checked(
        self, field: Field, cells: Cells, values: list[Any], kind: pa.DataType
    ) -> pa.Array:
        codec = OptionalCodec(field.codec)
        try:
            return cells.array([codec.check(codec.cell(v)) for v in values], kind)
        except MismatchError as e:
            found = e.under(field.name)
            raise self._wrong(
                f"has {found.found_text} for {found.path}, expected {found.expected}"
            ) from None

    def _cast(self, field: Field, array: pa.Array, kind: pa.DataType) -> pa.Array:
        if array.type == kind:
            return array
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if not _alike(array.type, kind):
            raise self._wrong(
                f"has the column {field.name} of {array.type}, expected "
                f"{field.codec.spark.simpleString()}. Cast it"
            )
        try:
            if pa.types.is_timestamp(kind) and kind.tz is not None and array.type.tz is None:
                array = instants(array, self._zone)
            made = array.cast(kind)
        except pa.ArrowException as e:
            raise self._unfit(field, str(e)) from None
        infinite = _how_many(pc.is_inf, made)
        if infinite and infinite > _how_many(pc.is_inf, array):
            raise self._unfit(field, "a float has 32 bits there")
        return made

    def _without_nan(self, array: pa.Array) -> pa.Array:
        if not self._as_pandas or not _how_many(pc.is_nan, array):
            return array
        if pa.types.is_floating(array.type):
            return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        return pa.array(array.to_pylist(), array.type, from_pandas=True)

    def _unfit(self, field: Field, why: str) -> WrongTypeError:
        return self._wrong(
            f"has a value in the column {field.name} that does not fit into "
            f"{field.codec.spark.simpleString()}: {why}"
        )

    def _wrong(self, why: str) -> WrongTypeError:
        return WrongTypeError(
            f"{self._what} {why}. Give it the columns that are declared, or change the declaration."
        )


def _how_many(are: Callable[[pa.Array], pa.Array], array: pa.Array) -> int:
    """How many floats are so, also within lists, structs and maps."""
    if pa.types.is_floating(array.type):
        return pc.sum(are(array)).as_py() or 0
    if pa.types.is_map(array.type):
        return _how_many(are, array.items)
    if any(holds(array.type) for holds in _LISTS):
        return _how_many(are, array.values)
    if pa.types.is_struct(array.type):
        return sum(_how_many(are, field) for field in array.flatten())
    return 0


def instants(readings: pa.Array, zone: tzinfo) -> pa.Array:
    """Times without a zone as those of the session's."""
    offset = zone.utcoffset(None)
    if offset is None:
        # In the second of two hours that have the same readings, as Spark does it.
        return pc.assume_timezone(
            readings, zone_name(zone), ambiguous="latest", nonexistent="latest"
        )
    # Arrow does not know the seconds of an offset.
    unit = readings.type.unit
    found = pc.subtract_checked(readings, pa.scalar(offset, pa.duration(unit)))
    return found.cast(pa.timestamp(unit, "UTC"))


def zone_name(zone: tzinfo) -> str:
    """A session's time zone as Arrow names it, which knows offsets in whole minutes alone."""
    key = getattr(zone, "key", None)
    if isinstance(key, str):
        return key
    offset = zone.utcoffset(None)
    seconds = 0 if offset is None else round(offset.total_seconds())
    sign = "-" if seconds < 0 else "+"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{sign}{hours:02}:{minutes:02}" if seconds else "UTC"


def _alike(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type can be values of the other without a change of meaning."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_floating(kind) and pa.types.is_integer(found):
        return True
    if pa.types.is_signed_integer(kind) and pa.types.is_integer(found):
        return True
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(kind):
        return kind.tz is not None or found.tz is None
    if not any(same(found) and same(kind) for same in _SAME_KINDS):
        return False
    if pa.types.is_map(kind):
        return _alike(found.key_type, kind.key_type) and _alike(found.item_type, kind.item_type)
    if pa.types.is_list(kind):
        return _alike(found.value_type, kind.value_type)
    if pa.types.is_struct(kind):
        return [f.name for f in found] == [f.name for f in kind] and all(
            _alike(a.type, b.type) for a, b in zip(found, kind, strict=True)
        )
    return True
