"""Keys as the bytes that files have of them, by the name of their encoding (`docs/format.md`)."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.keys import COMPACT, PREFIX_SCAN, TIMESTAMP_POSTFIX, bucket_of
from bucketstate.checkpoint.spark.layout import width
from bucketstate.checkpoint.spark.partitioning import partition_of, utf8
from bucketstate.errors import InvalidArgumentError, NewerFormatError

_RANGE_SCAN = r"spark-range-scan/(\d+(?:,\d+)*)"
_TIMESTAMP_PREFIX = "spark-timestamp-prefix"
_FLOATS: dict[type[T.DataType], str] = {T.FloatType: "<f", T.DoubleType: "<d"}


@dataclass(frozen=True)
class KeyBytes:
    """A key's bytes, or what all keys begin with that are wanted.

    Attributes:
        start: the bytes.
        whole: whether they are the whole key.
        bucket: where all such keys lie.
    """

    start: bytes
    whole: bool
    bucket: int

    def decides(self, encoding: str) -> bytes:
        """Their part that decides the bucket, which all keys that are wanted begin with."""
        return _deciding(self.start, encoding) if self.whole else self.start

    def matches(self, key: bytes) -> bool:
        return key == self.start if self.whole else key.startswith(self.start)

    @property
    def end(self) -> bytes:
        """Behind all such keys, and before all others that come later."""
        if self.whole:
            return self.start + b"\0"
        rest = self.start.rstrip(b"\xff")
        return rest[:-1] + bytes([rest[-1] + 1]) if rest else b"\xff" * (len(self.start) + 1)


@dataclass(frozen=True)
class Key:
    """A key that is looked for: its fields as they are stored, or the first of them.

    Attributes:
        schema: of the column family's whole key.
        values: of its fields.
        columns: how many of the first of them Spark distributes keys by; None where others decide.
    """

    schema: T.StructType
    values: tuple[Any, ...]
    columns: int | None

    def bytes_in(self, encoding: str, num_buckets: int) -> KeyBytes:
        """Raises what `key_bytes` raises."""
        return key_bytes(encoding, self.schema, self.values, num_buckets)

    def partition(self, partitions: int) -> int | None:
        """Where Spark would put it, if the operator's keys are the columns it is grouped by."""
        if self.columns is None or len(self.values) < self.columns:
            return None
        kinds, values = [f.dataType for f in self.schema][: self.columns], self.values
        return partition_of(kinds, values[: self.columns], partitions)


def key_bytes(
    encoding: str, schema: T.StructType, values: Sequence[Any], num_buckets: int
) -> KeyBytes:
    """The bytes of a key, whose fields are given as they are stored.

    Where keys are scanned by a part of them, the first fields may be given alone, as many as make
    that part.

    Raises InvalidArgumentError for fewer, NewerFormatError for an encoding that is not known.
    """
    start = _encoded(encoding, list(schema), tuple(values))
    whole = len(values) == len(schema)
    # The first fields alone are given where they are what decides.
    decides = _deciding(start, encoding) if whole else start
    return KeyBytes(start, whole, bucket_of(decides, num_buckets))


def _deciding(key: bytes, encoding: str) -> bytes:
    """The part of a whole key that decides its bucket, as `keys.deciding` has it of many."""
    if encoding.startswith(PREFIX_SCAN):
        return key[: 4 + int.from_bytes(key[:4], "little")]
    return key[:-8] if encoding == TIMESTAMP_POSTFIX else key


def key_columns(encoding: str, count: int) -> int:
    """How many of so many fields suffice to look for a key."""
    if found := re.fullmatch(PREFIX_SCAN + r"(\d+)", encoding):
        return int(found[1])
    return count - 1 if encoding == TIMESTAMP_POSTFIX else count


def _encoded(encoding: str, fields: list[T.StructField], values: tuple[Any, ...]) -> bytes:
    kinds, count = [f.dataType for f in fields], len(fields)
    least = key_columns(encoding, count)
    if len(values) not in (least, count):
        names = ", ".join(f.name for f in fields)
        raise InvalidArgumentError(
            f"key has {len(values)} of the columns {names}: give the first {least}, or all of them."
        )
    if encoding == COMPACT:
        return compact_row(kinds, values)
    if encoding.startswith(PREFIX_SCAN):
        first = _part(kinds[:least], values[:least])
        rest = _part(kinds[least:], values[least:]) if len(values) == count else b""
        return struct.pack("<i", len(first)) + first + rest
    if encoding in (TIMESTAMP_POSTFIX, _TIMESTAMP_PREFIX):
        row = _part(kinds[:-1], values[: count - 1])
        if len(values) == count and values[-1] is None:
            raise InvalidArgumentError(
                f"key.{fields[-1].name} is None, which no such key has: give a value of the type "
                f"{kinds[-1].simpleString()}."
            )
        stamp = struct.pack(">Q", values[-1] + (1 << 63)) if len(values) == count else b""
        return row + stamp if encoding == TIMESTAMP_POSTFIX else stamp + row
    if found := re.fullmatch(_RANGE_SCAN, encoding):
        ordered = [int(n) for n in found[1].split(",")]
        others = [i for i in range(count) if i not in ordered]
        first = _part(
            [T.BinaryType()] * len(ordered), [_sortable(kinds[i], values[i]) for i in ordered]
        )
        rest = _part([kinds[i] for i in others], [values[i] for i in others])
        return struct.pack("<i", len(first)) + first + rest
    raise NewerFormatError(
        f"The state has its keys encoded as '{encoding}', which this release does not know: "
        "upgrade this package."
    )


