"""How enums, literals and UUIDs cross the borders: see `codecs`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pyspark.sql.types import StringType

from bucketstate.stateful.codec.codecs import Codec
from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Sequence


class EnumCodec(Codec):
    """A member, kept and put out as its value."""

    def __init__(self, cls: type[Enum], inner: Codec) -> None:
        self.spark = inner.spark
        self.expected = f"a {cls.__name__}"
        self._cls = cls
        self._inner = inner

    def check(self, value: Any) -> Any:
        if not isinstance(value, self._cls):
            raise self.mismatch(value)
        return self._inner.check(value.value)

    def load(self, stored: Any) -> Enum:
        return self._member(self._inner.load(stored))

    def cell(self, value: Any) -> Enum:
        return self._member(self._inner.cell(value))

    def _member(self, value: Any) -> Enum:
        try:
            return self._cls(value)
        except ValueError:
            values = ", ".join(repr(m.value) for m in self._cls)
            raise MismatchError(f"the value of a {self._cls.__name__} ({values})", value) from None


class LiteralCodec(Codec):
    """One of some texts, or of some whole numbers."""

    def __init__(self, values: Sequence[Any], inner: Codec) -> None:
        self.spark = inner.spark
        self.expected = f"one of {', '.join(map(repr, values))}"
        self._values = frozenset(values)
        self._inner = inner

    def check(self, value: Any) -> Any:
        return self._one(self._inner.check, value)

    def dump(self, value: Any) -> Any:
        if isinstance(value, Enum):
            raise self.altered(value)
        return self.check(value)

    def load(self, stored: Any) -> Any:
        return self._one(self._inner.load, stored)

    def cell(self, value: Any) -> Any:
        return self._one(self._inner.cell, value)

    def _one(self, through: Any, value: Any) -> Any:
        try:
            made = through(value)
        except MismatchError:
            raise self.mismatch(value) from None
        if made not in self._values:
            raise self.mismatch(value)
        return made


class UuidCodec(Codec):
    """Kept and put out as text, in its usual form."""

    spark = StringType()
    expected = "a UUID"

    def check(self, value: Any) -> str:
        if not isinstance(value, UUID):
            raise self.mismatch(value)
        return str(value)

    def load(self, stored: Any) -> UUID:
        return self.cell(stored)

    def cell(self, value: Any) -> UUID:
        if not isinstance(value, str):
            raise self.mismatch(value)
        try:
            return UUID(value)
        except ValueError:
            raise MismatchError("the text of a UUID", value) from None
