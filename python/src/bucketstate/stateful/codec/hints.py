"""Codecs from type hints: of a dataclass, and of the types a field may have."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Hashable
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from inspect import Parameter, signature
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from pyspark.sql.types import DecimalType

from bucketstate.stateful.codec.choices import EnumCodec, LiteralCodec, UuidCodec
from bucketstate.stateful.codec.classes import Fields, decorator_of, fields_of, hints_of, is_record
from bucketstate.stateful.codec.codecs import (
    MOST_DIGITS,
    BoolCodec,
    BytesCodec,
    Codec,
    DecimalCodec,
    FloatCodec,
    IntCodec,
    StrCodec,
)
from bucketstate.stateful.codec.containers import (
    COMPOUND,
    DictCodec,
    ListCodec,
    OptionalCodec,
    RecordCodec,
    SetCodec,
    TupleCodec,
)
from bucketstate.stateful.codec.defaults import check_own, fresh_default, has_default
from bucketstate.stateful.codec.structs import Field, StructCodec
from bucketstate.stateful.codec.times import (
    DateCodec,
    DatetimeCodec,
    TimeCodec,
    TimedeltaCodec,
)
from bucketstate.stateful.codec.unions import TAG, JsonCodec, UnionCodec
from bucketstate.stateful.errors import DefinitionError

if sys.version_info >= (3, 14):
    import annotationlib

PLAIN = (
    "int, float, bool, str, bytes, Decimal, date, datetime, time, timedelta, UUID, Enum, Literal"
)
SUPPORTED = (
    f"{PLAIN}, X | None, list[X], tuple[X, ...], tuple[X, Y], set[X], dict[K, V], Any for JSON, "
    "classes with fields of these (dataclasses, NamedTuples, attrs, pydantic), and X | Y of such "
    "classes"
)
_BARE: dict[Any, str] = {
    list: "list[int]",
    tuple: "tuple[int, ...]",
    set: "set[int]",
    frozenset: "frozenset[int]",
    dict: "dict[str, int]",
}

_SCALARS: dict[Any, Any] = {
    int: IntCodec,
    float: FloatCodec,
    bool: BoolCodec,
    str: StrCodec,
    bytes: BytesCodec,
    Decimal: DecimalCodec,
    date: DateCodec,
    time: TimeCodec,
    timedelta: TimedeltaCodec,
    UUID: UuidCodec,
}


def codec_of_hint(hint: Any, where: str, zone: tzinfo, within: tuple[type, ...] = ()) -> Codec:
    """The codec of a hint; `where` names the field in the error for a hint it cannot have."""
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        return _annotated(codec_of_hint(inner, where, zone, within), inner, notes, where)
    if hint is datetime:
        return DatetimeCodec(zone)
    if isinstance(hint, type) and hint in _SCALARS:
        return typing.cast(Codec, _SCALARS[hint]())
    if isinstance(hint, type) and issubclass(hint, Enum):
        values = [member.value for member in hint.__members__.values()]
        return EnumCodec(hint, _codec_of_values(values, hint, where))
    if hint is Any:
        return JsonCodec()
    if is_record(hint):
        return struct_of_record(hint, zone, within)
    if isinstance(hint, TypeVar):
        name = where.rpartition(".")[2]
        raise DefinitionError(
            f"{where} is {hint}, a type variable: annotate the field again in the class where its "
            f"type is known, such as {name}: int."
        )
    origin, arguments = get_origin(hint), get_args(hint)
    made = None if not arguments else _generic(hint, origin, arguments, where, zone, within)
    if made is not None:
        return made
    if isinstance(hint, Hashable) and hint in _BARE:
        raise DefinitionError(
            f"{where} is {_text(hint)}, which does not say what it holds: write for example "
            f"{_BARE[hint]}."
        )
    raise DefinitionError(
        f"{where} is {_text(hint)}, which has no place in a Spark schema. "
        f"Supported are {SUPPORTED}."
    )


def _annotated(found: Codec, inner: Any, notes: list[Any], where: str) -> Codec:
    """What stands beside a Decimal says its digits; other notes are for others."""
    plain = found
    while isinstance(plain, OptionalCodec):
        plain = plain.inner
    for note in notes:
        if isinstance(plain, DecimalCodec) and isinstance(note, DecimalType | tuple):
            made = DecimalCodec(*_digits(note, where))
            return made if plain is found else OptionalCodec(made)
        if _says_digits(note):
            raise DefinitionError(
                f"{where} is {_text(inner)}, with the digits of a Decimal, {note!r}: write "
                "Annotated[Decimal, (precision, scale)] where the Decimal is, or leave them out."
            )
    return found


def _digits(note: DecimalType | tuple[Any, ...], where: str) -> tuple[int, int]:
    given = (note.precision, note.scale) if isinstance(note, DecimalType) else note
    if not _are_digits(given):
        raise DefinitionError(
            f"{where} is a Decimal of the digits {given!r}: write Annotated[Decimal, (precision, "
            f"scale)], with 0 <= scale <= precision <= {MOST_DIGITS}."
        )
    return given[0], given[1]


def _says_digits(note: Any) -> bool:
    return isinstance(note, DecimalType) or (isinstance(note, tuple) and _are_digits(note))


def _are_digits(given: tuple[Any, ...]) -> bool:
    return [type(n) for n in given] == [int, int] and 0 <= given[1] <= given[0] <= MOST_DIGITS


def _codec_of_values(values: Any, hint: Any, where: str) -> Codec:
    """The codec of an enum's or a literal's values."""
    for kind, codec in ((str, StrCodec), (int, IntCodec)):
        if values and all(isinstance(v, kind) and not isinstance(v, bool) for v in values):
            return typing.cast(Codec, codec())
    raise DefinitionError(
        f"{where} is {_text(hint)}, whose values are {', '.join(map(repr, values)) or 'none'}: a "
        "column holds texts alone or whole numbers alone. Give it values of one of these."
    )


def _check_no_member(values: list[Any], hint: Any, where: str) -> None:
    """DefinitionError for a literal of an enum's member, which would come back as its value."""
    for value in values:
        if isinstance(value, Enum):
            kind = type(value).__name__
            raise DefinitionError(
                f"{where} is {_text(hint)}, and {value!r} would come back as {value.value!r}: "
                f"annotate it as {kind}, or give Literal the values themselves."
            )


