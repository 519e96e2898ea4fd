"""Defaults of fields: what may be one, and that each instance has its own."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import MISSING
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketstate.stateful.codec.classes import (
    fields_of,
    is_named,
    is_record,
    is_record_instance,
    kind_of,
    values_of,
)
from bucketstate.stateful.errors import DefinitionError, MismatchError

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Iterator

    from bucketstate.stateful.codec.codecs import Codec

_CHANGING = (list, dict, set, bytearray)
_EMPTY = (*_CHANGING, frozenset, tuple)
_FACTORIES = {
    "attrs": "attrs.field(factory={})",
    "dataclass": "field(default_factory={})",
    "pydantic": "pydantic.Field(default_factory={})",
}


def has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def check_own(cls: type[Any], field: dataclasses.Field[Any]) -> None:
    """DefinitionError for a default that can change, and is one object for all instances.

    A NamedTuple can have no other, so its instances are made with a copy: see `fresh_default`.
    """
    default = field.default
    if is_named(cls) or next(_changing(default), None) is None:
        return
    kind = type(default)
    factory = f"lambda: {default!r}"
    if (is_record_instance(default) and is_mutable(default)) or (
        isinstance(default, _CHANGING) and not default
    ):
        factory = kind.__name__
    advice = _FACTORIES[kind_of(cls)].format(factory)
    raise DefinitionError(
        f"The default of {cls.__name__}.{field.name} is one {kind.__name__} for all instances, so "
        f"what is changed in the state of one key would be seen in that of others: give {advice}."
    )


def check_default(field: dataclasses.Field[Any], codec: Codec, where: str) -> None:
    """DefinitionError for a default that could not be stored."""
    if field.default_factory is not MISSING:
        default = field.default_factory()
    elif field.default is not MISSING:
        default = field.default
    else:
        return
    try:
        codec.dump(default)
        if isinstance(default, np.ndarray):
            raise codec.altered(default)
    except MismatchError as e:
        path = f", at {e.path}" if e.path else ""
        advice = e.advice or "Change the default, or the field's type."
        raise DefinitionError(
            f"The default of {where} is {e.found_text}{path}, expected {e.expected}. {advice}"
        ) from None


def fresh_default(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    """What makes the default for each instance; None where the class itself does that right.

    A NamedTuple has one object as the default of all its instances; so may what a factory makes,
    as of such a class.
    """
    if field.default is not MISSING:
        if next(_changing(field.default), None) is None:
            return None
        return partial(deepcopy, deepcopy(field.default))
    factory = field.default_factory
    if factory is MISSING or factory in _EMPTY:
        return None
    try:
        one, other = factory(), factory()
    except Exception:
        # Whoever needs the default sees the error.
        return None
    shared = {id(value) for value in _changing(one)} & {id(value) for value in _changing(other)}
    return partial(_copied, factory) if shared else None


def _copied(factory: Callable[[], Any]) -> Any:
    return deepcopy(factory())


def varying_fields(cls: type[Any]) -> frozenset[str]:
    """The fields whose default may be another for each instance, as of `uuid4`.

    A factory of one's own may do anything. What the class itself does where an instance is made is
    not seen here.
    """
    return frozenset(field.name for field in fields_of(cls) if _varies(field.default_factory))


def _varies(factory: Any) -> bool:
    if factory is MISSING or factory in _EMPTY:
        return False
    if isinstance(factory, partial) and factory.func is deepcopy:
        return False
    return not is_record(factory) or bool(varying_fields(factory))


def is_mutable(record: Any) -> bool:
    """Whether it is an instance of a class with fields, and they can be set."""
    if not is_record_instance(record):
        return False
    # A value of its own is tried, as setting may have an effect.
    tried = copy(record)
    name = next(iter(values_of(record)), None)
    if name is None:
        return False
    try:
        setattr(tried, name, getattr(tried, name))
    except Exception:
        # Each kind of frozen class has an error of its own.
        return False
    return True


def _changing(value: Any) -> Iterator[Any]:
    """What can be changed of a value, and within it."""
    if isinstance(value, _CHANGING) or (is_record_instance(value) and is_mutable(value)):
        yield value
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif is_record_instance(value):
        inner = [*values_of(value).values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = [*value]
    else:
        return
    for each in inner:
        yield from _changing(each)
