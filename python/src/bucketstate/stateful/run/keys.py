"""The key of a group, as a named tuple of Python values."""

from __future__ import annotations

import math
import struct
from collections import namedtuple
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.codec.classes import is_record_instance, names_of, values_of
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.ddl import codec_of_type
from bucketstate.stateful.codec.hints import codec_of_hint, hints_of_record
from bucketstate.stateful.errors import DefinitionError, MismatchError, WrongTypeError, did_you_mean
from bucketstate.stateful.run.plain import Plain, needs_plain
from bucketstate.stateful.run.wire import wired

if TYPE_CHECKING:
    from datetime import tzinfo

    from bucketstate.stateful.codec.codecs import Codec


def key_field(schema: StructType, name: str) -> StructField:
    """The column of the rows that is grouped by: Spark finds it by its name in any case.

    Raises DefinitionError where there is none.
    """
    if name not in schema.names:
        alike = [field for field in schema.fields if field.name.lower() == name.lower()]
        if not alike:
            raise DefinitionError(
                f"by={name!r} is not a column of the rows, which have {', '.join(schema.names)}. "
                f"{did_you_mean(name, schema.names, repr)}".rstrip()
            )
        return alike[0]
    return schema[name]


class KeyFloat(float):
    """A float that is equal to those of the same bits alone, as Spark keeps keys apart.

    So -0.0 is not 0.0, and a NaN is equal to itself.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and _bits(self) == _bits(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_bits(self)) if _is_nan(self) else super().__hash__()


class KeyCodec:
    """Makes keys of what Spark hands over: of what travels, see `wire`, in numpy's types.

    A name that a field cannot have, such as `from` or `event type`, is `_0` for the first column.

    Args:
        schema: of the grouping columns, with the types that they have in the rows.
        zone: the session's.
        hinted: the class that the function's `key` is hinted as, a NamedTuple or a dataclass.

    Raises:
        DefinitionError: that class has other fields than the grouping columns, or other types.
    """

    def __init__(self, schema: StructType, zone: tzinfo, hinted: type[Any] | None = None) -> None:
        self.names = tuple(schema.names)
        self._hinted = hinted
        codecs = {} if hinted is None else _codecs_of(hinted, schema, zone)
        self._columns = [_Column(f.name, f.dataType, zone) for f in schema.fields]
        self._typed = [_Column(f.name, f.dataType, zone, codecs.get(f.name)) for f in schema.fields]
        self._exact = [c.exact for c in self._typed]

    @cached_property
    def type(self) -> Any:
        return namedtuple("Key", self.names, rename=True)

    def __call__(self, cells: tuple[Any, ...]) -> Any:
        columns = zip(self._typed, self._exact, cells, strict=True)
        values = [c if type(c) is exact else f(c) for f, exact, c in columns]
        if self._hinted is None:
            return self.type._make(values)
        return self._hinted(**dict(zip(self.names, values, strict=True)))

    def identity(self, cells: tuple[Any, ...]) -> Any:
        """The key by which Spark keeps states apart.

        A NaN is not a null, though both are None to the function.
        """
        pairs = zip(self._columns, cells, strict=True)
        return self.type._make([_frozen(_float_or(c, column(c))) for column, c in pairs])

    def given(self, values: tuple[Any, ...]) -> Any:
        """A key that somebody names, as `identity` has it.

        Raises MismatchError, with the column's name, for one that the columns cannot have.
        """
        made = []
        for column, value in zip(self._columns, values, strict=True):
            try:
                made.append(_frozen(column.given(value)))
            except MismatchError as e:
                raise e.under(column.name) from None
        return self.type._make(made)

    def cells(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """What Spark hands over for a key of `given`."""
        return tuple(c.cell(v) for c, v in zip(self._columns, given, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "type"}


class _Column:
    """One grouping column."""

    def __init__(
        self, name: str, spark: DataType, zone: tzinfo, hinted: Codec | None = None
    ) -> None:
        self.name = name
        self._spark = spark
        self._plain = Plain(spark, zone) if needs_plain(spark) else None
        self._codec = hinted
        if hinted is not None:
            return
        with suppress(DefinitionError):
            self._codec = OptionalCodec(codec_of_type(spark, name, zone))

    @property
    def exact(self) -> type[Any] | None:
        """The type of cells that are the function's values already."""
        if self._plain is not None or isinstance(self._spark, FloatType | DoubleType):
            return None
        if isinstance(self._spark, StringType) and self._codec is None:
            return str
        return None if self._codec is None else self._codec.exact

    def __call__(self, cell: Any) -> Any:
        try:
            if self._plain is not None:
                cell = self._plain(cell)
            if self._codec is None:
                return cell.item() if isinstance(cell, np.generic) else cell
            return self._codec.cell(cell)
        except MismatchError as e:
            raise WrongTypeError(
                f"The grouping column {self.name} has {e.found_text}, expected {e.expected}. Group "
                "by a column that Python can hold, such as a text, or change the hint of key."
            ) from None

    def given(self, value: Any) -> Any:
        value = _with_structs(value, self._spark)
        if self._codec is None or (isinstance(value, float) and _is_nan(value)):
            return value
        return self._codec.cell(self._codec.check(value))

    def cell(self, value: Any) -> Any:
        return wired(_with_structs(value, self._spark), self._spark)


