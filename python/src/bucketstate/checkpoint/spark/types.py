"""Spark SQL's types, read from the JSON in which Spark keeps a schema.

Their names are those of `pyspark.sql.types`, which is not needed to read a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

_NO_COLLATIONS: Mapping[str, str] = {}
_COLLATIONS = "__COLLATIONS"
"""Under this name a field's metadata have the collations of the texts in it, by their path."""


@dataclass(frozen=True)
class DataType:
    """A type. Immutable."""

    name: ClassVar[str] = ""

    def simpleString(self) -> str:
        """The type as Spark writes it in a query."""
        return self.name


class NullType(DataType):
    name = "void"


class BooleanType(DataType):
    name = "boolean"


class ByteType(DataType):
    name = "tinyint"


class ShortType(DataType):
    name = "smallint"


class IntegerType(DataType):
    name = "int"


class LongType(DataType):
    name = "bigint"


class FloatType(DataType):
    name = "float"


class DoubleType(DataType):
    name = "double"


class BinaryType(DataType):
    name = "binary"


class DateType(DataType):
    name = "date"


class TimestampType(DataType):
    name = "timestamp"


class TimestampNTZType(DataType):
    name = "timestamp_ntz"


class CalendarIntervalType(DataType):
    name = "interval"


class VariantType(DataType):
    name = "variant"


@dataclass(frozen=True)
class _Written(DataType):
    text: str

    def simpleString(self) -> str:
        return self.text


class DayTimeIntervalType(_Written):
    """An interval of days to seconds, or of some of these."""


class YearMonthIntervalType(_Written):
    """An interval of years, of months, or of both."""


class UnreadType(_Written):
    """A type whose values this reader does not know."""


@dataclass(frozen=True)
class StringType(DataType):
    collation: str = "UTF8_BINARY"

    def simpleString(self) -> str:
        return "string" if self == StringType() else f"string collate {self.collation}"


@dataclass(frozen=True)
class CharType(DataType):
    length: int

    def simpleString(self) -> str:
        return f"char({self.length})"


@dataclass(frozen=True)
class VarcharType(DataType):
    length: int

    def simpleString(self) -> str:
        return f"varchar({self.length})"


@dataclass(frozen=True)
class TimeType(DataType):
    precision: int = 6

    def simpleString(self) -> str:
        return f"time({self.precision})"


@dataclass(frozen=True)
class DecimalType(DataType):
    precision: int = 10
    scale: int = 0

    def simpleString(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class ArrayType(DataType):
    elementType: DataType

    def simpleString(self) -> str:
        return f"array<{self.elementType.simpleString()}>"


@dataclass(frozen=True)
class MapType(DataType):
    keyType: DataType
    valueType: DataType

    def simpleString(self) -> str:
        return f"map<{self.keyType.simpleString()},{self.valueType.simpleString()}>"


@dataclass(frozen=True)
class StructField:
    """A field of a struct. Immutable."""

    name: str
    dataType: DataType
    nullable: bool = True

    def simpleString(self) -> str:
        return f"{self.name}:{self.dataType.simpleString()}"


@dataclass(frozen=True)
class StructType(DataType):
    fields: tuple[StructField, ...] = ()

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def simpleString(self) -> str:
        return f"struct<{','.join(field.simpleString() for field in self.fields)}>"

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[StructField]:
        return iter(self.fields)

    def __getitem__(self, which: int | str) -> StructField:
        return self.fields[which if isinstance(which, int) else self.names.index(which)]


@dataclass(frozen=True)
class UserDefinedType(DataType):
    """A user's type, of which only what it is stored as is known: no class of theirs is loaded."""

    stored: DataType

    def sqlType(self) -> DataType:
        return self.stored

    def simpleString(self) -> str:
        return "udt"


_NAMED: dict[str, DataType] = {
    "void": NullType(),
    "null": NullType(),
    "boolean": BooleanType(),
    "byte": ByteType(),
    "short": ShortType(),
    "integer": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "decimal": DecimalType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "timestamp_ntz": TimestampNTZType(),
    "interval": CalendarIntervalType(),
    "variant": VariantType(),
}
_NUMBERED: dict[str, type[DataType]] = {
    "decimal": DecimalType,
    "time": TimeType,
    "char": CharType,
    "varchar": VarcharType,
}
_NUMBERS = re.compile(r"(\w+)\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")
_DAYS = re.compile(r"interval (day|hour|minute|second)( to (day|hour|minute|second))?")
_MONTHS = re.compile(r"interval (year|month)( to (year|month))?")
_COLLATED = re.compile(r"string\s+collate\s+(\w+)")
_UNREAD = re.compile(r"(geometry|geography)(\(.*\))?")


def struct_of(json: Any) -> StructType:
    """The schema of a row. ValueError, KeyError or TypeError for what is none."""
    found = type_of(json)
    if not isinstance(found, StructType):
        raise ValueError(f"expected a struct, found {found.simpleString()}")
    return found


def type_of(json: Any, path: str = "", collations: Mapping[str, str] = _NO_COLLATIONS) -> DataType:
    """The type that this JSON, parsed, stands for. `path` is where it is in a field's type.

    ValueError, KeyError or TypeError for what is none.
    """
    if isinstance(json, str):
        return _named(json, collations.get(path))
    match json["type"]:
        case "struct":
            return StructType(tuple(_field(field) for field in json["fields"]))
        case "array":
            return ArrayType(type_of(json["elementType"], _inside(path, "element"), collations))
        case "map":
            return MapType(
                type_of(json["keyType"], _inside(path, "key"), collations),
                type_of(json["valueType"], _inside(path, "value"), collations),
            )
        case "udt":
            return UserDefinedType(type_of(json["sqlType"]))
    raise ValueError(f"{json['type']!r} is no type")


def _inside(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part


def _field(json: Mapping[str, Any]) -> StructField:
    of_texts = (json.get("metadata") or {}).get(_COLLATIONS) or {}
    # As `provider.name`, of which the name says enough.
    collations = {path: text.rpartition(".")[2] for path, text in of_texts.items()}
    kind = type_of(json["type"], json["name"], collations)
    return StructField(json["name"], kind, json.get("nullable", True))


def _named(text: str, collation: str | None) -> DataType:
    if text == "string":
        return StringType(collation or "UTF8_BINARY")
    if text in _NAMED:
        return _NAMED[text]
    if (found := _NUMBERS.fullmatch(text)) and found[1] in _NUMBERED:
        return _NUMBERED[found[1]](*(int(n) for n in found.groups()[1:] if n is not None))
    if found := _COLLATED.fullmatch(text):
        return StringType(found[1])
    if _DAYS.fullmatch(text):
        return DayTimeIntervalType(text)
    if _MONTHS.fullmatch(text):
        return YearMonthIntervalType(text)
    if _UNREAD.fullmatch(text):
        return UnreadType(text)
    raise ValueError(f"{text!r} is no type")
