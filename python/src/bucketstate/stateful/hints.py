"""Codecs from type hints: of a dataclass, and of the types a field may have."""

from __future__ import annotations

import dataclasses
import types
import typing
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from bucketstate.stateful.codecs import (
    BoolCodec,
    BytesCodec,
    Codec,
    DateCodec,
    DatetimeCodec,
    DecimalCodec,
    FloatCodec,
    IntCodec,
    StrCodec,
    TimedeltaCodec,
)
from bucketstate.stateful.containers import (
    COMPOUND,
    DictCodec,
    Field,
    ListCodec,
    OptionalCodec,
    StructCodec,
)
from bucketstate.stateful.errors import DefinitionError

SUPPORTED = (
    "int, float, bool, str, bytes, Decimal, date, datetime, timedelta, X | None, list[X], "
    "dict[K, V] and dataclasses of these"
)

_SCALARS: dict[Any, Any] = {
    int: IntCodec,
    float: FloatCodec,
    bool: BoolCodec,
    str: StrCodec,
    bytes: BytesCodec,
    Decimal: DecimalCodec,
    date: DateCodec,
    timedelta: TimedeltaCodec,
}


def codec_of_hint(hint: Any, where: str, zone: tzinfo, within: tuple[type, ...] = ()) -> Codec:
    """The codec of a hint; `where` names the field in the error for a hint it cannot have."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if hint is datetime:
        return DatetimeCodec(zone)
    if isinstance(hint, type) and hint in _SCALARS:
        return typing.cast(Codec, _SCALARS[hint]())
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) and types.NoneType in arguments and len(arguments) == 2:
        inner = next(a for a in arguments if a is not types.NoneType)
        return OptionalCodec(codec_of_hint(inner, where, zone, within))
    if origin is list:
        return ListCodec(codec_of_hint(arguments[0], f"{where}[]", zone, within))
    if origin is dict:
        key = codec_of_hint(arguments[0], f"{where}.key", zone, within)
        if isinstance(key, COMPOUND):
            raise DefinitionError(
                f"{where} is {_text(hint)}: a key must be a plain value. "
                "Use one of int, float, bool, str, bytes, Decimal, date, datetime, timedelta."
            )
        return DictCodec(key, codec_of_hint(arguments[1], f"{where}.value", zone, within))
    if is_dataclass_type(hint):
        return struct_of_dataclass(hint, zone, within)
    raise DefinitionError(
        f"{where} is {_text(hint)}, which has no place in a Spark schema. "
        f"Supported are {SUPPORTED}."
    )


def struct_of_dataclass(cls: type[Any], zone: tzinfo, within: tuple[type, ...] = ()) -> StructCodec:
    """The codec of a dataclass, its fields in the order of their definition."""
    if cls in within:
        raise DefinitionError(
            f"{cls.__name__} holds itself ({' > '.join(c.__name__ for c in (*within, cls))}): a "
            "Spark schema has no recursion. Keep a list of the inner values instead."
        )
    hints = resolved_hints(cls)
    fields = [
        Field(
            f.name,
            codec_of_hint(hints[f.name], f"{cls.__name__}.{f.name}", zone, (*within, cls)),
            required=not has_default(f),
        )
        for f in checked_fields(cls)
    ]
    return StructCodec(cls, fields)


def checked_fields(cls: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    fields = dataclasses.fields(cls)
    if not fields:
        raise DefinitionError(f"{cls.__name__} has no fields: give it at least one.")
    for field in fields:
        if not field.init:
            raise DefinitionError(
                f"{cls.__name__}.{field.name} has init=False, so it cannot be restored from what "
                "is stored. Make it a property, or an ordinary field."
            )
    return fields


def has_default(field: dataclasses.Field[Any]) -> bool:
    nothing = dataclasses.MISSING
    return field.default is not nothing or field.default_factory is not nothing


def is_dataclass_type(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


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