def _with_structs(value: Any, spark: DataType) -> Any:
    """The value with dicts for structs, which are tuples of their values in a key as it is kept.

    MismatchError for what a struct cannot be.
    """
    if isinstance(spark, ArrayType) and isinstance(value, list | tuple):
        return [_with_structs(v, spark.elementType) for v in value]
    if value is None or not isinstance(spark, StructType):
        return value
    fields = _fields_of(value)
    if isinstance(fields, tuple) and len(fields) == len(spark.names):
        fields = dict(zip(spark.names, fields, strict=True))
    if not isinstance(fields, Mapping) or fields.keys() - set(spark.names):
        raise MismatchError(f"a {spark.simpleString()}", value)
    made = {}
    for field in spark.fields:
        try:
            made[field.name] = _with_structs(fields.get(field.name), field.dataType)
        except MismatchError as e:
            raise e.under(field.name) from None
    return made


def _fields_of(value: Any) -> Any:
    """The fields of a row of Spark's or of a record by name; all else as it is."""
    if hasattr(value, "__fields__") and hasattr(value, "asDict"):
        return value.asDict()
    return values_of(value) if is_record_instance(value) else value


def _codecs_of(hinted: type[Any], schema: StructType, zone: tzinfo) -> dict[str, Codec]:
    """The codecs of a key's fields; DefinitionError where they do not fit the grouping columns."""
    hints, fields = hints_of_record(hinted), names_of(hinted)
    if sorted(fields) != sorted(schema.names):
        raise DefinitionError(
            f"key is hinted as {hinted.__name__}, which has the fields {', '.join(fields)}, and "
            f"the rows are grouped by {', '.join(schema.names)}: give it these fields."
        )
    made = {}
    for field in schema.fields:
        where = f"{hinted.__name__}.{field.name}"
        codec = codec_of_hint(hints[field.name], where, zone)
        if not alike(codec.spark, field.dataType):
            raise DefinitionError(
                f"{where} is {codec.expected}, and the rows are grouped by a "
                f"{field.dataType.simpleString()} of that name: change the hint or the column."
            )
        made[field.name] = codec
    return made


def alike(hinted: DataType, column: DataType) -> bool:
    """Whether values of a column can be those of a hint, or of another column."""
    kinds: tuple[Any, ...] = (
        IntegralType,
        FloatType | DoubleType,
        TimestampType | TimestampNTZType,
        DecimalType,
        StringType,
    )
    if any(isinstance(hinted, kind) and isinstance(column, kind) for kind in kinds):
        return True
    # A test's column of None alone has no type yet.
    return type(hinted) is type(column) or NullType in (type(hinted), type(column))


def _is_nan(value: float) -> bool:
    return math.isnan(value)


def _bits(value: float) -> bytes:
    return struct.pack(">d", value)


def _float_or(cell: Any, value: Any) -> Any:
    """A NaN is the one that came."""
    if value is None and isinstance(cell, float | np.floating) and cell != cell:
        return float(cell)
    return value


def _frozen(value: Any) -> Any:
    """The value in a form that can be a dict's key."""
    if isinstance(value, float):
        return KeyFloat(value)
    if is_record_instance(value):
        value = values_of(value)
    if isinstance(value, Mapping):
        return tuple(map(_frozen, value.values()))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    return value