def _generic(
    hint: Any,
    origin: Any,
    arguments: tuple[Any, ...],
    where: str,
    zone: tzinfo,
    within: tuple[type, ...],
) -> Codec | None:
    def codec(at: int, place: str) -> Codec:
        return codec_of_hint(arguments[at], f"{where}{place}", zone, within)

    def plain(at: int, place: str, role: str) -> Codec:
        found = codec(at, place)
        if isinstance(found, COMPOUND):
            raise DefinitionError(
                f"{where} is {_text(hint)}: {role} must be a plain value. Use one of {PLAIN}."
            )
        return found

    if origin is Literal:
        values = [v for v in arguments if v is not None]
        _check_no_member(values, hint, where)
        literal = LiteralCodec(values, _codec_of_values(values, hint, where))
        return literal if len(values) == len(arguments) else OptionalCodec(literal)
    if origin in (Union, types.UnionType) and types.NoneType in arguments and len(arguments) == 2:
        return OptionalCodec(codec(0 if arguments[1] is types.NoneType else 1, ""))
    if origin in (Union, types.UnionType):
        classes = [a for a in arguments if a is not types.NoneType]
        if not all(map(is_record, classes)):
            return None
        union = _union(classes, where, zone, within)
        return union if len(classes) == len(arguments) else OptionalCodec(union)
    if origin is list:
        return ListCodec(codec(0, "[]"))
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return TupleCodec(codec(0, "[]"))
        return RecordCodec([codec(n, f"[{n}]") for n in range(len(arguments))])
    if origin in (set, frozenset):
        return SetCodec(plain(0, "[]", "an element of a set"), origin)
    if origin is dict:
        return DictCodec(plain(0, ".key", "a key"), codec(1, ".value"))
    return None


def _union(classes: list[Any], where: str, zone: tzinfo, within: tuple[type, ...]) -> UnionCodec:
    tags = _tags(classes)
    # They are names of fields in Spark, which does not mind their case.
    if len({tag.lower() for tag in [TAG, *tags]}) <= len(tags):
        raise DefinitionError(
            f"{where} is one of classes whose tags are {', '.join(tags)}: they have to differ in "
            f"more than case, and none may be {TAG!r}. Rename one, or give each class a field of "
            "one Literal."
        )
    found = {t: struct_of_record(c, zone, within) for t, c in zip(tags, classes, strict=True)}
    return UnionCodec(found)


