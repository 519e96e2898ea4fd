"""Codecs of values that hold values: Optional, list, dict, dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from bucketstate.stateful.codecs import Codec, StrCodec, missing
from bucketstate.stateful.errors import NOTHING, MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class OptionalCodec(Codec):
    nullable: ClassVar[bool] = True

    def __init__(self, inner: Codec) -> None:
        self.spark = inner.spark
        self.expected = f"{inner.expected} or None"
        self.inner = inner

    @property
    def column_kinds(self) -> str:
        return self.inner.column_kinds

    @property
    def stored(self) -> DataType:
        return self.inner.stored

    def check(self, value: Any) -> Any:
        return None if value is None else self._or_none(self.inner.check, value)

    def dump(self, value: Any) -> Any:
        return None if value is None else self._or_none(self.inner.dump, value)

    def load(self, stored: Any) -> Any:
        return None if stored is None else self.inner.load(stored)

    def cell(self, value: Any) -> Any:
        if not isinstance(value, list | np.ndarray | Mapping) and missing(value):
            return None
        return self.inner.cell(value)

    def _or_none(self, through: Callable[[Any], Any], value: Any) -> Any:
        try:
            return through(value)
        except MismatchError as e:
            if not isinstance(value, list | np.ndarray | Mapping) and missing(value):
                return None
            raise (self.mismatch(value) if not e.path else e) from None


class ListCodec(Codec):
    expected = "a list"

    def __init__(self, element: Codec) -> None:
        self.spark = ArrayType(element.spark, containsNull=element.nullable)
        self._element = element

    @property
    def stored(self) -> DataType:
        return ArrayType(self._element.stored)

    def check(self, value: Any) -> list[Any]:
        return self._each(self._element.check, value)

    def dump(self, value: Any) -> list[Any]:
        return self._each(self._element.dump, value)

    def load(self, stored: Any) -> list[Any]:
        return self._each(self._element.load, stored)

    def cell(self, value: Any) -> list[Any]:
        return self._each(self._element.cell, value)

    def _each(self, through: Callable[[Any], Any], value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | np.ndarray):
            raise self.mismatch(value)
        return _elements(through, value)


class DictCodec(Codec):
    """Stored as an object where the keys are strings, else as a list of keys with values."""

    expected = "a dict"

    def __init__(self, key: Codec, value: Codec) -> None:
        self.spark = MapType(key.spark, value.spark, valueContainsNull=value.nullable)
        self._key = key
        self._value = value
        self._as_object = isinstance(key, StrCodec)

    @property
    def stored(self) -> DataType:
        if self._as_object:
            return MapType(self._key.stored, self._value.stored)
        pair = StructType().add("key", self._key.stored).add("value", self._value.stored)
        return ArrayType(pair)

    def check(self, value: Any) -> dict[Any, Any]:
        return dict(self._pairs(self._key.check, self._value.check, value))

    def dump(self, value: Any) -> dict[str, Any] | list[Any]:
        pairs = self._pairs(self._key.dump, self._value.dump, value)
        return dict(pairs) if self._as_object else [{"key": k, "value": v} for k, v in pairs]

    def load(self, stored: Any) -> dict[Any, Any]:
        if isinstance(stored, list) and all(isinstance(p, dict) and len(p) == 2 for p in stored):
            stored = [(p.get("key"), p.get("value")) for p in stored]
        return dict(self._pairs(self._key.load, self._value.load, stored))

    def cell(self, value: Any) -> dict[Any, Any]:
        return dict(self._pairs(self._key.cell, self._value.cell, value))

    def _pairs(
        self, key: Callable[[Any], Any], value: Callable[[Any], Any], given: Any
    ) -> list[tuple[Any, Any]]:
        if isinstance(given, Mapping):
            pairs = list(given.items())
        elif isinstance(given, list) and all(len(p) == 2 for p in given):
            pairs = [(k, v) for k, v in given]
        else:
            raise self.mismatch(given)
        made = []
        for k, v in pairs:
            try:
                made.append((key(k), value(v)))
            except MismatchError as e:
                raise e.under(f"[{k!r}]") from None
        return made


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a dataclass or struct; `required` says that it has no default."""

    name: str
    codec: Any
    required: bool


class StructCodec(Codec):
    """A dataclass, or a mapping with the same fields."""

    def __init__(self, cls: type[Any], fields: Sequence[Field]) -> None:
        self.cls = cls
        self.fields = tuple(fields)
        self.names = tuple(f.name for f in fields)
        self.expected = f"an instance of {cls.__name__}"
        self.schema = StructType([StructField(f.name, f.codec.spark, True) for f in fields])
        self.spark = self.schema
        self._codecs = tuple((f.name, f.codec) for f in fields)

    @property
    def stored(self) -> DataType:
        return StructType([StructField(n, c.stored, True) for n, c in self._codecs])

    def row(self, value: Any) -> tuple[Any, ...]:
        """The fields' values as Spark takes them, in the schema's order."""
        made = []
        if isinstance(value, self.cls):
            for name, codec in self._codecs:
                found = getattr(value, name)
                try:
                    made.append(codec.check(found))
                except MismatchError as e:
                    raise e.under(name) from None
            return tuple(made)
        found_fields = self._of_mapping(value)
        for name, codec in self._codecs:
            try:
                made.append(codec.check(found_fields[name]))
            except MismatchError as e:
                raise e.under(name) from None
        return tuple(made)

    def check(self, value: Any) -> dict[str, Any]:
        return dict(zip(self.names, self.row(value), strict=True))

    def dump(self, value: Any) -> dict[str, Any]:
        given = value.__dict__ if type(value) is self.cls and hasattr(value, "__dict__") else None
        if given is None:
            given = (
                {n: getattr(value, n) for n in self.names}
                if isinstance(value, self.cls)
                else self._of_mapping(value)
            )
        made = {}
        for name, codec in self._codecs:
            try:
                made[name] = codec.dump(given[name])
            except MismatchError as e:
                raise e.under(name) from None
        return made

    def load(self, stored: Any) -> Any:
        return self.cls(**self.arguments(stored))

    def cell(self, value: Any) -> Any:
        given = value.asDict() if hasattr(value, "asDict") else value
        return self.cls(**self._read(given, "cell"))

    def arguments(self, stored: Any) -> dict[str, Any]:
        """The known fields that are stored, to construct the class with; others have defaults."""
        return self._read(stored, "load")

    def _read(self, given: Any, method: str) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise self.mismatch(given)
        made = {}
        for field in self.fields:
            if field.name not in given:
                if field.required:
                    expected = f"{field.codec.expected}, for a field without a default,"
                    raise MismatchError(expected, NOTHING, field.name)
                continue
            try:
                made[field.name] = getattr(field.codec, method)(given[field.name])
            except MismatchError as e:
                raise e.under(field.name) from None
        return made

    def _of_mapping(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.mismatch(value)
        if unknown := [k for k in value if k not in self.names]:
            raise MismatchError(
                f"one of the fields {', '.join(self.names)}", unknown[0], str(unknown[0])
            )
        if absent := [n for n in self.names if n not in value]:
            codec = dict(self._codecs)[absent[0]]
            if not codec.nullable:
                raise MismatchError(codec.expected, NOTHING, absent[0])
            return {**dict.fromkeys(absent), **value}
        return value


COMPOUND = (OptionalCodec, ListCodec, DictCodec, StructCodec)
"""What cannot be a map's key."""


def _elements(through: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    made = []
    for n, value in enumerate(values):
        try:
            made.append(through(value))
        except MismatchError as e:
            raise e.under(f"[{n}]") from None
    return made
