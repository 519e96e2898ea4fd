"""Keys of a column family, by the name of their encoding (`docs/format.md`)."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from bucketstate.checkpoint.format.records import varints
from bucketstate.checkpoint.format.slices import Mask, Slices, gather, offsets_of
from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.layout import encoded_rows, unsafe_rows, width
from bucketstate.checkpoint.spark.values import arrow_type, assembled, decode, of_numbers, struct

COMPACT = "compact-row/1"
LISTS = "compact-rows/1"
PREFIX_SCAN = "spark-prefix-scan/"
TIMESTAMP_POSTFIX = "spark-timestamp-postfix"

Decoder = Callable[[Slices], pa.StructArray]

_NULL, _NEGATIVE = 2, 0
"""First byte of a number whose bytes sort as the numbers do; 1 stands for a positive one."""


def row_decoder(schema: T.StructType) -> Decoder:
    """For rows that are stored as `compact-row/1`."""
    kinds = [field.dataType for field in schema]
    return lambda rows: struct(rows, encoded_rows(rows, kinds), schema)


def list_decoder(decode_rows: Decoder) -> Callable[[Slices], pa.ListArray]:
    """For lists of rows, as `compact-rows/1` has them: each row behind its length."""

    def read(lists: Slices) -> pa.ListArray:
        lists.check()
        at, ends = lists.starts.copy(), lists.starts + lists.lengths
        counts = np.zeros(len(lists), np.int64)
        starts, lengths, owners = [], [], []
        more = np.flatnonzero(at < ends)
        # In rounds: the first row of each list, then the second of those that have one.
        while more.size:
            length, start = varints(lists.buffer, at[more])
            at[more] = start + length
            if (at[more] > ends[more]).any():
                raise ValueError("a row of a list ends behind the list")
            starts.append(start)
            lengths.append(length)
            owners.append(more)
            counts[more] += 1
            more = more[at[more] < ends[more]]
        rows = Slices.joined([])
        if starts:
            order = np.argsort(np.concatenate(owners), kind="stable")
            rows = Slices(
                lists.buffer, np.concatenate(starts)[order], np.concatenate(lengths)[order]
            )
        return pa.ListArray.from_arrays(pa.array(offsets_of(counts), pa.int32()), decode_rows(rows))

    return read


def key_decoder(encoding: str, schema: T.StructType) -> Decoder:
    """For keys of that encoding; ValueError if it is not known."""
    if encoding == COMPACT:
        return row_decoder(schema)
    if found := re.fullmatch(PREFIX_SCAN + r"(\d+)", encoding):
        return _prefix_scan(schema, int(found[1]))
    if found := re.fullmatch(r"spark-range-scan/(\d+(?:,\d+)*)", encoding):
        return _range_scan(schema, [int(n) for n in found[1].split(",")])
    if encoding == "spark-timestamp-prefix":
        return _timestamped(schema, at_end=False)
    if encoding == TIMESTAMP_POSTFIX:
        return _timestamped(schema, at_end=True)
    raise ValueError(f"there is no key encoding '{encoding}'")


def _unsafe(rows: Slices, schema: list[T.StructField]) -> list[pa.Array]:
    """Fields of UnsafeRows that stand behind a byte with the version of Spark's encoding."""
    if (gather(rows.buffer, rows.starts, "u1") != 0).any():
        raise ValueError("a key was encoded by an encoding of Spark that is not known")
    inner = Slices(rows.buffer, rows.starts + 1, rows.lengths - 1)
    columns = unsafe_rows(inner, [f.dataType for f in schema])
    return [decode(inner, c, f.dataType) for c, f in zip(columns, schema, strict=True)]


def _split(keys: Slices) -> tuple[Slices, Slices]:
    """A first part behind its length, and the rest."""
    lengths = gather(keys.buffer, keys.starts, "<i4").astype(np.int64)
    start = keys.starts + 4
    rest = keys.lengths - 4 - lengths
    if (lengths < 1).any() or (rest < 1).any():
        raise ValueError("the first part of a key does not fit it")
    return Slices(keys.buffer, start, lengths), Slices(keys.buffer, start + lengths, rest)


def prefix_of(keys: Slices) -> Slices:
    """The part of `spark-prefix-scan/` keys by which they are scanned."""
    return _split(keys)[0]


