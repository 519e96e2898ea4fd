"""Columns and rows that are asked for, by name: `key.station`, `state.total`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.checkpoint.spark.python_values import held_by_python
from bucketstate.errors import InvalidArgumentError

Filter = tuple[str, str, Any]
"""A column's name, one of `OPERATORS`, and a value; of `in` and `not in` several values."""

_COMPARED: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_OF_NUMBERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OF_SEVERAL = ("in", "not in")
OPERATORS = (*_COMPARED, *_OF_SEVERAL)
_OF_NULL = {"=": pc.is_null, "==": pc.is_null, "!=": pc.is_valid}
_EQUAL = ("=", "==")
_EXACT = ((pa.types.is_integer, int), (pa.types.is_string, str), (pa.types.is_boolean, bool))
"""Types of columns, and of the values with which a key of them is looked up."""


class Shown(str):
    """A bound from above for texts as they are shown, with letters for what is no UTF-8.

    These letters are below others that the byte is above. So what has such bytes may lie below the
    bound, however the bytes compare, and is not left out.
    """

    __slots__ = ()


def checked(filters: Sequence[Filter] | None, schema: pa.Schema) -> list[Filter]:
    """The filters; InvalidArgumentError for what is none, or of no column."""
    found = []
    for given in filters or ():
        is_one = isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], str)
        if not is_one or given[1] not in OPERATORS:
            raise InvalidArgumentError(
                f"filters has {given!r}: give tuples of a column, one of "
                f"{', '.join(OPERATORS)}, and a value."
            )
        if given[1] in _OF_SEVERAL and not _are_several(given[2]):
            raise InvalidArgumentError(f"filters has {given!r}: give a list of values.")
        path_of(given[0], schema, "filters")
        found.append(given)
    return found


def path_of(name: Any, schema: pa.Schema, argument: str) -> tuple[str, ...]:
    """Where a column lies; InvalidArgumentError, with what there is, for one that is not there."""
    known = _paths(schema)
    if not isinstance(name, str) or name not in known:
        raise InvalidArgumentError(
            f"{argument} has the column {name!r}, which is not there. There are: "
            f"{', '.join(known)}."
        )
    return known[name]


def key_in(filters: Sequence[Filter], schema: pa.Schema) -> dict[str, Any] | None:
    """The values that the filters ask of all columns of the key; None if not of all.

    None, too, where a column's values may be equal to what is not the same key, as 0.0 and -0.0.
    """
    kind = schema.field("key").type
    if not pa.types.is_struct(kind):
        return None
    wanted = {name: value for name, how, value in filters if how in _EQUAL}
    found = {}
    for field in kind:
        value = wanted.get(f"key.{field.name}")
        if not _is_exact(field.type, value):
            return None
        found[field.name] = value
    return found or None


def rows_where(batch: pa.RecordBatch, filters: Sequence[Filter]) -> pa.RecordBatch:
    """The rows that all filters want. Nulls are wanted by those alone that ask for None."""
    if not filters:
        return batch
    masks = []
    for name, how, value in filters:
        column = column_of(batch, path_of(name, batch.schema, "filters"))
        try:
            masks.append(_mask(column, how, value))
        # Of numbers that are too large, and of texts that are none, come errors of Python's own.
        except (pa.ArrowException, TypeError, ValueError, ArithmeticError) as e:
            wanted = "values" if how in _OF_SEVERAL else "a value"
            raise InvalidArgumentError(
                f"filters has {(name, how, value)!r}, but {name} is {column.type}: give {wanted} "
                "of that type."
            ) from e
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_(mask, other)
    return batch.filter(mask, null_selection_behavior="drop")


def _mask(column: pa.Array, how: str, value: Any) -> pa.Array:
    if how in _OF_SEVERAL:
        found = _equal_to_one(column, value)
        return found if how == "in" else pc.invert(found)
    if pa.types.is_integer(column.type) and (number := _number(value)) is not None:
        return _whole_mask(column, how, number)
    if value is not None:
        # As one value: a list would be compared to the rows, one by one.
        one = value if isinstance(value, pa.Scalar) else pa.scalar(value)
        found = _COMPARED[how](column, one)
        return pc.or_(found, _no_utf8(column)) if isinstance(value, Shown) else found
    if how not in _OF_NULL:
        raise TypeError("null is neither less nor more")
    return _OF_NULL[how](column)


def _no_utf8(texts: pa.Array) -> pa.Array | pa.Scalar:
    """Which texts are no UTF-8."""
    if held_by_python(texts):
        return pa.scalar(False)
    return pa.array([not _is_utf8(raw or b"") for raw in texts.cast(pa.binary()).to_pylist()])


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _whole_mask(column: pa.Array, how: str, number: int | float | Decimal) -> pa.Array:
    """How whole numbers compare to any number, as in Python; Arrow would make floats of both."""
    kind = column.type
    bits = kind.bit_width
    least, most = (
        (-(1 << bits - 1), (1 << bits - 1) - 1)
        if pa.types.is_signed_integer(kind)
        else (0, (1 << bits) - 1)
    )
    if not least <= number <= most:
        # All of the column lie on one side of it, and 0 among them; a NaN has none.
        return _for_all(column, _OF_NUMBERS[how](0, number))
    below = math.floor(number)
    if number == below:
        return _COMPARED[how](column, pa.scalar(below, kind))
    if how in _OF_NULL:
        return _for_all(column, how == "!=")
    # Less than 2.5 is what is less than 3, and more than 2.5 what is more than 2.
    return _COMPARED[how](column, pa.scalar(below + (how in ("<", ">=")), kind))


def _for_all(column: pa.Array, answer: bool) -> pa.Array:
    """A column of one answer for all values, which is null for a null."""
    return pc.if_else(pc.is_valid(column), answer, None)


def _number(value: Any) -> int | float | Decimal | None:
    """The number that it is; None for what is none, such as a bool."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    elif isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float | Decimal) and type(value) is not bool else None


def _equal_to_one(column: pa.Array, values: Iterable[Any]) -> pa.Array:
    """What `=` says of the values, any of them; null for a null if None is not among them."""
    several = list(values)
    if all(_is_exact(column.type, value) for value in several):
        # All at once: an array of these has the values themselves. One of others may have less,
        # such as 57 for 57.9, or is compared in another way, as 0.0 and -0.0.
        with suppress(pa.ArrowInvalid, OverflowError):
            # A number may be too large for the column, though not for a comparison.
            found = pc.is_in(column, pa.array(several, column.type))
            return pc.if_else(pc.is_valid(column), found, None)
    found = _mask(column, "=", several[0])
    for value in several[1:]:
        found = pc.or_kleene(found, _mask(column, "=", value))
    return found


def _is_exact(kind: pa.DataType, value: Any) -> bool:
    return any(is_kind(kind) and type(value) is of for is_kind, of in _EXACT)


def _are_several(values: Any) -> bool:
    """Whether they are values that can be read for each batch: an iterator is read once."""
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Iterator))


def column_of(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    """A column, or a field inside of one; null where what it is in is null."""
    column = batch.column(path[0])
    return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column


def type_at(schema: pa.Schema, path: Sequence[str]) -> pa.DataType:
    kind = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def _paths(schema: pa.Schema) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}

    def add(field: pa.Field, before: tuple[str, ...]) -> None:
        path = (*before, field.name)
        found[".".join(path)] = path
        if pa.types.is_struct(field.type):
            for inner in field.type:
                add(inner, path)

    for field in schema:
        add(field, ())
    return found
