"""Spark SQL values as Arrow arrays, many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bucketstate.checkpoint.format.slices import Bytes, Mask, Positions, Slices, gather, offsets_of
from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.layout import Column, unsafe_rows, width
from bucketstate.errors import CheckpointError

_ARROW: dict[type[T.DataType], Callable[[Any], pa.DataType]] = {
    T.NullType: lambda _: pa.null(),
    T.BooleanType: lambda _: pa.bool_(),
    T.ByteType: lambda _: pa.int8(),
    T.ShortType: lambda _: pa.int16(),
    T.IntegerType: lambda _: pa.int32(),
    T.LongType: lambda _: pa.int64(),
    T.FloatType: lambda _: pa.float32(),
    T.DoubleType: lambda _: pa.float64(),
    T.DateType: lambda _: pa.date32(),
    T.TimeType: lambda _: pa.time64("ns"),
    T.TimestampType: lambda _: pa.timestamp("us", tz="UTC"),
    T.TimestampNTZType: lambda _: pa.timestamp("us"),
    T.DayTimeIntervalType: lambda _: pa.duration("us"),
    T.YearMonthIntervalType: lambda _: pa.month_day_nano_interval(),
    T.CalendarIntervalType: lambda _: pa.month_day_nano_interval(),
    T.StringType: lambda _: pa.string(),
    T.CharType: lambda _: pa.string(),
    T.VarcharType: lambda _: pa.string(),
    T.BinaryType: lambda _: pa.binary(),
    T.DecimalType: lambda t: pa.decimal128(t.precision, t.scale),
    T.VariantType: lambda _: pa.struct([("value", pa.binary()), ("metadata", pa.binary())]),
    T.ArrayType: lambda t: pa.list_(pa.field("element", arrow_type(t.elementType))),
    T.MapType: lambda t: pa.map_(arrow_type(t.keyType), arrow_type(t.valueType)),
    T.StructType: lambda t: pa.struct(
        [pa.field(n, arrow_type(f.dataType)) for n, f in zip(_unique(t.names), t, strict=True)]
    ),
}

_MOST = np.iinfo(np.int32).max
"""What an Arrow array can hold of bytes of strings, or of elements of arrays."""

_STRINGS = (T.StringType, T.CharType, T.VarcharType)


def arrow_type(kind: T.DataType) -> pa.DataType:
    """The Arrow type that a Spark type is read as. Timestamps are in UTC.

    Intervals of months, and calendar intervals, are Arrow's (months, days, nanoseconds).
    """
    if isinstance(kind, T.UserDefinedType):
        return arrow_type(kind.sqlType())
    if type(kind) not in _ARROW:
        raise left_to_spark(f"The state has a field of type {kind.simpleString()}")
    return _ARROW[type(kind)](kind)


def _unique(names: Sequence[str]) -> list[str]:
    """An aggregation of two sums has two fields `sum`: the second becomes `sum_2`."""
    found: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found


def decode(rows: Slices, column: Column, kind: T.DataType) -> pa.Array:
    """The values of one column. IndexError or ValueError for bytes that cannot be such values."""
    if isinstance(kind, T.UserDefinedType):
        return decode(rows, column, kind.sqlType())
    if isinstance(kind, T.NullType):
        return pa.nulls(column.starts.size)
    if width(kind):
        return _fixed(rows.buffer, column, kind)
    return _variable(column.slices(rows), column.valid, kind)


def struct(rows: Slices, columns: Sequence[Column], kind: T.StructType) -> pa.StructArray:
    """Rows as a struct array without nulls."""
    children = [decode(rows, c, f.dataType) for c, f in zip(columns, kind, strict=True)]
    return assembled(children, kind, len(rows))


def assembled(children: Sequence[pa.Array], kind: T.StructType, count: int) -> pa.StructArray:
    """A struct array of these fields; also of none, for so many rows."""
    target = arrow_type(kind)
    if not children:
        return pa.Array.from_buffers(target, count, [None])
    return pa.StructArray.from_arrays(children, fields=list(target))


def _fixed(buffer: Bytes, column: Column, kind: T.DataType) -> pa.Array:
    target = arrow_type(kind)
    numbers = gather(buffer, column.starts, f"<i{width(kind)}")
    return of_numbers(numbers, column.valid, target)


def of_numbers(numbers: npt.NDArray[Any], valid: Mask, target: pa.DataType) -> pa.Array:
    """Integers, or the bits of floats, as what they stand for."""
    count = numbers.size
    data: npt.NDArray[Any]
    if pa.types.is_boolean(target):
        data = np.packbits(numbers != 0, bitorder="little")
    elif pa.types.is_decimal(target):
        data = np.stack([numbers, numbers >> 63], axis=1)
    elif pa.types.is_interval(target):
        return _intervals(numbers, np.zeros_like(numbers), np.zeros(count, np.int64), valid)
    else:
        data = numbers
    return pa.Array.from_buffers(target, count, [_bitmap(valid), pa.py_buffer(data.tobytes())])


def _variable(values: Slices, valid: Mask, kind: T.DataType) -> pa.Array:
    match kind:
        case T.StringType() | T.CharType() | T.VarcharType() | T.BinaryType():
            return _strings(values, valid, arrow_type(kind))
        case T.StructType():
            return _expanded(values, valid, lambda v: struct(v, unsafe_rows(v, _kinds(kind)), kind))
        case T.ArrayType():
            return _arrays(values, valid, kind)
        case T.MapType():
            return _maps(values, valid, kind)
        case T.DecimalType():
            return _decimals(values, valid, arrow_type(kind))
        case T.CalendarIntervalType():
            return _expanded(values, valid, _calendar)
        case T.VariantType():
            return _expanded(values, valid, _variants)
    raise AssertionError(f"no reader for {kind}")


def _kinds(kind: T.StructType) -> list[T.DataType]:
    return [field.dataType for field in kind]


def _strings(values: Slices, valid: Mask, target: pa.DataType) -> pa.Array:
    _, offsets, data = values.to_arrow().buffers()
    narrow = np.frombuffer(offsets, np.int64)[: len(values) + 1] if len(values) else np.zeros(1)
    if narrow[-1] - narrow[0] > _MOST:
        raise _too_much("strings or bytes", f"take more than {_MOST} bytes")
    buffers = [_bitmap(valid), pa.py_buffer(narrow.astype(np.int32).tobytes()), data]
    return pa.Array.from_buffers(target, len(values), buffers)


def _expanded(values: Slices, valid: Mask, read: Callable[[Slices], pa.Array]) -> pa.Array:
    """Reads those that are there, and puts nulls between them."""
    if valid.all():
        return read(values)
    there = read(values.where(valid))
    places = np.cumsum(valid) - 1
    return there.take(pa.array(places, pa.int64(), mask=~valid))


def _arrays(values: Slices, valid: Mask, kind: T.ArrayType) -> pa.Array:
    counts, elements = _elements(values, valid, kind.elementType)
    return pa.Array.from_buffers(
        arrow_type(kind), len(values), [_bitmap(valid), _offsets(counts)], children=[elements]
    )


def _maps(values: Slices, valid: Mask, kind: T.MapType) -> pa.Array:
    """The length of the keys' array, that array, the values' array."""
    keys_at = values.starts + 8
    key_bytes = np.zeros(len(values), np.int64)
    key_bytes[valid] = gather(values.buffer, values.starts[valid], "<i8")
    if (key_bytes < 0).any() or (key_bytes[valid] > values.lengths[valid] - 8).any():
        raise ValueError("the keys of a map would lie behind its end")
    keys = Slices(values.buffer, keys_at, key_bytes)
    items = Slices(values.buffer, keys_at + key_bytes, values.lengths - 8 - key_bytes)
    counts, key_array = _elements(keys, valid, kind.keyType)
    item_counts, item_array = _elements(items, valid, kind.valueType)
    if not np.array_equal(counts, item_counts):
        raise ValueError("a map has not as many keys as values")
    # Arrow ends the process over one.
    if key_array.null_count:
        raise ValueError("a map has a key that is null")
    target = arrow_type(kind)
    entries = pa.StructArray.from_arrays(
        [key_array, item_array], fields=[target.key_field, target.item_field]
    )
    return pa.Array.from_buffers(
        target, len(values), [_bitmap(valid), _offsets(counts)], children=[entries]
    )


def _elements(arrays: Slices, valid: Mask, kind: T.DataType) -> tuple[Positions, pa.Array]:
    """UnsafeArrayData: the number of elements, their bit set of nulls, elements, variable part."""
    counts = np.zeros(len(arrays), np.int64)
    counts[valid] = gather(arrays.buffer, arrays.starts[valid], "<i8")
    size = width(kind) or 8
    # Before anything of that size is made, and first so that what follows fits a number.
    if (counts < 0).any() or (counts > 8 * np.where(valid, arrays.lengths, 0)).any():
        raise ValueError("an array has more elements than bytes")
    elements = 8 + 8 * ((counts + 63) // 64)
    fixed = elements + size * counts
    # What lies behind an array is its neighbour's.
    if (valid & (fixed > arrays.lengths)).any():
        raise ValueError("an array has more elements than bytes")
    of = np.repeat(np.arange(len(arrays)), counts)
    index = np.arange(of.size) - np.repeat(offsets_of(counts)[:-1], counts)
    base = arrays.starts[of]
    bits = gather(arrays.buffer, base + 8 + (index >> 3), "u1")
    there = np.asarray((bits >> (index & 7)) & 1 == 0)
    at = base + elements[of] + size * index
    if width(kind):
        return counts, decode(arrays, Column(there, at), kind)
    lengths = np.where(there, gather(arrays.buffer, at, "<u4"), 0).astype(np.int64)
    offsets = np.where(there, gather(arrays.buffer, at + 4, "<u4"), 0).astype(np.int64)
    if (there & (offsets < fixed[of])).any() or (offsets + lengths > arrays.lengths[of]).any():
        raise ValueError("an element would lie before or behind the variable part of its array")
    # Elements that share bytes would be copied as often as arrays in arrays have them.
    if (np.bincount(of, lengths, len(arrays)) > np.where(valid, arrays.lengths - fixed, 0)).any():
        raise ValueError("the elements of an array have more bytes than it")
    return counts, decode(arrays, Column(there, base + offsets, lengths), kind)


def _decimals(values: Slices, valid: Mask, target: pa.DataType) -> pa.Array:
    """Big-endian two's complement of as many bytes as it takes."""
    if (values.lengths > 16).any() or (values.lengths[valid] < 1).any():
        raise ValueError("a decimal has not 1 to 16 bytes")
    first = np.zeros(len(values), np.uint8)
    first[valid] = gather(values.buffer, values.starts[valid], "u1")
    data = np.repeat(np.where(first > 127, 255, 0).astype(np.uint8)[:, None], 16, axis=1)
    last = values.starts + values.lengths - 1
    for i in range(int(values.lengths.max(initial=0))):
        long_enough = values.lengths > i
        data[long_enough, i] = gather(values.buffer, last[long_enough] - i, "u1")
    return pa.Array.from_buffers(
        target, len(values), [_bitmap(valid), pa.py_buffer(data.tobytes())]
    )


