"""What a shell gives to narrow rows: the conditions of `--where`, the names of `--columns`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.filtering import Filter, path_of, type_at
from bucketstate.errors import InvalidArgumentError

_FORM = (
    "give conditions such as key.user = 'ann' and value.count >= 5; operators are =, !=, <, <=, >, "
    ">=, in (...) and not in (...)"
)
_NAME = re.compile(r"\s*([^\s=!<>(),']+)")
_OPERATOR = re.compile(r"\s*(==|=|!=|<=|>=|<|>|not\s+in\b|in\b)", re.IGNORECASE)
_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^\s(),']+))")
_MARK = re.compile(r"\s*(\(|\)|,|and\b|$)", re.IGNORECASE)


def columns_of(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",")]


def filters_of(text: str, schema: pa.Schema) -> list[Filter]:
    """Conditions as a scan has them, with values of the columns' types.

    Raises InvalidArgumentError for what is no such condition.
    """
    return list(_Conditions(text, schema).read())


class _Conditions:
    def __init__(self, text: str, schema: pa.Schema) -> None:
        self._text = text
        self._schema = schema
        self._at = 0

    def read(self) -> Iterator[Filter]:
        while True:
            name = self._next(_NAME)[1]
            how = " ".join(self._next(_OPERATOR)[1].lower().split())
            kind = type_at(self._schema, path_of(name, self._schema, "--where"))
            if how in ("in", "not in"):
                yield name, how, self._values(name, kind)
            else:
                yield name, how, self._value(name, kind)
            mark = self._next(_MARK)[1].lower()
            if mark == "":
                return
            if mark != "and":
                raise self._wrong()

    def _values(self, name: str, kind: pa.DataType) -> list[Any]:
        self._mark("(")
        found = [self._value(name, kind)]
        while (mark := self._next(_MARK)[1]) == ",":
            found.append(self._value(name, kind))
        if mark != ")":
            raise self._wrong()
        return found

    def _value(self, name: str, kind: pa.DataType) -> Any:
        found = self._next(_VALUE)
        text = found[2] if found[1] is None else found[1].replace("''", "'")
        try:
            return _typed(text, kind)
        except (ValueError, InvalidOperation, pa.ArrowException) as error:
            raise InvalidArgumentError(
                f"--where has {text!r} for {name}, which is {kind}: give a value of that type."
            ) from error

    def _mark(self, wanted: str) -> None:
        if self._next(_MARK)[1] != wanted:
            raise self._wrong()

    def _next(self, form: re.Pattern[str]) -> re.Match[str]:
        found = form.match(self._text, self._at)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        return found

    def _wrong(self) -> InvalidArgumentError:
        rest = self._text[self._at :].strip() or "its end"
        return InvalidArgumentError(f"--where {self._text!r} is not clear at {rest!r}: {_FORM}.")


def _typed(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(text), kind)
    if pa.types.is_binary(kind):
        return bytes.fromhex(text)
    if pa.types.is_boolean(kind):
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            return pa.scalar(text).cast(kind)
        except pa.ArrowInvalid:
            # A reading without a zone is one in UTC, as everywhere in a checkpoint; so is a date.
            return pa.scalar(text).cast(pa.timestamp(kind.unit)).cast(kind)
    return text if pa.types.is_string(kind) else pa.scalar(text).cast(kind)
