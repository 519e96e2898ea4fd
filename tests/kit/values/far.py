"""A checkpoint with values that Spark keeps and Python has not: bytes as text, years, floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from tests.kit.checkpoints import Built, Row

DAY, MICROS = 86_400, 10**6

TEXTS = [
    b"\xff",
    b"A\0\xc3",
    b"\xed\xa0\x80",
    "\u00fc\u4e2d".encode(),
    b"\x1b[31m\n",
    b"\\xff",
    b"",
]
"""The text that nothing is as it should be in, but for some."""

DAYS = {
    "-5000-01-10": -2_545_731,
    "0000-01-01": -719_528,
    "0000-12-31": -719_163,
    "0001-01-01": -719_162,
    "9999-12-31": 2_932_896,
    "+10000-01-01": 2_932_897,
    "+294247-01-10": 106_751_991,
    "+5881580-07-11": 2**31 - 1,
    "-5877641-06-23": -(2**31),
}
"""Dates as Spark writes them, and what it stores."""

TIMES = {
    "-290308-12-21T19:59:05.224192": -(2**63),
    "-0001-12-31T23:59:59.999999": -719_528 * DAY * MICROS - 1,
    "0000-12-31T23:59:59.999999": -719_162 * DAY * MICROS - 1,
    "9999-12-31T23:59:59.999999": 2_932_897 * DAY * MICROS - 1,
    "+10000-01-01T00:00:00": 2_932_897 * DAY * MICROS,
    "+294247-01-10T04:00:54.775807": 2**63 - 1,
}
FLOATS = [float("nan"), float("inf"), float("-inf"), 1.5]

KEY = (
    T.StructType()
    .add("s", T.StringType())
    .add("d", T.DateType())
    .add("t", T.TimestampType())
    .add("z", T.TimestampNTZType())
    .add("f", T.DoubleType())
)
INNER = T.StructType().add("s", T.StringType()).add("d", T.DateType())
VALUE = (
    T.StructType()
    .add("s", T.StringType())
    .add("texts", T.ArrayType(T.StringType()))
    .add("days", T.ArrayType(T.DateType()))
    .add("times", T.ArrayType(T.TimestampType()))
    .add("named", T.MapType(T.StringType(), T.TimestampNTZType()))
    .add("structs", T.ArrayType(INNER))
    .add("inner", INNER)
    .add("floats", T.ArrayType(T.FloatType()))
    .add("raw", T.BinaryType())
    .add("span", T.DayTimeIntervalType())
    .add("months", T.YearMonthIntervalType())
    .add("calendar", T.CalendarIntervalType())
    .add("variant", T.VariantType())
    .add("nothing", T.NullType())
)


def rows() -> dict[Row, Row]:
    """Each with another far value in each column."""
    return {_key(n): _value(n) for n in range(len(DAYS))}


def built(root: Path) -> Built:
    """Two batches, the second of which changes half of the keys, and removes one."""
    made = Built(root, key=KEY, value=VALUE)
    every = rows()
    made.batch(every)
    made.snapshot(1)
    keys = list(every)
    made.batch({k: _value(n + 3) for n, k in enumerate(keys) if n % 2} | {keys[0]: None})
    return made


def _key(n: int) -> Row:
    time = _of(list(TIMES.values()), n)
    return _text(n), _of(list(DAYS.values()), n), time, time, _of(FLOATS, n)


def _value(n: int) -> Row:
    day, time = _of(list(DAYS.values()), n), _of(list(TIMES.values()), n)
    return (
        _text(n),
        [_text(n), None, "plain"],
        [day, None, 0],
        [time, None, 0],
        {_text(n): time, "other": None},
        [(_text(n), day), None],
        (_text(n), day) if n % 3 else None,
        [*FLOATS, None],
        b"\xff\0",
        _of([2**63 - 1, -(2**63), 1], n),
        2**31 - 1,
        (-1, 2**31 - 1, 2**50),
        (b"\x0c\x01", b"\x01\0\0"),
        None,
    )


def _text(n: int) -> str:
    return TEXTS[n % len(TEXTS)].decode("utf-8", "surrogateescape")


def _of(values: list[Any], n: int) -> Any:
    return values[n % len(values)]
