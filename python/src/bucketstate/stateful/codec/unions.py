"""How values of one of several classes, and values of any type, cross the borders: see `codecs`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pyspark.sql.types import DataType, StringType, StructField, StructType

from bucketstate.stateful.codec.codecs import Codec, missing
from bucketstate.stateful.codec.json_text import decode, encode
from bucketstate.stateful.codec.structs import StructCodec
from bucketstate.stateful.errors import NOTHING, MismatchError

TAG = "tag"
"""The field that says which class a value is of."""


class UnionCodec(Codec):
    """An instance of one of some classes: in Spark a struct with a field for each, and a tag.

    All fields but the tag and that of the value's own class are null, and not stored.
    """

    def __init__(self, members: Mapping[str, StructCodec]) -> None:
        self._members = dict(members)
        self._tags = {codec.cls: tag for tag, codec in members.items()}
        names = [codec.cls.__name__ for codec in members.values()]
        self.expected = f"an instance of {' or '.join(names)}"
        self.spark = self._struct({tag: codec.spark for tag, codec in members.items()})

    @property
    def stored(self) -> DataType:
        return self._struct({tag: codec.stored for tag, codec in self._members.items()})

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return self._members.items()

    def check(self, value: Any) -> dict[str, Any]:
        tag, codec = self._of(value)
        return {TAG: tag, **dict.fromkeys(self._members), tag: self._inner(codec.check, tag, value)}

    def dump(self, value: Any) -> dict[str, Any]:
        tag, codec = self._of(value)
        return {TAG: tag, tag: self._inner(codec.dump, tag, value)}

    def load(self, stored: Any) -> Any:
        tag, body = self._tagged(stored)
        return self._inner(self._members[tag].load, tag, body)

    def cell(self, value: Any) -> Any:
        tag, body = self._tagged(value.asDict() if hasattr(value, "asDict") else value)
        return self._inner(self._members[tag].cell, tag, body)

    def _of(self, value: Any) -> tuple[str, StructCodec]:
        # Of a subclass, what comes back would be another class's.
        tag = self._tags.get(type(value))
        if tag is None:
            raise self.mismatch(value)
        return tag, self._members[tag]

    def _tagged(self, given: Any) -> tuple[str, Any]:
        if not isinstance(given, Mapping):
            raise self.mismatch(given)
        tag = given.get(TAG, NOTHING)
        if tag not in self._members:
            raise MismatchError(f"one of the tags {', '.join(self._members)}", tag, TAG)
        return tag, given.get(tag)

    def _inner(self, through: Any, tag: str, value: Any) -> Any:
        try:
            return through(value)
        except MismatchError as e:
            raise (e.under(tag) if e.path else e) from None

    def _struct(self, kinds: Mapping[str, DataType]) -> StructType:
        fields = [StructField(tag, kind, True) for tag, kind in kinds.items()]
        return StructType([StructField(TAG, StringType(), True), *fields])


class JsonCodec(Codec):
    """`Any`: whatever JSON has. A part of the document, and in rows its text."""

    spark = StringType()
    expected = "what JSON has (None, bool, int, float, str, list, dict of str)"
    nullable: ClassVar[bool] = True

    def check(self, value: Any) -> str | None:
        return None if value is None else encode(self.dump(value))

    def dump(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return [self._under(f"[{n}]", v) for n, v in enumerate(value)]
        if kind is dict and all(type(key) is str for key in value):
            return {key: self._under(f"[{key!r}]", v) for key, v in value.items()}
        raise self.mismatch(value)

    def load(self, stored: Any) -> Any:
        return stored

    def cell(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                return decode(value)
            except ValueError:
                raise MismatchError("a text of JSON", value) from None
        if not isinstance(value, list | dict) and missing(value):
            return None
        raise MismatchError("a text of JSON", value)

    def _under(self, place: str, value: Any) -> Any:
        try:
            return self.dump(value)
        except MismatchError as e:
            raise e.under(place) from None