def _calendar(values: Slices) -> pa.Array:
    if (values.lengths < 16).any():
        raise ValueError("an interval has less than 16 bytes")
    micros = gather(values.buffer, values.starts + 8, "<i8")
    most = np.iinfo(np.int64).max // 1000
    # Not by abs, which leaves the least number negative.
    if (micros > most).any() or (micros < -most).any():
        raise left_to_spark("The state has an interval of more nanoseconds than Arrow can hold")
    months = gather(values.buffer, values.starts, "<i4")
    days = gather(values.buffer, values.starts + 4, "<i4")
    return _intervals(months, days, micros * 1000, np.ones(len(values), np.bool_))


def _intervals(
    months: npt.NDArray[Any], days: npt.NDArray[Any], nanos: npt.NDArray[Any], valid: Mask
) -> pa.Array:
    data = np.empty(months.size, np.dtype([("m", "<i4"), ("d", "<i4"), ("n", "<i8")]))
    data["m"], data["d"], data["n"] = months, days, nanos
    return pa.Array.from_buffers(
        pa.month_day_nano_interval(),
        months.size,
        [_bitmap(valid), pa.py_buffer(data.tobytes())],
    )


def _variants(values: Slices) -> pa.Array:
    """The length of the value, the value, the metadata."""
    # Behind those that are shorter begins another value.
    if (values.lengths < 4).any():
        raise ValueError("a variant has no room for the length of its value")
    size = gather(values.buffer, values.starts, "<i4").astype(np.int64)
    if (size < 0).any() or (size > values.lengths - 4).any():
        raise ValueError("a variant's value would lie behind its end")
    there = np.ones(len(values), np.bool_)
    value = Slices(values.buffer, values.starts + 4, size)
    metadata = Slices(values.buffer, values.starts + 4 + size, values.lengths - 4 - size)
    return pa.StructArray.from_arrays(
        [_strings(part, there, pa.binary()) for part in (value, metadata)],
        fields=list(arrow_type(T.VariantType())),
    )


def _offsets(counts: Positions) -> pa.Buffer:
    offsets = offsets_of(counts)
    if offsets[-1] > _MOST:
        raise _too_much("arrays or maps", f"have more than {_MOST} elements")
    return pa.py_buffer(offsets.astype(np.int32).tobytes())


def left_to_spark(problem: str) -> CheckpointError:
    """An error of its own: what is read is sound, but nothing that this reader can show."""
    return CheckpointError(
        f"{problem}, which cannot be read without Spark: use spark.read.format('statestore')."
    )


def _too_much(what: str, problem: str) -> CheckpointError:
    """An error of its own: what is read is sound."""
    return CheckpointError(
        f"The {what} of a column {problem} in one batch, which Arrow cannot hold: read fewer rows "
        "or columns at once, by the arguments partition, key, columns or filters of scan."
    )


def _bitmap(valid: Mask) -> pa.Buffer | None:
    if valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