def _tags(classes: list[Any]) -> list[str]:
    """What tells values of the classes apart.

    That is a field of each that is a Literal of one text, the same field in all; else their names.
    """
    hinted = [hints_of_record(cls) for cls in classes]
    for name in hinted[0]:
        literals = [get_args(h[name]) for h in hinted if get_origin(h.get(name)) is Literal]
        tags = [values[0] for values in literals if len(values) == 1]
        if len(tags) == len(classes) and all(isinstance(tag, str) for tag in tags):
            return tags
    return [cls.__name__ for cls in classes]


def hints_of_record(cls: type[Any]) -> dict[str, Any]:
    """The hints of its fields, as types. Raises DefinitionError for a field without one."""
    found = hints_of(cls) or resolved_hints(cls)
    for field in fields_of(cls):
        if field.name not in found:
            raise DefinitionError(
                f"{cls.__name__}.{field.name} does not say what it holds: annotate it."
            )
    return found


def struct_of_record(cls: type[Any], zone: tzinfo, within: tuple[type, ...] = ()) -> StructCodec:
    """The codec of a class with fields, in the order of their definition."""
    if cls in within:
        raise DefinitionError(
            f"{cls.__name__} holds itself ({' > '.join(c.__name__ for c in (*within, cls))}): a "
            "Spark schema has no recursion. Keep a list of the inner values instead."
        )
    hints = hints_of_record(cls)
    fields = [
        Field(
            f.name,
            codec_of_hint(hints[f.name], f"{cls.__name__}.{f.name}", zone, (*within, cls)),
            required=not has_default(f),
            fresh=fresh_default(f),
        )
        for f in checked_fields(cls)
    ]
    return StructCodec(cls, fields)


def checked_fields(cls: type[Any]) -> Fields:
    fields = fields_of(cls)
    if not fields:
        raise DefinitionError(f"{cls.__name__} has no fields: give it at least one.")
    _check_decorated(cls, {f.name for f in fields})
    for field in fields:
        if not field.init:
            raise DefinitionError(
                f"{cls.__name__}.{field.name} has init=False, so it cannot be restored from what "
                "is stored. Make it a property, or an ordinary field."
            )
        check_own(cls, field)
    if hints_of(cls) is None:
        # What a model is made of it says itself.
        _check_made_of(cls, [field.name for field in fields])
    return fields


def _check_made_of(cls: type[Any], names: list[str]) -> None:
    """DefinitionError for a class that cannot be made of its fields, as of what is stored."""
    taken = signature(cls).parameters
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in taken.values())
    others = [
        name
        for name, p in taken.items()
        if p.default is Parameter.empty
        and p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        and name not in names
    ]
    lost = [] if takes_any else [name for name in names if name not in taken]
    if others or lost:
        which = f"needs {others[0]}, which is no field" if others else f"takes no {lost[0]}"
        raise DefinitionError(
            f"{cls.__name__} {which}, so it cannot be made of what is stored: give "
            "an InitVar a default, and leave __init__ to the library."
        )


def _check_decorated(cls: type[Any], fields: set[str]) -> None:
    """DefinitionError for a name that looks like a field, and is none for want of a decorator."""
    decorator = decorator_of(cls)
    for owner in cls.__mro__:
        if "__dataclass_fields__" in vars(owner) or "__attrs_attrs__" in vars(owner):
            continue
        for name, hint in _own_hints(owner).items():
            if name in fields or name.startswith("_") or "ClassVar" in str(hint):
                continue
            raise DefinitionError(
                f"{cls.__name__}.{name} is no field, and would not be kept: {owner.__name__} has "
                f"no {decorator} of its own. Give it one, or annotate the name as ClassVar."
            )


def _own_hints(owner: type[Any]) -> dict[str, Any]:
    """What the class itself annotates, as it stands there."""
    if sys.version_info >= (3, 14):
        # There the namespace of a class has no hints before they are asked for, but texts. Names
        # that cannot be found stay names.
        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    found: dict[str, Any] = vars(owner).get("__annotations__", {})
    return found


def resolved_hints(owner: Any) -> dict[str, Any]:
    """The hints as types. Raises DefinitionError where a name cannot be found from outside."""
    try:
        return get_type_hints(owner, include_extras=True)
    except NameError as e:
        name = getattr(owner, "__qualname__", repr(owner))
        raise DefinitionError(
            f"The hints of {name} cannot be resolved: {e}. With `from __future__ import "
            "annotations`, a name that is imported under TYPE_CHECKING or defined inside a "
            "function cannot be found: import or define it in the module, or give `state=` and "
            "`output=`."
        ) from None


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
