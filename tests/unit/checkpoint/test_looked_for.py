"""Values of keys that are looked for, as Spark stores them."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.key_values import stored
from bucketstate.errors import InvalidArgumentError

TAGGED = T.UserDefinedType(T.StringType())
PAIR = T.StructType((T.StructField("a", T.IntegerType()), T.StructField("b", T.StringType())))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (PAIR, {"b": "x", "a": 1}, (1, b"x")),
        (PAIR, [None, "x"], (None, b"x")),
        (T.ArrayType(PAIR), [(1, "x")], [(1, b"x")]),
        (T.DecimalType(5, 2), "1.5", 150),
        (T.DateType(), "1970-01-03", 2),
        (T.DayTimeIntervalType("interval day to second"), 1.5, 1_500_000),
        (T.DayTimeIntervalType("interval day to second"), timedelta(days=1), 86_400_000_000),
        (T.BinaryType(), "0aff", b"\n\xff"),
        (T.BinaryType(), b"\0", b"\0"),
        (T.BinaryType(), bytearray(b"ab"), b"ab"),
        pytest.param(T.BinaryType(), memoryview(b"ab"), b"ab", id="a view of bytes"),
        (T.FloatType(), 3, 3.0),
        (T.FloatType(), "-Infinity", -math.inf),
        (T.DoubleType(), 1e39, 1e39),
        (T.DoubleType(), "NaN", pytest.approx(float("nan"), nan_ok=True)),
        (TAGGED, "x", b"x"),
    ],
    ids=str,
)
def test_values_come_as_they_are_stored(kind: T.DataType, value: Any, expected: Any) -> None:
    assert stored(kind, value, "key") == expected


def test_times_of_a_day() -> None:
    kind = T.TimeType()
    assert stored(kind, time(0, 0, 1, 5), "key") == stored(kind, "00:00:01.000005", "key")
    assert stored(kind, "00:00:01", "key") == 1_000_000_000
    with pytest.raises(InvalidArgumentError, match=r"key='25:00' is no time"):
        stored(kind, "25:00", "key")


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (PAIR, {"a": 1}, r"key has a: give a dict of these columns, .*: a int, b string\."),
        (PAIR, {}, "key has nothing: give a dict"),
        (PAIR, 5, "key is 5: give a dict"),
        (PAIR, "ab", "key is 'ab': give a dict"),
        (PAIR, (1,), "key has 1 values: give a dict"),
        (PAIR, (1.0, "x"), r"key\.a=1\.0 is no int \(a float\)"),
        (T.ArrayType(PAIR), [(1, 2)], r"key\[0\]\.b=2 is no string \(a int\)"),
        (T.IntegerType(), True, r"is no int \(a bool\)"),
        (T.IntegerType(), "1", r"is no int \(a str\)"),
        (T.IntegerType(), Decimal("1.5"), "not whole"),
        (T.ByteType(), 128, "not within 8 bits"),
        (T.DecimalType(3, 1), "1.25", "it has more digits"),
        (T.DecimalType(3, 1), "100", "it has more digits"),
        (T.DecimalType(3, 1), 1.5, r"is no decimal\(3,1\) \(a float\)"),
        (T.DateType(), datetime(2024, 1, 1), r"is no date \(a datetime\)"),
        (T.DateType(), 3, r"is no date \(a int\)"),
        (T.TimestampType(), date(2024, 1, 1), r"is no timestamp \(a date\)"),
        (T.BooleanType(), 1, r"is no boolean \(a int\)"),
        (T.IntegerType(), Decimal("1e999999999"), "not within 32 bits"),
        (T.IntegerType(), Decimal("NaN"), "is no int"),
        (T.BinaryType(), "xy", "is no binary"),
        (T.BinaryType(), 5, r"key=5 is no binary \(a int\)"),
        (T.BinaryType(), 10**12, r"is no binary \(a int\)"),
        (T.BinaryType(), True, r"is no binary \(a bool\)"),
        (T.BinaryType(), [1, 2], r"is no binary \(a list\)"),
        (T.FloatType(), 1e39, r"key=1e\+39 is no float \(float too large"),
        (T.FloatType(), Decimal("-1e40"), "is no float"),
        (T.ArrayType(T.FloatType()), [1, 1e39], r"key\[1\]=1e\+39 is no float"),
        (T.DoubleType(), 10**400, "is no double"),
        (T.DoubleType(), b"1.5", r"is no double \(a bytes\)"),
        (TAGGED, 1, "a int"),
    ],
    ids=str,
)
def test_what_is_no_value_of_the_type_is_told_with_its_place(
    kind: T.DataType, value: Any, said: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        stored(kind, value, "key")
