"""Whole numbers are compared to numbers of every kind as Python compares them."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bucketstate.checkpoint.filtering import rows_where

COMPARED = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LONGS = [-(2**63), -(2**53) - 1, -3, -2, 0, 2, 3, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, None]
NUMBERS: list[Any] = [
    *(0, 2, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**400),
    *(0.0, -0.0, 2.0, 2.5, -2.5, float(2**53), float(2**53 + 2), float(2**63), -float(2**63)),
    *(1e300, -1e300, math.inf, -math.inf, math.nan),
    *(Decimal("2.5"), Decimal(2**53 + 1), Decimal("1e999999999"), Decimal("-Infinity")),
]


def kept(kind: pa.DataType, held: list[int | None], how: str, value: Any) -> list[int]:
    batch = pa.record_batch({"n": pa.array(held, kind)})
    found: list[int] = rows_where(batch, [("n", how, value)]).column("n").to_pylist()
    return found


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: format(n, "g") if n != 10**400 else "")
@pytest.mark.parametrize("how", COMPARED)
def test_a_number(how: str, number: Any) -> None:
    wanted = [n for n in LONGS if n is not None and COMPARED[how](n, number)]
    assert kept(pa.int64(), LONGS, how, number) == wanted
    if isinstance(number, float):
        assert kept(pa.int64(), LONGS, how, np.float64(number)) == wanted
        assert kept(pa.int64(), LONGS, how, pa.scalar(number)) == wanted


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint64()], ids=str
)
@pytest.mark.parametrize("how", COMPARED)
def test_columns_of_less(how: str, kind: pa.DataType) -> None:
    held = [0, 1, 127, None]
    for number in (-1, 1, 127.5, 128, 255, 256, -128, -129, 2**64, 1e9, -0.5):
        wanted = [n for n in held if n is not None and COMPARED[how](n, number)]
        assert kept(kind, held, how, number) == wanted


@pytest.mark.parametrize(
    "several",
    [
        [2, 2.5],
        [2.5],
        [float(2**53), 3],
        [2**53 + 1, 2**63],
        [math.nan, math.inf, 3],
        [Decimal("2.0"), Decimal("3.5")],
    ],
    ids=str,
)
def test_several_numbers(several: list[Any]) -> None:
    numbers = [n for n in LONGS if n is not None]
    assert kept(pa.int64(), LONGS, "in", several) == [n for n in numbers if n in several]
    assert kept(pa.int64(), LONGS, "not in", several) == [n for n in numbers if n not in several]
