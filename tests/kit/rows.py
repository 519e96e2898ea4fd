"""Rows as Spark and the provider lay them out, made one by one: slow, and plain to check."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from tests.kit.sparks import HAS_TIME

_FORMATS = {
    T.BooleanType: "<?",
    T.ByteType: "<b",
    T.ShortType: "<h",
    T.IntegerType: "<i",
    T.DateType: "<i",
    T.YearMonthIntervalType: "<i",
    T.FloatType: "<f",
    T.LongType: "<q",
    T.DoubleType: "<d",
    T.TimestampType: "<q",
    T.TimestampNTZType: "<q",
    T.DayTimeIntervalType: "<q",
    T.NullType: "<q",
} | ({T.TimeType: "<q"} if HAS_TIME else {})


def fixed(kind: T.DataType, value: Any) -> bytes | None:
    """The bytes of a fixed-width value, of which 1, 2, 4 or 8 count; None for other types."""
    if isinstance(kind, T.DecimalType):
        return struct.pack("<q", _unscaled(kind, value)) if kind.precision <= 18 else None
    layout = _FORMATS.get(type(kind))
    return None if layout is None else struct.pack(layout, value)


def variable(kind: T.DataType, value: Any) -> bytes:
    match kind:
        case T.StringType():
            return str(value).encode("utf-8", "surrogateescape")
        case T.BinaryType():
            return _bytes(value)
        case T.DecimalType():
            number = _unscaled(kind, value)
            size = (number if number >= 0 else ~number).bit_length() // 8 + 1
            return number.to_bytes(size, "big", signed=True)
        case T.CalendarIntervalType():
            return struct.pack("<iiq", *value)
        case T.StructType():
            return unsafe_row(kind, value)
        case T.ArrayType():
            return _array(kind.elementType, value)
        case T.MapType():
            keys = _array(kind.keyType, list(value))
            return (
                struct.pack("<q", len(keys)) + keys + _array(kind.valueType, list(value.values()))
            )
        case T.VariantType():
            return struct.pack("<i", len(value[0])) + _bytes(value[0]) + _bytes(value[1])
    raise AssertionError(kind)


def unsafe_row(schema: T.StructType, values: tuple[Any, ...]) -> bytes:
    """An UnsafeRow as Spark's writer makes it."""
    return _unsafe([f.dataType for f in schema], values, header=b"", word=[8] * len(schema))


def compact_row(schema: T.StructType, values: tuple[Any, ...]) -> bytes:
    """`compact-row/1`, compact."""
    nulls = sum(1 << i for i, v in enumerate(values) if v is None)
    head = nulls.to_bytes((len(schema) + 7) // 8, "little")
    first, second = b"", b""
    for field, value in zip(schema, values, strict=True):
        size = _width(field.dataType)
        if size:
            first += bytes(size) if value is None else fixed(field.dataType, value) or b""
        else:
            body = b"" if value is None else variable(field.dataType, value)
            second += varint(len(body)) + body
    return b"\x01" + head + first + second


def raw_row(schema: T.StructType, values: tuple[Any, ...]) -> bytes:
    """`compact-row/1`, raw."""
    return b"\x00" + unsafe_row(schema, values)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _width(kind: T.DataType) -> int:
    if isinstance(kind, T.DecimalType):
        return 8 if kind.precision <= 18 else 0
    layout = _FORMATS.get(type(kind))
    return 0 if layout is None else struct.calcsize(layout)


def _array(kind: T.DataType, values: list[Any]) -> bytes:
    size = _width(kind) or 8
    return _unsafe(
        [kind] * len(values),
        tuple(values),
        header=struct.pack("<q", len(values)),
        word=[size] * len(values),
    )


def _unsafe(
    kinds: list[T.DataType], values: tuple[Any, ...], *, header: bytes, word: list[int]
) -> bytes:
    bits = sum(1 << i for i, v in enumerate(values) if v is None)
    head = header + bits.to_bytes(8 * ((len(kinds) + 63) // 64), "little")
    width = sum(word)
    after = len(head) + _padded(width)
    slots, tail = b"", b""
    for kind, value, size in zip(kinds, values, word, strict=True):
        if value is None:
            slots += bytes(size)
        elif (here := fixed(kind, value)) is not None:
            slots += here.ljust(size, b"\0")
        else:
            body = variable(kind, value)
            slots += struct.pack("<II", len(body), after + len(tail))
            # Spark reserves two words for a decimal of many digits, however few bytes it takes.
            room = 16 if isinstance(kind, T.DecimalType) else _padded(len(body))
            tail += body.ljust(room, b"\0")
    return head + slots.ljust(_padded(width), b"\0") + tail


def _bytes(value: Any) -> bytes:
    assert isinstance(value, bytes)
    return value


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _unscaled(kind: T.DecimalType, value: Decimal) -> int:
    # Not by arithmetic, which rounds to 28 digits.
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits))) * 10 ** (exponent + kind.scale)
    return int(-number if sign else number)
