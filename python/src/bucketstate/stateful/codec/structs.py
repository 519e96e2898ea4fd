"""The codec of classes with fields, which are structs in Spark: see `classes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructField, StructType

from bucketstate.stateful.codec.classes import fields_of, names_of, refusal, validates
from bucketstate.stateful.codec.codecs import LEAST, MOST, Codec
from bucketstate.stateful.codec.noticed import NOTICED
from bucketstate.stateful.errors import (
    NOTHING,
    DefinitionError,
    MismatchError,
    did_you_mean,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_OWN_CODE = (
    "The class's own code says so, and it runs each time a state is read, too: give it what it "
    "takes, have it take more, or raise its version and add a migration of what is stored."
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class or struct; `required` says that it has no default.

    `fresh` makes the default where that of the class would be one object for all instances.
    """

    name: str
    codec: Any
    required: bool
    fresh: Callable[[], Any] | None = None


class StructCodec(Codec):
    """An instance of a class, or a mapping with the same fields.

    Args:
        cls: the class.
        fields: its fields, or those of them that are stored with it.
        made: whether the class was made of a schema, so that nobody else makes instances of it.
    """

    def __init__(self, cls: type[Any], fields: Sequence[Field], *, made: bool = False) -> None:
        self.cls = cls
        self._made = made
        self.fields = tuple(fields)
        self.names = tuple(f.name for f in fields)
        check_names(cls.__name__, self.names)
        self.expected = f"an instance of {cls.__name__}"
        self.schema = StructType([StructField(f.name, f.codec.spark, True) for f in fields])
        self.spark = self.schema
        self._codecs = tuple((f.name, f.codec) for f in fields)
        # Most values are of the one type that needs no look: a call for each would cost the most.
        self._exact = tuple((f.name, f.codec.exact, f.codec) for f in fields)
        # Of a state, its parts, too.
        self._attributes = frozenset(names_of(cls))
        self.positional = not any(f.kw_only for f in fields_of(cls))
        """Whether an instance is made of the values in their order."""
        self._validates = validates(cls)
        self._fresh = tuple((n, f.name, f.fresh) for n, f in enumerate(fields) if f.fresh)

    @property
    def stored(self) -> DataType:
        return StructType([StructField(n, c.stored, True) for n, c in self._codecs])

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        return self._codecs

    def row(self, value: Any) -> tuple[Any, ...]:
        """The fields' values as Spark takes them, in the schema's order."""
        made = []
        if isinstance(value, self.cls):
            for name, exact, codec in self._exact:
                found = getattr(value, name)
                if type(found) is exact and (exact is not int or LEAST <= found <= MOST):
                    made.append(found)
                    continue
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
        if given is not None and given.keys() != self._attributes:
            self._check_attributes(value)
            given = None
        if given is None:
            if type(value) is self.cls:
                given = {n: getattr(value, n) for n in self._attributes}
            elif isinstance(value, self.cls) or (_is_mapping(value) and not self._made):
                raise self.altered(value)
            else:
                given = self._of_mapping(value)
        if self._validates:
            # What it does not take could not be loaded.
            self.make(**given)
        made = {}
        for name, exact, codec in self._exact:
            found = given[name]
            if type(found) is exact and (exact is not int or LEAST <= found <= MOST):
                made[name] = found
                continue
            try:
                made[name] = codec.dump(found)
            except MismatchError as e:
                raise e.under(name) from None
        return made

    def load(self, stored: Any) -> Any:
        arguments = self.arguments(stored)
        # The numbers alone tell whether the names are today's: what was read has known ones.
        if not len(stored) == len(arguments) == len(self.names):
            NOTICED.names(self.cls.__name__, stored, self.names)
        return self.make(**arguments)

    def cell(self, value: Any) -> Any:
        given = value.asDict() if hasattr(value, "asDict") else value
        return self.make(**self._read(given, "cell"))

    def make(self, *values: Any, **named: Any) -> Any:
        """An instance. Raises MismatchError where the class's own code does not take the values."""
        if self._fresh:
            named = self.with_fresh(named, len(values))
        try:
            return self.cls(*values, **named)
        except Exception as e:
            found = dict(zip(self.names, values, strict=False)) | named
            expected = f"what {self.cls.__name__} takes ({refusal(e)})"
            raise MismatchError(expected, found, advice=_OWN_CODE, cause=e) from None

    def with_fresh(self, named: dict[str, Any], first: int = 0) -> dict[str, Any]:
        """The fields by name, and a default for each whose class has one object for all.

        So many of the first fields are given otherwise.
        """
        absent = {n: fresh() for at, n, fresh in self._fresh if at >= first and n not in named}
        return {**named, **absent} if absent else named

    def arguments(self, stored: Any) -> dict[str, Any]:
        """The known fields that are stored, to construct the class with; others have defaults."""
        return self._read(stored, "load")

    def given(self, cells: Any) -> dict[str, Any]:
        """The known fields that a row has, as Spark and Arrow have them; others have defaults."""
        return self._read(cells, "cell")

    def _read(self, given: Any, method: str) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise self.mismatch(given)
        made = {}
        for field in self.fields:
            if field.name not in given:
                if field.required:
                    expected = f"{field.codec.expected} (the field has no default)"
                    raise MismatchError(expected, NOTHING, field.name)
                continue
            value = given[field.name]
            exact = field.codec.exact
            if type(value) is exact and (exact is not int or LEAST <= value <= MOST):
                made[field.name] = value
                continue
            try:
                made[field.name] = getattr(field.codec, method)(value)
            except MismatchError as e:
                raise e.under(field.name) from None
        return made

    def _check_attributes(self, value: Any) -> None:
        """MismatchError for an attribute that is no field, and would not be stored.

        One that the class itself sets when it is made, or whose name begins with an underscore, is
        its own affair.
        """
        for name in self._attributes - value.__dict__.keys():
            if not hasattr(value, name):
                raise MismatchError(dict(self._codecs)[name].expected, NOTHING, name)
        odd = [n for n in value.__dict__ if n not in self._attributes and not n.startswith("_")]
        if not odd:
            return
        fresh = self.make(**{name: getattr(value, name) for name in self._attributes})
        for name in odd:
            if name in fresh.__dict__ or _cached(self.cls, name):
                continue
            raise MismatchError(
                f"an attribute that is a field of {self.cls.__name__}",
                value.__dict__[name],
                name,
                advice=did_you_mean(name, self._attributes)
                + "Only fields are stored: use one of them, add one, or begin the name with an "
                "underscore if it is for this call alone.",
            )

    def _of_mapping(self, value: Any) -> Mapping[str, Any]:
        value = by_name(value)
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


def check_names(owner: str, names: Sequence[str]) -> None:
    """DefinitionError for two names that are one for Spark, which does not mind their case."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(name.lower())) is not None:
            raise DefinitionError(
                f"{owner} has {other} and {name}, which are one name for Spark: rename one of them."
            )
        seen[name.lower()] = name


def by_name(value: Any) -> Any:
    """A row of Spark's, or a named tuple, as a dict of its fields; all else as it is."""
    if isinstance(value, tuple):
        for method in ("asDict", "_asdict"):
            if hasattr(value, method):
                return getattr(value, method)()
    return value


def _is_mapping(value: Any) -> bool:
    return isinstance(by_name(value), Mapping)


def _cached(cls: type[Any], name: str) -> bool:
    """Whether an instance has an attribute of this name because a property keeps it there."""
    return isinstance(getattr_static(cls, name, None), cached_property)