def compact_row(kinds: Sequence[T.DataType], values: Sequence[Any]) -> bytes:
    """`compact-row/1`, of which the writer makes the raw form only where this loses something."""
    if not _is_compact(kinds, values):
        return b"\0" + unsafe_row(kinds, values)
    nulls = sum(1 << i for i, value in enumerate(values) if value is None)
    fixed, variable = b"", b""
    for kind, value in zip(kinds, values, strict=True):
        size = width(kind)
        if size:
            fixed += bytes(size) if value is None else _fixed(kind, value)
        else:
            body = b"" if value is None else _variable(kind, value)
            variable += _varint(len(body)) + body
    return b"\1" + nulls.to_bytes((len(kinds) + 7) // 8, "little") + fixed + variable


def unsafe_row(kinds: Sequence[T.DataType], values: Sequence[Any]) -> bytes:
    """Spark's UnsafeRow, as its writers make it."""
    return _unsafe(kinds, values, b"", [8] * len(kinds), reserved=16)


def _part(kinds: Sequence[T.DataType], values: Sequence[Any]) -> bytes:
    return b"\0" + unsafe_row(kinds, values)


def _is_long_decimal(kind: T.DataType) -> bool:
    return isinstance(kind, T.DecimalType) and not width(kind)


def _is_compact(kinds: Sequence[T.DataType], values: Sequence[Any]) -> bool:
    """Spark's rows reserve two words for a long decimal, which are lost where it takes fewer."""
    return all(
        not _is_long_decimal(kind) or (value is not None and len(_variable(kind, value)) > 8)
        for kind, value in zip(kinds, values, strict=True)
    )


def _unsafe(
    kinds: Sequence[T.DataType],
    values: Sequence[Any],
    header: bytes,
    sizes: Sequence[int],
    reserved: int = 0,
) -> bytes:
    """A row or an array. `reserved` bytes are a long decimal's, however few it takes."""
    nulls = sum(1 << i for i, value in enumerate(values) if value is None)
    head = header + nulls.to_bytes(8 * ((len(kinds) + 63) // 64), "little")
    at = len(head) + _padded(sum(sizes))
    slots, tail = b"", b""
    for kind, value, size in zip(kinds, values, sizes, strict=True):
        body = b"" if value is None or width(kind) else _variable(kind, value)
        if value is not None and width(kind):
            slots += _fixed(kind, value).ljust(size, b"\0")
        elif value is not None:
            slots += struct.pack("<II", len(body), at + len(tail))
        elif reserved and _is_long_decimal(kind):
            # A null keeps its place.
            slots += struct.pack("<II", 0, at + len(tail))
        else:
            slots += bytes(size)
        room = reserved if _is_long_decimal(kind) else 0
        tail += body.ljust(max(room, _padded(len(body))), b"\0")
    return head + slots.ljust(_padded(sum(sizes)), b"\0") + tail


def _fixed(kind: T.DataType, value: Any) -> bytes:
    if type(kind) in _FLOATS:
        return struct.pack(_FLOATS[type(kind)], value)
    return int(value).to_bytes(width(kind), "little", signed=not isinstance(value, bool))


def _variable(kind: T.DataType, value: Any) -> bytes:
    match kind:
        case T.StringType() | T.CharType() | T.VarcharType():
            return utf8(value)
        case T.BinaryType():
            return bytes(value)
        case T.DecimalType():
            size = (value if value >= 0 else ~value).bit_length() // 8 + 1
            return int(value).to_bytes(size, "big", signed=True)
        case T.StructType():
            return unsafe_row([f.dataType for f in kind], value)
        case T.ArrayType():
            kinds = [kind.elementType] * len(value)
            sizes = [width(kind.elementType) or 8] * len(value)
            return _unsafe(kinds, value, struct.pack("<q", len(value)), sizes)
        case T.UserDefinedType():
            return _variable(kind.sqlType(), value)
    raise InvalidArgumentError(
        f"A key has a column of type {kind.simpleString()}, by which no single key can be looked "
        "for: read the state whole."
    )


def _sortable(kind: T.DataType, value: Any) -> bytes:
    size = width(kind)
    if value is None:
        return b"\2" + bytes(size)
    bits = int.from_bytes(_fixed(kind, value), "little", signed=True)
    negative = bits < 0
    if negative and type(kind) in _FLOATS:
        bits = ~bits
    return bytes([not negative]) + bits.to_bytes(size, "big", signed=True)


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
