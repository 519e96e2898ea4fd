"""How one scalar value crosses the borders: into output rows, into stored state, out of pandas.

A codec is immutable, picklable and free of side effects, so one may serve many threads. Its methods
raise MismatchError for a value that does not fit.
"""

from __future__ import annotations

import base64
import binascii
import re
from abc import ABC, abstractmethod
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable


def missing(value: Any) -> bool:
    """Whether pandas says "nothing here": None, NaN, NaT, NA."""
    return value is None or value is pd.NaT or value is pd.NA or value != value


class Codec(ABC):
    """One type. `dump` and `load` are each other's inverse, through JSON values."""

    spark: DataType
    expected: str
    kinds: ClassVar[str] = ""
    """The numpy dtype kinds of an input column whose values are all right as they are."""
    nullable: ClassVar[bool] = False

    @property
    def column_kinds(self) -> str:
        """The dtype kinds of an output column whose values all fit without a look at each."""
        return self.kinds

    @property
    def stored(self) -> DataType:
        """The type that reads what `dump` wrote, for Spark's `from_json`."""
        return self.spark

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value as Spark takes it in an output row."""

    def dump(self, value: Any) -> Any:
        """The value as JSON."""
        return self.check(value)

    def load(self, stored: Any) -> Any:
        """The value that `dump` wrote, or an older type's that this one is wider than."""
        return self.check(stored)

    def cell(self, value: Any) -> Any:
        """The Python value of a pandas cell, or of an output row's value."""
        return self.check(value)

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        """The Python values of a pandas column."""
        values = column.tolist()
        if column.dtype.kind in self.kinds:
            return values
        cell = self.cell
        return [cell(v) for v in values]

    def mismatch(self, value: Any) -> MismatchError:
        return MismatchError(self.expected, value)


class IntCodec(Codec):
    kinds = "i"

    def __init__(self, spark: DataType | None = None, bits: int = 64) -> None:
        self.spark = spark or LongType()
        self.expected = f"an int of {bits} bits"
        self._bits = bits
        self._limit = 1 << (bits - 1)

    @property
    def column_kinds(self) -> str:
        return self.kinds if self._bits == 64 else ""

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise self.mismatch(value)
        number = int(value)
        if not -self._limit <= number < self._limit:
            raise self.mismatch(value)
        return number

    def cell(self, value: Any) -> int:
        # pandas holds whole numbers as floats where a column has nulls.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return self.check(value)


class FloatCodec(Codec):
    expected = "a float"
    kinds = "f"

    def __init__(self, spark: DataType | None = None) -> None:
        self.spark = spark or DoubleType()

    def check(self, value: Any) -> float:
        if type(value) is float:
            return value
        if not isinstance(value, float | int | np.floating | np.integer) or isinstance(value, bool):
            raise self.mismatch(value)
        return float(value)


class BoolCodec(Codec):
    spark = BooleanType()
    expected = "a bool"
    kinds = "b"

    def check(self, value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if isinstance(value, np.bool_):
            return bool(value)
        raise self.mismatch(value)


class StrCodec(Codec):
    expected = "a str"

    def __init__(self, spark: DataType | None = None) -> None:
        self.spark = spark or StringType()

    def check(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise self.mismatch(value)


class BytesCodec(Codec):
    spark = BinaryType()
    expected = "bytes"

    def check(self, value: Any) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise self.mismatch(value)

    def dump(self, value: Any) -> str:
        return base64.b64encode(self.check(value)).decode("ascii")

    def load(self, stored: Any) -> bytes:
        try:
            return base64.b64decode(stored, validate=True)
        except (TypeError, binascii.Error):
            raise self.mismatch(stored) from None


class DecimalCodec(Codec):
    def __init__(self, precision: int = 38, scale: int = 18) -> None:
        self.spark = DecimalType(precision, scale)
        self.expected = (
            f"a Decimal of {precision - scale} digits before and {scale} after the point"
        )
        self._step = Decimal(1).scaleb(-scale)
        self._limit = Decimal(1).scaleb(precision - scale)

    def check(self, value: Any) -> Decimal:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise self.mismatch(value)
        with localcontext(prec=80):
            try:
                fits = abs(value) < self._limit and value == value.quantize(self._step)
            except InvalidOperation:
                fits = False
        if not fits:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        return str(self.check(value))

    def load(self, stored: Any) -> Decimal:
        if not isinstance(stored, str | int) or isinstance(stored, bool):
            raise self.mismatch(stored)
        try:
            return self.check(Decimal(stored))
        except InvalidOperation:
            raise self.mismatch(stored) from None


class DateCodec(Codec):
    spark = DateType()
    expected = "a date"

    def check(self, value: Any) -> date:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        raise self.mismatch(value)

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> date:
        return self.check(_parse(date.fromisoformat, stored, self))


class DatetimeCodec(Codec):
    """An instant. A naive datetime is one in the session's time zone, as in Spark's pandas
    functions; what comes back is always naive."""

    spark = TimestampType()
    expected = "a datetime"
    kinds = "M"

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def check(self, value: Any) -> datetime:
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        elif isinstance(value, np.datetime64):
            value = pd.Timestamp(value).to_pydatetime(warn=False)
        if not isinstance(value, datetime) or value is pd.NaT:
            raise self.mismatch(value)
        return (value if value.tzinfo else value.replace(tzinfo=self._zone)).astimezone(UTC)

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        return self._local(_parse(datetime.fromisoformat, stored, self))

    def cell(self, value: Any) -> datetime:
        return self._local(self.check(value))

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.cell(v) for v in column.tolist()]

    def _local(self, value: datetime) -> datetime:
        return value.astimezone(self._zone).replace(tzinfo=None)


class LocalDatetimeCodec(Codec):
    """Spark's TIMESTAMP_NTZ: a wall clock's reading, in no time zone."""

    spark = TimestampNTZType()
    expected = "a datetime without a time zone"
    kinds = "M"

    def check(self, value: Any) -> datetime:
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        if not isinstance(value, datetime) or value is pd.NaT or value.tzinfo is not None:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        return self.check(_parse(datetime.fromisoformat, stored, self))

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.check(v) for v in column.tolist()]


_DAY_TIME = re.compile(r"(-?)(\d+) (\d\d):(\d\d):(\d\d)\.(\d{6})")


class TimedeltaCodec(Codec):
    """Stored as Spark writes a day-time interval: `-1 02:03:04.000005`."""

    spark = DayTimeIntervalType()
    expected = "a timedelta"
    kinds = "m"

    def check(self, value: Any) -> timedelta:
        if isinstance(value, pd.Timedelta):
            value = value.to_pytimedelta()
        elif isinstance(value, np.timedelta64):
            value = pd.Timedelta(value).to_pytimedelta()
        if not isinstance(value, timedelta) or value is pd.NaT:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        given = self.check(value)
        size = abs(given)
        minutes, seconds = divmod(size.seconds, 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{size.microseconds:06}"
        return f"{'-' if given < timedelta(0) else ''}{size.days} {clock}"

    def load(self, stored: Any) -> timedelta:
        found = _DAY_TIME.fullmatch(stored) if isinstance(stored, str) else None
        if found is None:
            raise self.mismatch(stored)
        days, hours, minutes, seconds, micros = map(int, found.groups()[1:])
        size = timedelta(days, seconds, micros, minutes=minutes, hours=hours)
        return -size if found[1] else size

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.check(v) for v in column.tolist()]


def _parse(parser: Callable[[str], Any], stored: Any, codec: Codec) -> Any:
    try:
        return parser(stored)
    except (TypeError, ValueError):
        raise codec.mismatch(stored) from None
