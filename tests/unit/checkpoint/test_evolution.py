"""Values of an older schema as of a newer one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.format.slices import Slices
from bucketstate.errors import CheckpointError
from tests.kit.rows import compact_row, varint
from tests.kit.values.own_types import arrow_type, evolving_decoder, resolved

OLD = T.StructType().add("n", T.IntegerType()).add("gone", T.StringType())
NEW = T.StructType().add("came", T.StringType()).add("n", T.LongType())


@pytest.mark.parametrize(
    ("before", "after", "values", "expected"),
    [
        (T.ByteType(), T.LongType(), [1, None], [1, None]),
        (T.LongType(), T.FloatType(), [2**53 + 1, None], [float(2**53), None]),
        (T.FloatType(), T.DoubleType(), [0.5, None], [0.5, None]),
        (T.StringType(), T.BinaryType(), ["é", None], ["é".encode(), None]),
        (OLD, NEW, [{"n": 1, "gone": "x"}, None], [{"came": None, "n": 1}, None]),
        (
            T.ArrayType(OLD),
            T.ArrayType(NEW),
            [[{"n": 1, "gone": "x"}, None], None, []],
            [[{"came": None, "n": 1}, None], None, []],
        ),
        (
            T.MapType(T.StringType(), OLD),
            T.MapType(T.StringType(), NEW),
            [[("a", {"n": 1, "gone": "x"}), ("b", None)], None, []],
            [[("a", {"came": None, "n": 1}), ("b", None)], None, []],
        ),
        (T.DecimalType(9, 2), T.DecimalType(9, 2), [None], [None]),
    ],
)
def test_values_become_those_of_the_newer_type(
    before: T.DataType, after: T.DataType, values: list[Any], expected: list[Any]
) -> None:
    found = resolved(pa.array(values, arrow_type(before)), before, after)
    assert found.type == arrow_type(after)
    assert found.to_pylist() == expected


def test_what_is_left_to_spark() -> None:
    with pytest.raises(CheckpointError, match="cannot be read without Spark"):
        resolved(pa.array([None], pa.decimal128(9, 2)), T.DecimalType(9, 2), T.DecimalType(12, 4))


def rows(*written: tuple[int, T.StructType, tuple[Any, ...]]) -> Slices:
    return Slices.joined([varint(number) + compact_row(of, row) for number, of, row in written])


def test_rows_of_several_schemas_stay_in_their_order() -> None:
    decode = evolving_decoder({0: OLD, 300: NEW}, 300)
    mixed = rows((300, NEW, ("a", 1)), (0, OLD, (2, "x")), (300, NEW, (None, 3)), (0, OLD, (4, "")))
    assert [tuple(row.values()) for row in decode(mixed).to_pylist()] == [
        ("a", 1),
        (None, 2),
        (None, 3),
        (None, 4),
    ]
    assert decode(rows()).type == arrow_type(NEW)
    assert decode(rows((0, OLD, (5, "y")))).to_pylist() == [{"came": None, "n": 5}]


def test_an_id_that_nobody_knows_or_that_is_cut() -> None:
    decode = evolving_decoder({0: OLD}, 0)
    with pytest.raises(ValueError, match="a row is of schema 4, and the schema files have 0"):
        decode(rows((4, OLD, (1, "x"))))
    with pytest.raises((ValueError, IndexError)):
        decode(Slices.joined([b"\x80"]))
    with pytest.raises(ValueError, match="within the id"):
        decode(Slices.joined([b"\x00", b"\x00\x01"]))
