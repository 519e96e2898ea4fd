"""How one scalar value crosses the borders: into output rows, into stored state, out of pandas.

A codec is immutable and picklable, and has no side effect but what `noticed` keeps by thread, so
one may serve many threads. Its methods raise MismatchError for a value that does not fit.
"""

from __future__ import annotations

import base64
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation, localcontext
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.noticed import NOTICED
from bucketstate.stateful.errors import MismatchError

LONG = 64
"""The bits of Spark's largest whole numbers."""
LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The bounds of whole numbers of 64 bits."""
MOST_DIGITS = 38
"""The digits that Spark's decimals have at most."""
EXACT = 1 << 53
"""Whole numbers up to here are exact as floats; one that has become this float may be another."""
_SINGLE = struct.Struct("<f")


def missing(value: Any) -> bool:
    """Whether pandas says "nothing here": None, NaN, NaT, NA."""
    return value is None or value is pd.NaT or value is pd.NA or value != value


def whole(value: float) -> int:
    """The whole number that pandas made a float of; MismatchError where it may be another one."""
    if abs(value) >= EXACT:
        raise MismatchError("a whole number within 2**53, which is as far as floats go", value)
    return int(value)


def surrogate_in(text: str) -> MismatchError | None:
    """For a text with half a pair of surrogates, which UTF-8 has not, and Spark has not."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as e:
        return MismatchError(
            "a text of whole characters",
            text[e.start : e.end],
            advice="Replace the lone surrogate, as by text.encode('utf-8', 'replace').decode().",
        )
    return None


class Codec(ABC):
    """One type. `dump` and `load` are each other's inverse, through JSON values."""

    spark: DataType
    expected: str
    kinds: ClassVar[str] = ""
    """The numpy dtype kinds of an input column whose values are all right as they are."""
    nullable: ClassVar[bool] = False
    exact: type[Any] | None = None
    """The type whose instances are all right as they are, in rows and documents alike; of whole
    numbers, those of 64 bits."""

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

    def takes(self, column: pa.Array) -> bool:
        """Whether each value of a column of Arrow is right as Python has it; a look at its type."""
        return not column.null_count and self._fits(column.type)

    def _fits(self, _kind: pa.DataType) -> bool:
        return False

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        """The codecs within it, each with the step that leads there in a document."""
        return ()

    def mismatch(self, value: Any) -> MismatchError:
        return MismatchError(self.expected, value)

    def altered(self, value: Any) -> MismatchError:
        """For a value that would be another type's when it comes back from where it is stored."""
        advice = (
            f"In the next call it would be {self.expected} and no {type(value).__name__}: give "
            "that from the start."
        )
        return MismatchError(self.expected, value, advice=advice)


class IntCodec(Codec):
    kinds = "i"

    def __init__(self, spark: DataType | None = None, bits: int = LONG) -> None:
        self.spark = spark or LongType()
        self.expected = f"an int of {bits} bits"
        self.exact = int if bits == LONG else None
        self._bits = bits
        self._limit = 1 << (bits - 1)

    @property
    def column_kinds(self) -> str:
        return self.kinds if self._bits == LONG else ""

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise self.mismatch(value)
        number = int(value)
        if not -self._limit <= number < self._limit:
            raise self.mismatch(value)
        return number

    def dump(self, value: Any) -> int:
        if isinstance(value, Enum):
            raise self.altered(value)
        return self.check(value)

    def _fits(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_signed_integer(kind) and kind.bit_width <= self._bits)

    def cell(self, value: Any) -> int:
        # pandas holds whole numbers as floats where a column has nulls.
        if isinstance(value, float) and value.is_integer():
            value = whole(value)
        return self.check(value)


class FloatCodec(Codec):
    spark: DataType = DoubleType()
    expected = "a float"
    kinds = "f"
    exact: type[Any] | None = float

    def check(self, value: Any) -> float:
        if type(value) is float:
            return value
        if not isinstance(value, float | int | np.floating | np.integer) or isinstance(value, bool):
            raise self.mismatch(value)
        try:
            return float(value)
        except OverflowError:
            raise self.mismatch(value) from None

    def load(self, stored: Any) -> float:
        found = self.check(stored)
        # A whole number became a float, or digits went that 32 bits have not.
        if found is not stored and (type(stored) is not float or found != stored):
            NOTICED.older = True
        return found

    def _fits(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_floating(kind))


class SingleCodec(FloatCodec):
    """Spark's `float`: a number with more digits than 32 bits hold becomes the nearest it has."""

    spark = FloatType()
    expected = "a float of 32 bits"
    exact = None

    @property
    def column_kinds(self) -> str:
        return ""

    def check(self, value: Any) -> float:
        try:
            (single,) = _SINGLE.unpack(_SINGLE.pack(super().check(value)))
        except OverflowError:
            raise self.mismatch(value) from None
        return float(single)

    def _fits(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_float32(kind))


class BoolCodec(Codec):
    spark = BooleanType()
    expected = "a bool"
    kinds = "b"
    exact = bool

    def check(self, value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if isinstance(value, np.bool_):
            return bool(value)
        raise self.mismatch(value)

    def _fits(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_boolean(kind))


class StrCodec(Codec):
    expected = "a str"
    exact = str

    def __init__(self, spark: DataType | None = None) -> None:
        self.spark = spark or StringType()

    def check(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise self.mismatch(value)

    def dump(self, value: Any) -> str:
        if isinstance(value, Enum):
            raise self.altered(value)
        return self.check(value)

    def _fits(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class BytesCodec(Codec):
    spark = BinaryType()
    expected = "bytes"

    def check(self, value: Any) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise self.mismatch(value)

    def dump(self, value: Any) -> str:
        if isinstance(value, bytearray | memoryview | Enum):
            raise self.altered(value)
        return base64.b64encode(self.check(value)).decode("ascii")

    def load(self, stored: Any) -> bytes:
        try:
            return base64.b64decode(stored, validate=True)
        except (TypeError, ValueError):
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
        """With as many digits after the point as the column has."""
        with localcontext(prec=80):
            return self._fitting(value).quantize(self._step)

    def dump(self, value: Any) -> str:
        return str(self._fitting(value))

    def load(self, stored: Any) -> Decimal:
        if not isinstance(stored, str | int) or isinstance(stored, bool):
            raise self.mismatch(stored)
        if not isinstance(stored, str):
            NOTICED.older = True
        try:
            return self._fitting(Decimal(stored))
        except InvalidOperation:
            raise self.mismatch(stored) from None

    def _fitting(self, value: Any) -> Decimal:
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
