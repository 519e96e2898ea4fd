"""Which partition a key lies in: Spark's hash partitioning."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from bucketstate.checkpoint.spark import types as T  # noqa: N812

_SEED = 42
_MASK = 0xFFFFFFFF
_INTS = (T.ByteType, T.ShortType, T.IntegerType, T.DateType, T.YearMonthIntervalType)
_LONGS = (
    T.LongType,
    T.TimestampType,
    T.TimestampNTZType,
    T.DayTimeIntervalType,
    T.TimeType,
)


_JOIN = "symmetricHashJoin"
_BEHIND_THE_KEY = ("-keyWithIndexToValue", "-keyWithTsToValues", "-tsWithKey")


def hashed_columns(
    operator: str, store: str, family: str | None, prefix: int, columns: int
) -> int | None:
    """How many of a key's first columns Spark distributes keys by; None where others decide.

    Args:
        operator: Spark's name of it.
        store: its store.
        family: the column family, if one was named.
        prefix: of how many columns Spark recorded that keys are scanned by them.
        columns: how many the family's keys have.
    """
    if operator.startswith("transformWithState") and family is not None:
        # A variable's key lies in the key, behind a time or before another one.
        return None
    if operator == _JOIN and (family or store).endswith(_BEHIND_THE_KEY):
        # Spark records no prefix of these. The last column is an index or a time.
        return columns - 1
    return prefix or columns


def partition_of(kinds: Sequence[T.DataType], values: Sequence[Any], partitions: int) -> int | None:
    """The partition of a key of these fields, given as they are stored.

    None for a type that is hashed otherwise than by its stored value: only Spark can tell then.
    """
    found = spark_hash(kinds, values)
    return None if found is None else found % partitions


def spark_hash(kinds: Sequence[T.DataType], values: Sequence[Any]) -> int | None:
    """What Spark's `hash` gives for these: Murmur3 of 32 bits, signed; None as above."""
    seed = _SEED
    for kind, value in zip(kinds, values, strict=True):
        following = _hash(kind, value, seed)
        if following is None:
            return None
        seed = following
    return seed - (1 << 32) if seed >> 31 else seed


def utf8(text: str | bytes) -> bytes:
    """A text as it is stored; one that is not UTF-8 is given as its bytes, or with surrogates."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _hash(kind: T.DataType, value: Any, seed: int) -> int | None:
    if value is None:
        return seed
    match kind:
        case T.StringType() if kind == T.StringType():
            return _of_bytes(utf8(value), seed)
        case T.BinaryType():
            return _of_bytes(value, seed)
        case T.BooleanType():
            return _of_int(int(value), seed)
        case T.FloatType():
            return _of_int(struct.unpack("<i", struct.pack("<f", value + 0.0))[0], seed)
        case T.DoubleType():
            return _of_long(struct.unpack("<q", struct.pack("<d", value + 0.0))[0], seed)
        case T.DecimalType() if kind.precision <= 18:
            return _of_long(value, seed)
        case T.DecimalType():
            size = (value if value >= 0 else ~value).bit_length() // 8 + 1
            return _of_bytes(value.to_bytes(size, "big", signed=True), seed)
        case T.ArrayType():
            return _all([kind.elementType] * len(value), value, seed)
        case T.StructType():
            return _all([f.dataType for f in kind], value, seed)
    if isinstance(kind, _INTS):
        return _of_int(value, seed)
    if isinstance(kind, _LONGS):
        return _of_long(value, seed)
    return None


def _all(kinds: Sequence[T.DataType], values: Sequence[Any], seed: int) -> int | None:
    found: int | None = seed
    for kind, value in zip(kinds, values, strict=True):
        if found is not None:
            found = _hash(kind, value, found)
    return found


def _of_int(value: int, seed: int) -> int:
    return _finish(_mixed(seed, value), 4)


def _of_long(value: int, seed: int) -> int:
    return _finish(_mixed(_mixed(seed, value), value >> 32), 8)


def _of_bytes(data: bytes, seed: int) -> int:
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<i", data[:whole]):
        seed = _mixed(seed, word)
    # Spark mixes each byte that is left over as a number of its own.
    for byte in data[whole:]:
        seed = _mixed(seed, byte - 256 if byte > 127 else byte)
    return _finish(seed, len(data))


def _mixed(hashed: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    hashed ^= word * 0x1B873593 & _MASK
    hashed = (hashed << 13 | hashed >> 19) & _MASK
    return hashed * 5 + 0xE6546B64 & _MASK


def _finish(hashed: int, length: int) -> int:
    hashed ^= length
    hashed ^= hashed >> 16
    hashed = hashed * 0x85EBCA6B & _MASK
    hashed ^= hashed >> 13
    hashed = hashed * 0xC2B2AE35 & _MASK
    return hashed ^ hashed >> 16
