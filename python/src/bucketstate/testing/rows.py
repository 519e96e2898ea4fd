"""What a test gives as a batch, as rows by column name; and as Arrow, with nothing lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.classes import KINDS, is_record_instance, values_of
from bucketstate.stateful.codec.hints import struct_of_record
from bucketstate.stateful.codec.times import DatetimeCodec
from bucketstate.stateful.errors import MismatchError, WrongTypeError, did_you_mean

if TYPE_CHECKING:
    from datetime import tzinfo

INSTANT = pa.timestamp("us", "UTC")
# What Spark makes of a Decimal where nothing is said.
_DECIMAL = pa.decimal128(38, 18)
_FORMS = f"a dict, a Row with names or an instance of {KINDS}"


def rows_in(given: Any) -> list[Any]:
    """The rows as a list: tables as dicts, without pandas' ways, the others as they came.

    Raises WrongTypeError for what is no batch.
    """
    if isinstance(given, pd.DataFrame):
        names = [str(n) for n in given.columns]
        _check_twice(names)
        columns = [_of_pandas(given.iloc[:, n]) for n in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if isinstance(given, pa.Table):
        _check_twice(given.column_names)
        listed: list[Any] = given.to_pylist(maps_as_pydicts="strict")
        return listed
    single = isinstance(given, Mapping) or hasattr(given, "asDict") or is_record_instance(given)
    if single or isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise WrongTypeError(
            f"The batch is {MismatchError('', given).found_text}, expected a DataFrame, an Arrow "
            f"table or a list of rows, each {_FORMS}. "
            + ("Put it into a list." if single else "Give one of them.")
        )
    return list(given)


def _check_twice(names: list[str]) -> None:
    if twice := [n for n in names if names.count(n) > 1]:
        raise WrongTypeError(
            f"The batch has the column {twice[0]!r} twice. Give one of them another name."
        )


def by_name(number: int, row: Any, zone: tzinfo) -> dict[str, Any]:
    """One row as a dict.

    Raises:
        WrongTypeError: it has no names, or does not fit its own class.
    """
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "__fields__") and hasattr(row, "asDict"):
        made: dict[str, Any] = row.asDict()
        return made
    if is_record_instance(row):
        try:
            return struct_of_record(type(row), zone).check(row)
        except MismatchError as e:
            raise WrongTypeError(
                f"Row {number} of the batch, field {e.path}, is {e.found_text}, expected "
                f"{e.expected}. Change the row, or the field's type."
            ) from None
    raise WrongTypeError(
        f"Row {number} of the batch is {MismatchError('', row).found_text}, expected {_FORMS}. "
        "Give the values their columns' names."
    )


def check_columns(
    number: int, row: Mapping[str, Any], names: Iterable[str], optional: frozenset[str]
) -> None:
    """WrongTypeError for a column that is none, or that is not there."""
    known = list(names)
    for name in row:
        if name not in known:
            raise WrongTypeError(
                f"Row {number} of the batch has a column {name!r}, and the rows have "
                f"{', '.join(known)}. "
                + did_you_mean(str(name), known, repr)
                + "All rows of all batches have the same columns: change the row, or the first one "
                "or the schema."
            )
    for name in known:
        if name not in row and name not in optional:
            raise WrongTypeError(
                f"Row {number} of the batch has no column {name!r}, and the rows have "
                f"{', '.join(known)}. Give it a value, which may be None."
            )


class Column:
    """One column of batches without a schema.

    Its type is that of the first value that is not None, and later values have to fit it as they
    are.
    """

    def __init__(self, name: str, zone: tzinfo) -> None:
        self.type: pa.DataType = pa.null()
        self._name = name
        self._instant = DatetimeCodec(zone)

    def array(self, values: list[Any], hint: pa.DataType | None = None) -> pa.Array:
        """The values as Arrow. `hint` is the type that pandas or Arrow has them in.

        Raises WrongTypeError for a value that would become another one.
        """
        plain = []
        for number, value in enumerate(values):
            try:
                plain.append(self._plain(value))
            except MismatchError as e:
                raise self._refusal(number, value, f", expected {e.expected}") from None
        open_type = pa.types.is_null(self.type)
        made = self._converted(plain, hint if open_type else self.type)
        if open_type and hint is None and pa.types.is_decimal(made.type):
            made = self._converted(plain, _DECIMAL)
        if made.type != self.type:
            self._check_type(made.type, plain)
        seen = made.to_pylist(maps_as_pydicts="lossy")
        for number, (value, back) in enumerate(zip(plain, seen, strict=True)):
            if not _same(value, back):
                raise self._refusal(number, value, f", which would become {back!r}", made.type)
        self.type = made.type
        return made

    def _converted(self, values: list[Any], wanted: pa.DataType | None) -> pa.Array:
        try:
            return pa.array(values, type=wanted)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass
        for number, value in enumerate(values):
            try:
                pa.array([value], type=wanted)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                raise self._refusal(number, value, "", wanted) from None
        raise WrongTypeError(
            f"The column {self._name!r} of the batch has values of several types, such as "
            f"{', '.join(sorted({type(v).__name__ for v in values}))}. A column has one: change "
            "the rows, or give the harness a schema."
        )

    def _check_type(self, found: pa.DataType, values: list[Any]) -> None:
        try:
            from_arrow_type(found)
        except PySparkException:
            number, value = next((n, v) for n, v in enumerate(values) if v is not None)
            raise self._refusal(number, value, ", for which Spark has no type") from None

    def _plain(self, value: Any) -> Any:
        """The value without numpy's and pandas' types.

        What Python alone has is as Spark would be given it.
        """
        if value is None or value is pd.NaT or value is pd.NA:
            return None
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
        if (isinstance(value, pd.Timestamp) and value.nanosecond) or (
            isinstance(value, pd.Timedelta) and value.nanoseconds
        ):
            raise MismatchError("no more than microseconds", value)
        if isinstance(value, pd.Timedelta):
            return value.to_pytimedelta()
        if isinstance(value, datetime):
            return self._instant.check(value)
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, UUID):
            return str(value)
        if isinstance(value, np.generic):
            return value.item()
        if hasattr(value, "asDict"):
            value = value.asDict()
        elif is_record_instance(value):
            value = values_of(value)
        if isinstance(value, Mapping):
            return {k: self._plain(v) for k, v in value.items()}
        if isinstance(value, list | tuple | np.ndarray):
            return [self._plain(v) for v in value]
        return value

    def _refusal(
        self, number: int, value: Any, why: str, wanted: pa.DataType | None = None
    ) -> WrongTypeError:
        column = f"the column {self._name!r}"
        if wanted is not None:
            column += f", which is {from_arrow_type(wanted).simpleString()}"
        return WrongTypeError(
            f"Row {number} of the batch has {MismatchError('', value).found_text} for {column}"
            f"{why}. Change the row, or give the harness a schema in which it fits."
        )


def _of_pandas(column: pd.Series[Any]) -> list[Any]:
    """The column's values, None where pandas has NaN for nothing. Floats stay floats."""
    if column.dtype.kind == "O":
        return [None if isinstance(v, float) and v != v else v for v in column]
    pairs = zip(column, column.isna(), strict=True)
    return [None if missing else v for v, missing in pairs]


def _same(value: Any, back: Any) -> bool:
    if isinstance(value, list) and isinstance(back, list):
        return len(value) == len(back) and all(map(_same, value, back))
    if isinstance(value, dict) and isinstance(back, dict):
        return value.keys() == back.keys() and all(_same(v, back[k]) for k, v in value.items())
    return bool(value == back or (value != value and back != back))
