"""Codecs of values that hold values: Optional, list, tuple, set, dict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from bucketstate.stateful.codec.codecs import Codec, missing
from bucketstate.stateful.codec.structs import StructCodec
from bucketstate.stateful.codec.unions import JsonCodec, UnionCodec
from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class OptionalCodec(Codec):
    nullable: ClassVar[bool] = True

    def __init__(self, inner: Codec) -> None:
        self.spark = inner.spark
        self.expected = f"{inner.expected} or None"
        # A NaN is None where a null is looked for.
        self.exact = None if inner.exact is float else inner.exact
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

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return [("", self.inner)]

    def takes(self, column: pa.Array) -> bool:
        # A NaN becomes None.
        return self.inner._fits(column.type) and not pa.types.is_floating(column.type)

    def _or_none(self, through: Callable[[Any], Any], value: Any) -> Any:
        try:
            return through(value)
        except MismatchError as e:
            if not isinstance(value, list | np.ndarray | Mapping) and missing(value):
                return None
            plain = not e.path and e.expected == self.inner.expected
            own = MismatchError(self.expected, value, advice=e.advice)
            raise (own if plain else e) from None


def _may_be_null(inner: Codec) -> bool:
    """Whether columns of it may have nulls: on the way through pandas a NaN becomes one."""
    return inner.nullable or isinstance(inner.spark, FloatType | DoubleType)


class ListCodec(Codec):
    expected = "a list"

    def __init__(self, element: Codec) -> None:
        self.spark = ArrayType(element.spark, containsNull=_may_be_null(element))
        self._element = element

    @property
    def stored(self) -> DataType:
        return ArrayType(self._element.stored)

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return [("[]", self._element)]

    def check(self, value: Any) -> list[Any]:
        return self._each(self._element.check, value)

    def dump(self, value: Any) -> list[Any]:
        if isinstance(value, list | tuple) and type(value) is not list:
            raise self.altered(value)
        return self._each(self._element.dump, value)

    def load(self, stored: Any) -> list[Any]:
        return self._each(self._element.load, stored)

    def cell(self, value: Any) -> list[Any]:
        return self._each(self._element.cell, value)

    def _each(self, through: Callable[[Any], Any], value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | np.ndarray):
            raise self.mismatch(value)
        return _elements(through, value)


class TupleCodec(ListCodec):
    """A tuple of any length: in Spark an array."""

    expected = "a tuple"

    def check(self, value: Any) -> list[Any]:
        return super().check(self._tuple(value))

    def dump(self, value: Any) -> list[Any]:
        if type(self._tuple(value)) is not tuple:
            raise self.altered(value)
        return self._each(self._element.dump, value)

    def load(self, stored: Any) -> Any:
        return tuple(super().load(stored))

    def cell(self, value: Any) -> Any:
        return tuple(super().cell(value))

    def _tuple(self, value: Any) -> Any:
        # A list would come back as a tuple one call later.
        if not isinstance(value, tuple):
            raise self.mismatch(value)
        return value


class SetCodec(ListCodec):
    """In Spark an array, in an order that is the same for the same elements."""

    def __init__(self, element: Codec, kind: type[Any]) -> None:
        super().__init__(element)
        self.expected = f"a {kind.__name__}"
        self._kind = kind

    def check(self, value: Any) -> list[Any]:
        return [self._element.check(v) for v in self._sorted(value)]

    def dump(self, value: Any) -> list[Any]:
        found = [self._element.dump(v) for v in self._sorted(value)]
        if type(value) is not self._kind:
            raise self.altered(value)
        return found

    def load(self, stored: Any) -> Any:
        return self._kind(super().load(stored))

    def cell(self, value: Any) -> Any:
        return self._kind(super().cell(value))

    def _sorted(self, value: Any) -> list[Any]:
        if not isinstance(value, self._kind):
            raise self.mismatch(value)
        try:
            return sorted(value, key=lambda v: json.dumps(self._element.dump(v)))
        except MismatchError as e:
            raise e.under(f"[{e.found!r}]") from None


class RecordCodec(Codec):
    """A tuple with a type for each place: in Spark a struct of `_1`, `_2` and so on."""

    def __init__(self, places: Sequence[Codec]) -> None:
        self._places = {f"_{n}": codec for n, codec in enumerate(places, start=1)}
        self.expected = f"a tuple of {len(places)}"
        self.spark = StructType([StructField(n, c.spark, True) for n, c in self._places.items()])

    @property
    def stored(self) -> DataType:
        return StructType([StructField(n, c.stored, True) for n, c in self._places.items()])

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return self._places.items()

    def check(self, value: Any) -> dict[str, Any]:
        return dict(zip(self._places, self._each("check", self._tuple(value)), strict=True))

    def dump(self, value: Any) -> dict[str, Any]:
        places = self._tuple(value)
        if type(value) is not tuple:
            raise self.altered(value)
        return dict(zip(self._places, self._each("dump", places), strict=True))

    def load(self, stored: Any) -> Any:
        return self._each("load", self._values(stored))

    def cell(self, value: Any) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "asDict"):
            return self._each("cell", self._tuple(value))
        return self._each("cell", self._values(value))

    def _tuple(self, value: Any) -> Sequence[Any]:
        if not isinstance(value, tuple) or len(value) != len(self._places):
            raise self.mismatch(value)
        return value

    def _values(self, value: Any) -> Sequence[Any]:
        given = value.asDict() if hasattr(value, "asDict") else value
        if not isinstance(given, Mapping) or given.keys() != self._places.keys():
            raise self.mismatch(value)
        return [given[name] for name in self._places]

    def _each(self, method: str, values: Sequence[Any]) -> tuple[Any, ...]:
        made = []
        for n, (codec, value) in enumerate(zip(self._places.values(), values, strict=True)):
            try:
                made.append(getattr(codec, method)(value))
            except MismatchError as e:
                raise e.under(f"[{n}]") from None
        return tuple(made)


class DictCodec(Codec):
    """Stored as an object where the keys are stored as text, else as a list of keys with values."""

    expected = "a dict"

    def __init__(self, key: Codec, value: Codec) -> None:
        self.spark = MapType(key.spark, value.spark, valueContainsNull=_may_be_null(value))
        self._key = key
        self._value = value
        self._as_object = isinstance(key.stored, StringType)

    @property
    def stored(self) -> DataType:
        if self._as_object:
            return MapType(self._key.stored, self._value.stored)
        pair = StructType().add("key", self._key.stored).add("value", self._value.stored)
        return ArrayType(pair)

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return [("[].key", self._key), ("[].value", self._value)]

    def check(self, value: Any) -> dict[Any, Any]:
        return dict(self._pairs(self._key.check, self._value.check, value))

    def dump(self, value: Any) -> dict[str, Any] | list[Any]:
        if isinstance(value, Mapping) and type(value) is not dict:
            raise self.altered(value)
        pairs = self._pairs(self._key.dump, self._value.dump, value)
        return dict(pairs) if self._as_object else [{"key": k, "value": v} for k, v in pairs]

    def load(self, stored: Any) -> dict[Any, Any]:
        if not isinstance(stored, list):
            return dict(self._pairs(self._key.load, self._value.load, stored))
        if not all(isinstance(p, dict) and p.keys() == {"key", "value"} for p in stored):
            raise self.mismatch(stored)
        made = {}
        for pair in stored:
            try:
                made[self._key.load(pair["key"])] = self._value.load(pair["value"])
            except MismatchError as e:
                raise e.under(f"[{pair['key']!r}]") from None
        return made

    def cell(self, value: Any) -> dict[Any, Any]:
        # Arrow gives a map as pairs.
        if isinstance(value, list) and all(isinstance(p, tuple) and len(p) == 2 for p in value):
            value = dict(value)
        return dict(self._pairs(self._key.cell, self._value.cell, value))

    def _pairs(
        self, key: Callable[[Any], Any], value: Callable[[Any], Any], given: Any
    ) -> list[tuple[Any, Any]]:
        if not isinstance(given, Mapping):
            raise self.mismatch(given)
        made = []
        for k, v in given.items():
            try:
                made.append((key(k), value(v)))
            except MismatchError as e:
                raise e.under(f"[{k!r}]") from None
        return made


COMPOUND = (
    OptionalCodec,
    ListCodec,
    RecordCodec,
    DictCodec,
    StructCodec,
    UnionCodec,
    JsonCodec,
)
"""What cannot be a map's key, or in a set."""


def _elements(through: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    made = []
    for n, value in enumerate(values):
        try:
            made.append(through(value))
        except MismatchError as e:
            raise e.under(f"[{n}]") from None
    return made
