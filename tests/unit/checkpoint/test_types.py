"""Spark's types out of the JSON of a schema, held to what pyspark makes of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.spark.types import StringType, UnreadType, struct_of, type_of
from tests.kit.sparks import HAS_TIME
from tests.kit.values import of_spark
from tests.kit.values.own_types import own, own_struct

OTHERS = [
    T.CharType(3),
    T.VarcharType(7),
    T.VariantType(),
    T.CalendarIntervalType(),
    T.DayTimeIntervalType(1, 2),
    T.DayTimeIntervalType(3, 3),
    T.YearMonthIntervalType(0),
    T.NullType(),
    T.StructType(),
]
if HAS_TIME:
    OTHERS.append(T.TimeType(3))


@given(of_spark.types())
def test_types_are_those_of_pyspark(kind: T.DataType) -> None:
    assert own(kind).simpleString() == kind.simpleString()
    assert type(own(kind)).__name__ == type(kind).__name__


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.simpleString())
def test_types_that_are_rare(kind: T.DataType) -> None:
    inside = T.StructType().add("a", T.ArrayType(kind)).add("b", T.MapType(T.LongType(), kind))
    assert own_struct(inside).simpleString() == inside.simpleString()


def test_collations_are_in_the_metadata_of_a_field() -> None:
    collated = T.StringType("UTF8_LCASE")
    kind = T.StructType().add("a", collated).add("b", T.ArrayType(T.MapType(collated, collated)))
    kind = kind.add("c", T.StructType().add("d", collated)).add("e", T.StringType())
    assert own_struct(kind).simpleString() == kind.simpleString()
    assert own_struct(kind)["a"].dataType != own_struct(kind)["e"].dataType == StringType()
    assert type_of("string collate UNICODE") == StringType("UNICODE")


def test_fields_by_name_and_by_number() -> None:
    found = own_struct(T.StructType().add("a", "long").add("b", "string", nullable=False))
    assert found.names == ["a", "b"]
    assert found["b"] == found[1]
    assert [field.nullable for field in found] == [True, False]


def test_a_user_s_type_is_what_it_is_stored_as_and_no_class_is_loaded() -> None:
    stored = json.loads(T.StructType().add("x", "double").json())
    given = {"type": "udt", "class": "a.b.C", "pyClass": "no.such.module.C", "sqlType": stored}
    struct = {"type": "struct", "fields": [{"name": "u", "type": given}]}
    assert struct_of(struct)["u"].dataType.sqlType() == struct_of(stored)  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(T, "GeometryType"), reason="Spark 4.0 has no such type")
def test_a_type_that_is_not_read_is_none_the_less_a_type() -> None:
    assert own(T.GeometryType(4326)) == UnreadType(T.GeometryType(4326).jsonValue())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["lonf", "decimal(a,b)", "decimal(5,2", "interval week", ""])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(ValueError, match="is no type"):
        type_of(text)
    with pytest.raises(ValueError, match="is no type"):
        type_of({"type": text})
    with pytest.raises(ValueError, match="expected a struct, found bigint"):
        struct_of("long")
