"""Rows and keys as bytes, decoded many at once, against what was put in one by one."""

from __future__ import annotations

import contextlib
import math
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.spark import values as spark_values
from bucketstate.checkpoint.spark.keys import buckets_of, list_decoder
from bucketstate.errors import CheckpointError
from tests.kit.cases import examples
from tests.kit.checkpoints import bucket_of
from tests.kit.rows import compact_row, raw_row, unsafe_row, varint
from tests.kit.values.of_spark import expected, rows, schemas
from tests.kit.values.own_types import arrow_type, key_decoder, row_decoder
from tests.unit.checkpoint.test_changed_bytes import change

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = settings(
    max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
KEY = T.StructType(
    [
        T.StructField("at", T.LongType()),
        T.StructField("name", T.StringType()),
        T.StructField("ratio", T.DoubleType()),
    ]
)


def slices(strings: list[bytes]) -> Slices:
    """With bytes of something else before and between them, as in a file's block."""
    joined = Slices.joined([b"\xff" * 5, *[part for s in strings for part in (s, b"\xee")]])
    return joined[1::2]


def as_arrow(schema: T.StructType, values: list[tuple[Any, ...]]) -> pa.Array:
    return pa.array([expected(schema, v) for v in values], arrow_type(schema))


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_every_type_compact_raw_and_both_together(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    found = data.draw(rows(schema))
    encoders = [compact_row, raw_row]
    chosen = data.draw(
        st.lists(st.sampled_from(encoders), min_size=len(found), max_size=len(found))
    )
    encoded = [encode(schema, row) for encode, row in zip(chosen, found, strict=True)]
    decoded = row_decoder(schema)(slices(encoded))
    decoded.validate(full=True)
    assert decoded.equals(as_arrow(schema, found))


def test_more_fields_than_a_word_of_nulls_has_bits() -> None:
    schema = T.StructType([T.StructField(f"c{i}", T.IntegerType()) for i in range(70)])
    found = [tuple(None if (i + n) % 3 == 0 else i for i in range(70)) for n in range(4)]
    for encode in (compact_row, raw_row):
        decoded = row_decoder(schema)(slices([encode(schema, row) for row in found]))
        assert decoded.equals(as_arrow(schema, found))


def test_floats_that_are_no_numbers_keep_being_none() -> None:
    schema = T.StructType([T.StructField("d", T.DoubleType()), T.StructField("f", T.FloatType())])
    decoded = row_decoder(schema)(slices([compact_row(schema, (math.nan, math.inf))]))
    assert math.isnan(decoded[0]["d"].as_py())
    assert decoded[0]["f"].as_py() == math.inf


def test_a_long_string_has_a_length_of_several_bytes() -> None:
    schema = T.StructType([T.StructField("s", T.StringType())])
    found = [("x" * n,) for n in (0, 127, 128, 16_384, 2_097_152)]
    decoded = row_decoder(schema)(slices([compact_row(schema, row) for row in found]))
    assert decoded.field("s").to_pylist() == [s for (s,) in found]


def test_a_row_without_fields() -> None:
    decoded = row_decoder(T.StructType())(slices([b"\x01", b"\x00"]))
    assert len(decoded) == 2
    assert decoded.null_count == 0


@pytest.mark.skipif(not hasattr(T, "GeometryType"), reason="Spark 4.0 has no such type")
def test_a_type_that_cannot_be_read_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"type geometry.*statestore"):
        arrow_type(T.GeometryType(4326))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x02\x00\x00",
        b"\x01",
        b"\x01\x00\x09ab",
        b"\x01\x00\x02abc",
        b"\x01\x00\xff\xff\xff\xff\xff\x01",
        b"\x00" + bytes(8),
        b"\x00" + bytes(8) + struct.pack("<II", 99, 16),
        b"\x00" + bytes(8) + struct.pack("<II", 1, 2**31),
    ],
)
def test_bytes_that_are_no_row_are_refused(damaged: bytes) -> None:
    schema = T.StructType([T.StructField("s", T.StringType())])
    with pytest.raises((IndexError, ValueError)):
        row_decoder(schema)(Slices.joined([damaged]))