def _prefix_scan(schema: T.StructType, prefix: int) -> Decoder:
    fields = list(schema)

    def read(keys: Slices) -> pa.StructArray:
        first, rest = _split(keys)
        children = _unsafe(first, fields[:prefix]) + _unsafe(rest, fields[prefix:])
        return assembled(children, schema, len(keys))

    return read


def _range_scan(schema: T.StructType, ordinals: list[int]) -> Decoder:
    fields = list(schema)
    others = [i for i in range(len(fields)) if i not in ordinals]

    def read(keys: Slices) -> pa.StructArray:
        first, rest = _split(keys)
        if (gather(first.buffer, first.starts, "u1") != 0).any():
            raise ValueError("a key was encoded by an encoding of Spark that is not known")
        inner = Slices(first.buffer, first.starts + 1, first.lengths - 1)
        ordered = unsafe_rows(inner, [T.BinaryType()] * len(ordinals))
        found = {
            ordinal: _sortable(column.slices(inner), fields[ordinal].dataType)
            for ordinal, column in zip(ordinals, ordered, strict=True)
        }
        found |= dict(zip(others, _unsafe(rest, [fields[i] for i in others]), strict=True))
        return assembled([found[i] for i in range(len(fields))], schema, len(keys))

    return read


def _sortable(values: Slices, kind: T.DataType) -> pa.Array:
    size = width(kind)
    if not size or (values.lengths != 1 + size).any():
        raise ValueError(f"an ordered field is not a {kind.simpleString()} of {size} bytes")
    marker = gather(values.buffer, values.starts, "u1")
    bits = gather(values.buffer, values.starts + 1, f">i{size}").astype(f"<i{size}")
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        bits = np.where(marker == _NEGATIVE, ~bits, bits)
    valid: Mask = np.asarray(marker != _NULL)
    return of_numbers(bits, valid, arrow_type(kind))


def _timestamped(schema: T.StructType, *, at_end: bool) -> Decoder:
    fields = list(schema)

    def read(keys: Slices) -> pa.StructArray:
        rest = keys.lengths - 8
        if (rest < 1).any():
            raise ValueError("a key is too short for its timestamp")
        at = keys.starts + rest if at_end else keys.starts
        stamps = gather(keys.buffer, at, ">u8") ^ np.uint64(1 << 63)
        row = Slices(keys.buffer, keys.starts + (0 if at_end else 8), rest)
        stamp = of_numbers(
            stamps.astype("<u8").view("<i8"),
            np.ones(len(keys), np.bool_),
            arrow_type(fields[-1].dataType),
        )
        return assembled([*_unsafe(row, fields[:-1]), stamp], schema, len(keys))

    return read


def deciding(keys: Slices, encoding: str) -> Slices:
    """The part of each key that decides where it lies. Keys are scanned by it, too."""
    if encoding.startswith(PREFIX_SCAN):
        # All keys of a prefix share a bucket. Of a key that is not laid out so, all of it decides.
        lengths = gather(keys.buffer, keys.starts, "<i4").astype(np.int64) + 4
        isnt = (keys.lengths < 4) | (lengths < 4) | (lengths > keys.lengths)
        return Slices(keys.buffer, keys.starts, np.where(isnt, keys.lengths, lengths))
    if encoding == TIMESTAMP_POSTFIX:
        # All timestamps of a key share a bucket.
        return Slices(keys.buffer, keys.starts, np.maximum(0, keys.lengths - 8))
    return keys


def buckets_of(keys: Slices, encoding: str, num_buckets: int) -> npt.NDArray[np.int64]:
    """The bucket of each key: the upper half of XXH64 of the part that decides, modulo."""
    digest = xxhash.xxh64_intdigest
    decides = deciding(keys, encoding).to_list()
    hashes = np.fromiter(map(digest, decides), np.uint64, len(keys))
    return ((hashes >> np.uint64(32)) % np.uint64(num_buckets)).astype(np.int64)


def bucket_of(decides: bytes, num_buckets: int) -> int:
    """The bucket of a key by its part that decides, as `buckets_of` has it of many."""
    return int(xxhash.xxh64_intdigest(decides) >> 32) % num_buckets
