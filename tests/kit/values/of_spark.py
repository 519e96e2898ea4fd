"""Hypothesis strategies for Spark SQL types, and values of them as the state holds them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from tests.kit.sparks import HAS_TIME

_LONG = st.integers(-(2**63), 2**63 - 1)
_MICROS = st.integers(-(2**53), 2**53)

_PLAIN: list[tuple[T.DataType, st.SearchStrategy[Any]]] = [
    (T.BooleanType(), st.booleans()),
    (T.ByteType(), st.integers(-128, 127)),
    (T.ShortType(), st.integers(-(2**15), 2**15 - 1)),
    (T.IntegerType(), st.integers(-(2**31), 2**31 - 1)),
    (T.LongType(), _LONG),
    (T.FloatType(), st.floats(width=32, allow_nan=False)),
    (T.DoubleType(), st.floats(allow_nan=False)),
    (T.DateType(), st.integers(-(10**5), 10**5)),
    (T.TimestampType(), _MICROS),
    (T.TimestampNTZType(), _MICROS),
    (T.DayTimeIntervalType(), _MICROS),
    (T.YearMonthIntervalType(), st.integers(-(2**31), 2**31 - 1)),
    (T.CalendarIntervalType(), st.tuples(st.integers(-99, 99), st.integers(-99, 99), _MICROS)),
    (T.StringType(), st.text(max_size=12)),
    (T.BinaryType(), st.binary(max_size=20)),
    (T.NullType(), st.none()),
    (T.VariantType(), st.tuples(st.binary(max_size=5), st.binary(max_size=5))),
]
if HAS_TIME:
    _PLAIN.append((T.TimeType(), st.integers(0, 86_399_999_999)))
_KEYABLE = st.sampled_from([T.StringType(), T.IntegerType(), T.DateType()])


def _decimals() -> st.SearchStrategy[T.DataType]:
    return st.integers(1, 38).flatmap(
        lambda p: st.integers(0, p).map(lambda scale: T.DecimalType(p, scale))
    )


def _extended(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.DataType]:
    return st.one_of(
        inner.map(T.ArrayType),
        st.tuples(_KEYABLE, inner).map(lambda t: T.MapType(*t)),
        schemas(inner, max_size=3),
    )


def schemas(
    inner: st.SearchStrategy[T.DataType] | None = None, max_size: int = 10
) -> st.SearchStrategy[T.StructType]:
    """Structs with fields a, b, c and so on."""
    kinds = inner if inner is not None else types()
    return st.lists(kinds, min_size=1, max_size=max_size).map(
        lambda found: T.StructType(
            [T.StructField(chr(97 + i), kind) for i, kind in enumerate(found)]
        )
    )


def types() -> st.SearchStrategy[T.DataType]:
    plain = st.one_of(st.sampled_from([kind for kind, _ in _PLAIN]), _decimals())
    return st.recursive(plain, _extended, max_leaves=4)


def values(kind: T.DataType) -> st.SearchStrategy[Any]:
    """Values as `tests.kit.rows` takes them; None among them."""
    return st.one_of(st.none(), present(kind))


def present(kind: T.DataType) -> st.SearchStrategy[Any]:
    match kind:
        case T.DecimalType():
            most = 10**kind.precision - 1
            return st.integers(-most, most).map(lambda n: _decimal(n, kind.scale))
        case T.ArrayType():
            return st.lists(values(kind.elementType), max_size=5)
        case T.MapType():
            return st.dictionaries(present(kind.keyType), values(kind.valueType), max_size=4)
        case T.StructType():
            return st.tuples(*[values(f.dataType) for f in kind])
    return next(found for plain, found in _PLAIN if plain == kind)


def rows(schema: T.StructType) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*[values(f.dataType) for f in schema]), max_size=8)


def expected(kind: T.DataType, value: Any) -> Any:
    """What pyarrow's `pa.array` takes for that value."""
    if value is None:
        return None
    match kind:
        case T.YearMonthIntervalType():
            return pa.MonthDayNano([value, 0, 0])
        case T.CalendarIntervalType():
            return pa.MonthDayNano([value[0], value[1], value[2] * 1000])
        case T.ArrayType():
            return [expected(kind.elementType, v) for v in value]
        case T.MapType():
            return [
                (expected(kind.keyType, k), expected(kind.valueType, v)) for k, v in value.items()
            ]
        case T.StructType():
            return {f.name: expected(f.dataType, v) for f, v in zip(kind, value, strict=True)}
        case T.VariantType():
            return {"value": value[0], "metadata": value[1]}
    return value


def _decimal(number: int, scale: int) -> Decimal:
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -scale))