@pytest.mark.slow
@EXAMPLES
@given(st.data())
def test_rows_with_bytes_changed_are_refused_or_read(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    found = data.draw(rows(schema))
    chance = data.draw(st.randoms(use_true_random=False))
    for encode in (compact_row, raw_row):
        encoded = [bytearray(encode(schema, row)) for row in found]
        for changed in encoded[:1]:
            change(changed, 0, len(changed), chance)
        # Nothing else, and Arrow does not end the process.
        with contextlib.suppress(IndexError, ValueError, CheckpointError):
            assert len(row_decoder(schema)(slices([bytes(row) for row in encoded]))) == len(found)


def entry(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}q", *words)


ONE_LONG = entry(1, 0, 7)
"""An array of one element: how many, which are null, the element."""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (entry(24) + entry(1, 1, 0) + ONE_LONG, "a key that is null"),
        (entry(1 << 40) + entry(1 << 39, 0) + ONE_LONG, "keys of a map"),
        (entry(-8) + ONE_LONG + ONE_LONG, "keys of a map"),
    ],
)
def test_maps_that_arrow_or_memory_would_not_bear(words: bytes, problem: str) -> None:
    schema = T.StructType([T.StructField("m", T.MapType(T.LongType(), T.LongType()))])
    row = b"\x01\x00" + varint(len(words)) + words
    with pytest.raises(ValueError, match=problem):
        row_decoder(schema)(Slices.joined([row]))


