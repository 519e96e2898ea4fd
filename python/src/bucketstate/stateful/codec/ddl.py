"""Schemas as DDL text or `StructType`, read without a JVM, as dataclasses with nullable fields.

Spark's own parser lives in the JVM; a definition and its tests have none.
"""

from __future__ import annotations

import dataclasses
import keyword
import re
from datetime import tzinfo
from typing import Any, NoReturn

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.codec.codecs import (
    MOST_DIGITS,
    BoolCodec,
    BytesCodec,
    Codec,
    DecimalCodec,
    FloatCodec,
    IntCodec,
    SingleCodec,
    StrCodec,
)
from bucketstate.stateful.codec.containers import DictCodec, ListCodec, OptionalCodec
from bucketstate.stateful.codec.structs import Field, StructCodec, check_names
from bucketstate.stateful.codec.times import (
    DateCodec,
    DatetimeCodec,
    LocalDatetimeCodec,
    TimedeltaCodec,
)
from bucketstate.stateful.errors import DefinitionError

_NAMES: dict[str, DataType] = {
    "byte": ByteType(),
    "tinyint": ByteType(),
    "short": ShortType(),
    "smallint": ShortType(),
    "int": IntegerType(),
    "integer": IntegerType(),
    "long": LongType(),
    "bigint": LongType(),
    "float": FloatType(),
    "real": FloatType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "string": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamp_ltz": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "interval day to second": DayTimeIntervalType(),
}

_BITS = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([A-Za-z0-9_]+)|([<>(),:]))")


def parse_ddl(text: str) -> StructType:
    """`"n long, tags array<string>"` as a StructType, with Spark's names for types."""
    parser = _Parser(text)
    fields = parser.fields(end="")
    return StructType(fields)


def struct_of_schema(schema: StructType, name: str, zone: tzinfo) -> StructCodec:
    """The codec of a schema: a class of that name is made, with the columns as its attributes."""
    check_names(name, schema.names)
    made: list[tuple[str, Any, Any]] = []
    fields = []
    for column in schema.fields:
        where = f"{name}.{column.name}"
        if not column.name.isidentifier() or keyword.iskeyword(column.name):
            raise DefinitionError(
                f"{where}: a column of a state or output becomes an attribute, and "
                f"{column.name!r} cannot be one. Rename it."
            )
        made.append((column.name, Any, dataclasses.field(default=None)))
        codec = codec_of_type(column.dataType, where, zone)
        fields.append(Field(column.name, OptionalCodec(codec), required=False))
    if not fields:
        raise DefinitionError(f"{name} has no columns: give it at least one.")
    return StructCodec(dataclasses.make_dataclass(name, made), fields, made=True)


def codec_of_type(spark: DataType, where: str, zone: tzinfo) -> Codec:
    """The codec of a Spark type; DefinitionError names the field whose type has none."""
    match spark:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return IntCodec(spark, _BITS[type(spark)])
        case FloatType():
            return SingleCodec()
        case DoubleType():
            return FloatCodec()
        case DecimalType():
            if not spark.scale <= spark.precision <= MOST_DIGITS:
                raise DefinitionError(
                    f"{where} is {spark.simpleString()}, which Spark has not: give "
                    f"decimal(precision, scale) with scale <= precision <= {MOST_DIGITS}."
                )
            return DecimalCodec(spark.precision, spark.scale)
        case StringType():
            return StrCodec(spark)
        case BooleanType():
            return BoolCodec()
        case BinaryType():
            return BytesCodec()
        case DateType():
            return DateCodec()
        case TimestampType():
            return DatetimeCodec(zone)
        case TimestampNTZType():
            return LocalDatetimeCodec()
        case DayTimeIntervalType():
            return TimedeltaCodec()
        case ArrayType():
            return ListCodec(OptionalCodec(codec_of_type(spark.elementType, f"{where}[]", zone)))
        case MapType():
            return DictCodec(
                codec_of_type(spark.keyType, f"{where}.key", zone),
                OptionalCodec(codec_of_type(spark.valueType, f"{where}.value", zone)),
            )
        case StructType():
            return struct_of_schema(spark, where.rsplit(".", 1)[-1], zone)
    raise DefinitionError(
        f"{where} is {spark.simpleString()}, which a state or output cannot hold. Supported are "
        f"{', '.join(_NAMES)}, decimal(p,s), array<>, map<> and struct<>."
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0

    def fields(self, end: str) -> list[StructField]:
        made = [self._field()]
        while self._peek() == ",":
            self._next()
            made.append(self._field())
        if self._next() != end:
            self._fail(f"a comma or {repr(end) if end else 'the end'}")
        return made

    def _field(self) -> StructField:
        name = self._next()
        if not name or name in "<>(),:":
            self._fail("a column's name")
        if self._peek() == ":":
            self._next()
        made = StructField(name, self._type(), True)
        if self._peek().lower() == "not":
            self._next()
            if self._next().lower() != "null":
                self._fail("NULL after NOT")
            made.nullable = False
        return made

    def _type(self) -> DataType:
        word = self._next().lower()
        if word in ("array", "map", "struct") and self._next() != "<":
            self._fail(f"'<' after {word}")
        if word == "array":
            element = self._type()
            return self._closed(ArrayType(element))
        if word == "map":
            key = self._type()
            if self._next() != ",":
                self._fail("a comma between a map's types")
            return self._closed(MapType(key, self._type()))
        if word == "struct":
            return StructType(self.fields(end=">"))
        if word in ("decimal", "numeric", "dec"):
            return self._decimal()
        if word == "interval":
            word = " ".join([word, *(self._next().lower() for _ in range(3))])
        if word not in _NAMES:
            self._fail(f"a type, such as {', '.join(list(_NAMES)[3:9])}")
        return _NAMES[word]

    def _decimal(self) -> DecimalType:
        if self._peek() != "(":
            return DecimalType(10, 0)
        self._next()
        precision, scale = self._next(), "0"
        if self._peek() == ",":
            self._next()
            scale = self._next()
        if self._next() != ")" or not precision.isdigit() or not scale.isdigit():
            self._fail("decimal(precision, scale)")
        return DecimalType(int(precision), int(scale))

    def _closed(self, made: DataType) -> DataType:
        if self._next() != ">":
            self._fail("'>'")
        return made

    def _split(self, text: str) -> list[str]:
        tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise DefinitionError(
                    f"The schema {text!r} cannot be read from {text[at : at + 20]!r} on. "
                    "It is written like `n long, tags array<string>, at timestamp`."
                )
            quoted, word, sign = found.groups()
            tokens.append(quoted.replace("``", "`") if quoted is not None else word or sign)
            at = found.end()
        return tokens

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _fail(self, expected: str) -> NoReturn:
        before = " ".join(self._tokens[: self._at])
        raise DefinitionError(
            f"The schema {self._text!r} cannot be read after {before!r}: expected {expected}. "
            "It is written like `n long, tags array<string>, at timestamp`."
        )
