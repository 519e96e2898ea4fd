"""Keys as bytes, for each encoding: what is encoded is what is read, and Spark's hash is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.format.slices import Slices
from bucketstate.errors import InvalidArgumentError, NewerFormatError
from tests.kit.cases import examples
from tests.kit.checkpoints import bucket_of
from tests.kit.rows import compact_row, raw_row, unsafe_row
from tests.kit.values import of_spark
from tests.kit.values.own_types import bytes_of_key, key_decoder, partition_of, spark_hash

LONG, TEXT, DOUBLE = T.LongType(), T.StringType(), T.DoubleType()
THREE = T.StructType().add("a", LONG).add("b", TEXT).add("c", LONG)
ORDERED = T.StructType().add("a", DOUBLE).add("b", TEXT).add("c", T.IntegerType())
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
FEW = st.none() | st.integers(-(2**31), 2**31 - 1)
TEXTS = st.none() | st.text(max_size=20)
FLOATS = st.none() | st.floats(allow_nan=False)


def decoded(encoding: str, schema: T.StructType, data: bytes) -> tuple[Any, ...]:
    row = key_decoder(encoding, schema)(Slices.joined([data]))[0].as_py()
    return tuple(row.values())


@pytest.mark.parametrize(
    "encoding", ["compact-row/1", "spark-prefix-scan/1", "spark-prefix-scan/2"]
)
@given(values=st.tuples(NUMBERS, TEXTS, NUMBERS))
def test_what_is_encoded_is_what_is_read(encoding: str, values: tuple[Any, ...]) -> None:
    found = bytes_of_key(encoding, THREE, values, 64)
    assert found.whole
    assert decoded(encoding, THREE, found.start) == values


@pytest.mark.parametrize("encoding", ["spark-timestamp-prefix", "spark-timestamp-postfix"])
@given(values=st.tuples(NUMBERS, TEXTS, st.integers(-(2**63), 2**63 - 1)))
def test_keys_with_a_time(encoding: str, values: tuple[Any, ...]) -> None:
    found = bytes_of_key(encoding, THREE, values, 64)
    assert decoded(encoding, THREE, found.start) == values


@pytest.mark.parametrize("encoding", ["spark-timestamp-prefix", "spark-timestamp-postfix"])
def test_a_key_whose_time_is_null_is_none(encoding: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"key\.c is None, which no such key has"):
        bytes_of_key(encoding, THREE, (1, "a", None), 64)


@pytest.mark.parametrize("ordinals", ["0", "2,0"])
@given(values=st.tuples(FLOATS, TEXTS, FEW))
def test_keys_in_order(ordinals: str, values: tuple[Any, ...]) -> None:
    encoding = f"spark-range-scan/{ordinals}"
    found = bytes_of_key(encoding, ORDERED, values, 64)
    assert decoded(encoding, ORDERED, found.start) == values


@given(values=st.tuples(NUMBERS, TEXTS, st.integers(-(2**63), 2**63 - 1)))
def test_the_first_columns_lead_to_the_same_bucket(values: tuple[Any, ...]) -> None:
    for encoding, first in (("spark-prefix-scan/2", 2), ("spark-timestamp-postfix", 2)):
        whole = bytes_of_key(encoding, THREE, values, 64)
        part = bytes_of_key(encoding, THREE, values[:first], 64)
        assert (part.whole, part.bucket) == (False, whole.bucket)
        assert part.matches(whole.start)
        assert part.start <= whole.start < part.end


PLAIN = st.sampled_from(
    [
        T.BooleanType(),
        T.ByteType(),
        T.ShortType(),
        T.IntegerType(),
        LONG,
        T.FloatType(),
        DOUBLE,
        T.DateType(),
        T.TimestampType(),
        T.TimestampNTZType(),
        TEXT,
        T.BinaryType(),
        T.DayTimeIntervalType(),
    ]
)
KEYED = PLAIN | PLAIN.map(T.ArrayType) | of_spark.schemas(PLAIN, 3)


@settings(max_examples=examples(15), derandomize=True)
@given(st.data())
def test_rows_are_those_of_spark_s_writers(data: st.DataObject) -> None:
    """Against rows that are made one by one in the tests' own way."""
    schema = data.draw(of_spark.schemas(KEYED, max_size=4))
    values = data.draw(st.tuples(*[of_spark.values(f.dataType) for f in schema]))
    found = bytes_of_key("compact-row/1", schema, values, 7)
    assert found.start == compact_row(schema, values)
    assert found.bucket == bucket_of(found.start, 7)
    prefix = bytes_of_key(f"spark-prefix-scan/{len(schema)}", schema, values, 7)
    assert prefix.start[5:].startswith(unsafe_row(schema, values))


@pytest.mark.parametrize("number", [0, 150, -(10**19), 10**37])
def test_decimals_of_many_digits(number: int) -> None:
    """Spark reserves 16 bytes for one; where it takes fewer, the writer keeps the row as it is."""
    from decimal import Decimal

    schema = T.StructType().add("a", T.DecimalType(38, 0)).add("b", TEXT)
    found = bytes_of_key("compact-row/1", schema, (number, "x"), 4).start
    expected = compact_row if abs(number) > 2**63 else raw_row
    assert found == expected(schema, (Decimal(number), "x"))
    nothing = bytes_of_key("compact-row/1", schema, (None, "x"), 4).start
    assert decoded("compact-row/1", schema, nothing) == (None, "x")
    assert nothing[0] == 0


GOLDEN = [
    # Spark 4.2: SELECT hash(...), a row each.
    ([TEXT, T.ArrayType(T.IntegerType()), T.IntegerType()], ["Spark", [123], 2], -1321691492),
]


@pytest.mark.parametrize(("kinds", "values", "expected"), GOLDEN)
def test_spark_s_hash(kinds: list[T.DataType], values: list[Any], expected: int) -> None:
    assert spark_hash(kinds, values) == expected
    assert partition_of(kinds, values, 200) == expected % 200


def test_what_is_hashed_by_spark_alone() -> None:
    collated = T.StringType("UNICODE_CI")
    assert partition_of([collated], ["a"], 200) is None
    assert partition_of([T.StructType().add("a", collated)], [("a",)], 200) is None


def test_what_cannot_be_looked_for() -> None:
    with pytest.raises(NewerFormatError, match=r"encoded as 'other/9'.*upgrade"):
        bytes_of_key("other/9", THREE, (1, "a", 2), 4)
    with pytest.raises(InvalidArgumentError, match="2 of the columns a, b, c: give the first 3"):
        bytes_of_key("compact-row/1", THREE, (1, "a"), 4)
    by_map = T.StructType().add("m", T.MapType(TEXT, TEXT))
    with pytest.raises(InvalidArgumentError, match="map<string,string>"):
        bytes_of_key("compact-row/1", by_map, ({},), 4)