def compact(*values: bytes) -> bytes:
    """A compact row of such values, none of which has a fixed width."""
    return b"\x01" + bytes((len(values) + 7) // 8) + b"".join(varint(len(v)) + v for v in values)


def pointer(offset: int, length: int) -> int:
    return offset << 32 | length


LONGS_OF = T.ArrayType(T.LongType())
STRINGS_OF = T.ArrayType(T.StringType())
STRUCT = T.StructType([T.StructField("s", T.StringType())])


@pytest.mark.parametrize(
    ("kind", "damaged", "sound", "problem"),
    [
        (LONGS_OF, b"", [7], "more elements than bytes"),
        (LONGS_OF, b"\0\0\0", [7], "more elements than bytes"),
        (LONGS_OF, entry(1, 0), [7], "more elements than bytes"),
        (LONGS_OF, entry(8, 0, *range(7)), [7], "more elements than bytes"),
        (LONGS_OF, entry(65, 0, *range(65)), [7], "more elements than bytes"),
        (T.ArrayType(T.ByteType()), entry(16, 0, 0), [7], "more elements than bytes"),
        (STRINGS_OF, entry(1, 0), ["b"], "more elements than bytes"),
        (STRINGS_OF, entry(1, 0, pointer(0, 8), 0), ["b"], "before or behind"),
        (STRINGS_OF, entry(1, 0, pointer(16, 8), 0), ["b"], "before or behind"),
        (STRINGS_OF, entry(1, 0, pointer(24, 9), 0), ["b"], "before or behind"),
        (STRINGS_OF, entry(1, 0, pointer(0, 0)), ["b"], "before or behind"),
        (STRUCT, entry(0, pointer(0, 8)), ("b",), "before or behind"),
        (STRUCT, entry(0, pointer(8, 8)), ("b",), "before or behind"),
        (STRUCT, entry(0, pointer(16, 1)), ("b",), "before or behind"),
        (T.CalendarIntervalType(), b"", (1, 2, 3), "less than 16 bytes"),
        (T.CalendarIntervalType(), bytes(15), (1, 2, 3), "less than 16 bytes"),
        (T.VariantType(), b"", (b"v", b"m"), "a variant"),
        (T.VariantType(), b"\0\0\0", (b"v", b"m"), "a variant"),
        (T.VariantType(), struct.pack("<i", -3) + b"ab", (b"v", b"m"), "a variant"),
        (T.VariantType(), struct.pack("<i", 3) + b"ab", (b"v", b"m"), "a variant"),
    ],
)
def test_what_reaches_into_the_next_row_is_refused(
    kind: T.DataType, damaged: bytes, sound: Any, problem: str
) -> None:
    schema = T.StructType([T.StructField("v", kind)])
    behind = [compact_row(schema, (sound,))] * 9
    decoded = row_decoder(schema)(Slices.joined(behind))
    assert decoded.equals(as_arrow(schema, [(sound,)] * 9))
    with pytest.raises(ValueError, match=problem):
        row_decoder(schema)(Slices.joined([compact(damaged), *behind]))


@pytest.mark.parametrize("word", [pointer(0, 8), pointer(15, 1), pointer(16, 1), pointer(8, 0)])
def test_a_word_of_a_raw_row_that_points_elsewhere(word: int) -> None:
    sound = raw_row(STRUCT, ("b",))
    with pytest.raises(ValueError, match="before or behind"):
        row_decoder(STRUCT)(Slices.joined([b"\0" + entry(0, word), sound]))


def test_a_word_of_what_is_null_may_point_anywhere() -> None:
    found = [b"\0" + entry(1, pointer(2, 99)), raw_row(STRUCT, ("b",))]
    decoded = row_decoder(STRUCT)(Slices.joined(found))
    assert decoded.equals(as_arrow(STRUCT, [(None,), ("b",)]))


@pytest.mark.parametrize("micros", [-(2**63), 2**63 - 1, 2**63 // 1000 + 1, -(2**63) // 1000])
def test_an_interval_of_more_nanoseconds_than_arrow_has_is_no_damage(micros: int) -> None:
    schema = T.StructType([T.StructField("i", T.CalendarIntervalType())])
    with pytest.raises(CheckpointError, match=r"more nanoseconds than Arrow.*statestore"):
        row_decoder(schema)(Slices.joined([compact_row(schema, ((1, 2, micros),))]))


@pytest.mark.parametrize(
    ("kind", "value"), [(T.StringType(), "x" * 9), (T.BinaryType(), b"x" * 9), (LONGS_OF, [1] * 9)]
)
def test_more_than_arrow_can_hold_is_no_damage(
    kind: T.DataType, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_values, "_MOST", 17)
    schema = T.StructType([T.StructField("v", kind)])
    row = compact_row(schema, (value,))
    assert len(row_decoder(schema)(Slices.joined([row]))) == 1
    with pytest.raises(CheckpointError, match=r"more than 17.*fewer rows or columns"):
        row_decoder(schema)(Slices.joined([row, row]))


def test_elements_that_share_bytes() -> None:
    schema = T.StructType([T.StructField("a", T.ArrayType(T.StringType()))])
    count, text = 32, b"x" * 256
    words = entry(count, 0, *[(16 + 8 * count) << 32 | len(text)] * count) + text
    with pytest.raises(ValueError, match="more bytes"):
        row_decoder(schema)(Slices.joined([b"\x01\x00" + varint(len(words)) + words]))


TWO = T.StructType([T.StructField("a", T.StringType()), T.StructField("b", T.BinaryType())])


@pytest.mark.parametrize("length", [4, 5, 8])
def test_values_of_a_row_that_share_bytes(length: int) -> None:
    words = entry(0, pointer(24, length), pointer(32 - length, length)) + b"abcdefgh"
    sound = raw_row(TWO, ("a", b"b"))
    if length == 4:
        assert len(row_decoder(TWO)(Slices.joined([b"\0" + words, sound]))) == 2
        return
    nested = T.StructType([T.StructField("s", TWO)])
    for schema, row in ((TWO, b"\0" + words), (nested, compact(words))):
        with pytest.raises(ValueError, match="values of a row have more bytes than it"):
            row_decoder(schema)(Slices.joined([row]))


def test_a_row_whose_length_is_no_multiple_of_8() -> None:
    words = unsafe_row(TWO, ("a", b"b")) + b"\0"
    nested = T.StructType([T.StructField("s", TWO)])
    for schema, row in ((TWO, b"\0" + words), (nested, compact(words))):
        with pytest.raises(ValueError, match="no multiple of 8"):
            row_decoder(schema)(Slices.joined([row]))


def test_no_row_at_all() -> None:
    schema = T.StructType([T.StructField("s", T.ArrayType(T.StringType()))])
    assert len(row_decoder(schema)(Slices.joined([]))) == 0


def prefix_scan(row: tuple[Any, ...]) -> bytes:
    first = b"\0" + unsafe_row(T.StructType(KEY.fields[:1]), row[:1])
    return (
        struct.pack("<i", len(first))
        + first
        + b"\0"
        + unsafe_row(T.StructType(KEY.fields[1:]), row[1:])
    )


def range_scan(row: tuple[Any, ...]) -> bytes:
    """Ordered by `ratio`, then `at`."""
    ordered = T.StructType([T.StructField(n, T.BinaryType()) for n in "ab"])
    first = b"\0" + unsafe_row(ordered, (sortable(">d", row[2]), sortable(">q", row[0])))
    rest = b"\0" + unsafe_row(T.StructType([KEY["name"]]), row[1:2])
    return struct.pack("<i", len(first)) + first + rest


def sortable(layout: str, value: Any) -> bytes:
    if value is None:
        return b"\x02" + bytes(8)
    bits = struct.pack(layout, value)
    if layout == ">d" and math.copysign(1, value) < 0:
        return b"\0" + bytes(255 - b for b in bits)
    return (b"\0" if value < 0 else b"\x01") + bits


def timestamped(row: tuple[Any, ...], *, at_end: bool) -> bytes:
    body = b"\0" + unsafe_row(T.StructType(STAMPED.fields[:-1]), row[:-1])
    stamp = struct.pack(">Q", (row[-1] ^ -(2**63)) & (2**64 - 1))
    return body + stamp if at_end else stamp + body


STAMPED = T.StructType([KEY["name"], KEY["ratio"], T.StructField("ts", T.LongType())])
LONGS = st.integers(-(2**63), 2**63 - 1)
NAMES = st.one_of(st.none(), st.text(max_size=9))
RATIOS = st.one_of(st.none(), st.floats(allow_nan=False))


@pytest.mark.parametrize(
    ("encoding", "schema", "fields", "encode"),
    [
        ("compact-row/1", KEY, (LONGS, NAMES, RATIOS), lambda r: compact_row(KEY, r)),
        ("spark-prefix-scan/1", KEY, (LONGS, NAMES, RATIOS), prefix_scan),
        ("spark-range-scan/2,0", KEY, (st.none() | LONGS, NAMES, RATIOS), range_scan),
        (
            "spark-timestamp-prefix",
            STAMPED,
            (NAMES, RATIOS, LONGS),
            lambda r: timestamped(r, at_end=False),
        ),
        (
            "spark-timestamp-postfix",
            STAMPED,
            (NAMES, RATIOS, LONGS),
            lambda r: timestamped(r, at_end=True),
        ),
    ],
)
@EXAMPLES
@given(data=st.data())
def test_keys_of_every_encoding(
    encoding: str,
    schema: T.StructType,
    fields: tuple[st.SearchStrategy[Any], ...],
    encode: Callable[[tuple[Any, ...]], bytes],
    data: st.DataObject,
) -> None:
    found = data.draw(st.lists(st.tuples(*fields), max_size=6))
    decoded = key_decoder(encoding, schema)(slices([encode(row) for row in found]))
    assert decoded.equals(as_arrow(schema, found))


@pytest.mark.slow
@EXAMPLES
@given(data=st.data())
def test_lists_of_rows(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    lists = data.draw(st.lists(rows(schema), max_size=5))
    encoded = []
    for found in lists:
        packed = [compact_row(schema, row) for row in found]
        encoded.append(b"".join(varint(len(row)) + row for row in packed))
    decoded = list_decoder(row_decoder(schema))(slices(encoded))
    decoded.validate(full=True)
    assert len(decoded) == len(lists)
    for values, found in zip(decoded, lists, strict=True):
        assert values.values.equals(as_arrow(schema, found))


@pytest.mark.parametrize("damaged", [b"\x05ab", b"\x80", b"\xff\xff\xff\xff\xff\x01"])
def test_bytes_that_are_no_list_of_rows_are_refused(damaged: bytes) -> None:
    with pytest.raises((IndexError, ValueError)):
        list_decoder(row_decoder(KEY))(Slices.joined([damaged]))


def test_all_timestamps_of_a_key_share_a_bucket() -> None:
    keys = [timestamped(("a", 0.5, stamp), at_end=True) for stamp in range(20)]
    found = buckets_of(slices(keys), "spark-timestamp-postfix", 64)
    assert set(found.tolist()) == {bucket_of(keys[0][:-8], 64)}


def test_an_encoding_that_is_not_known() -> None:
    with pytest.raises(ValueError, match="no key encoding 'spark-other'"):
        key_decoder("spark-other", KEY)
