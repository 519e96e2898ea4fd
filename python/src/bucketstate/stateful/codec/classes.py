"""Classes whose instances are rows and states: dataclasses, NamedTuples, attrs and pydantic's.

attrs and pydantic are not imported for this: whoever has such a class has done that. The fields of
each kind are told as those of a dataclass are.
"""

from __future__ import annotations

import dataclasses
import typing
from copy import deepcopy
from functools import partial
from typing import Annotated, Any

from bucketstate.stateful.errors import DefinitionError

Fields = tuple["dataclasses.Field[Any]", ...]

KINDS = "a dataclass, a NamedTuple, an attrs class or a pydantic model"


def is_record(hint: Any) -> bool:
    """Whether it is a class of one of these kinds."""
    return isinstance(hint, type) and (
        dataclasses.is_dataclass(hint) or is_named(hint) or _is_attrs(hint) or _is_pydantic(hint)
    )


def is_record_instance(value: Any) -> bool:
    """Whether it is an instance of such a class."""
    return not isinstance(value, type) and is_record(type(value))


def fields_of(cls: type[Any]) -> Fields:
    """The fields in their order.

    Raises DefinitionError for a class that takes them by other names than it has them.
    """
    if dataclasses.is_dataclass(cls):
        return dataclasses.fields(cls)
    if _is_attrs(cls):
        return tuple(_of_attrs(cls, attribute) for attribute in cls.__attrs_attrs__)
    if _is_pydantic(cls):
        return _of_pydantic(cls)
    named: Any = cls
    defaults = named._field_defaults
    return tuple(
        _field(name, **({"default": defaults[name]} if name in defaults else {}))
        for name in named._fields
    )


def decorator_of(cls: type[Any]) -> str:
    """What makes fields of the names that a class annotates."""
    return "@attrs.define" if _is_attrs(cls) else "@dataclass"


def kind_of(cls: type[Any]) -> str:
    """The library that makes its instances; a NamedTuple is told by `is_named`."""
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    return "attrs" if _is_attrs(cls) else "pydantic"


def names_of(cls: type[Any]) -> list[str]:
    """The names of the fields."""
    return [field.name for field in fields_of(cls)]


def values_of(value: Any) -> dict[str, Any]:
    """The fields' values of an instance, by name."""
    return {name: getattr(value, name) for name in names_of(type(value))}


def hints_of(cls: type[Any]) -> dict[str, Any] | None:
    """The fields' hints where the class itself has resolved them; None where Python has to."""
    if not _is_pydantic(cls):
        return None
    found: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        notes = tuple(field.metadata)
        found[name] = Annotated[(field.annotation, *notes)] if notes else field.annotation
    return found


def validates(cls: type[Any]) -> bool:
    """Whether it looks at its values with validators, which do not run when an attribute is set."""
    return _is_attrs(cls) or hasattr(cls, "__pydantic_validator__")


def has_own_code(cls: type[Any]) -> bool:
    """Whether code of its own runs when an instance is made: a value may be refused, or changed."""
    if is_named(cls):
        # The class itself has none; one that extends it may.
        return tuple not in cls.__bases__
    # Where a class has an `__init__` of its own, attrs puts what it would have made beside it.
    hooks = ("__post_init__", "__attrs_pre_init__", "__attrs_post_init__", "__attrs_init__")
    own_new = cls.__new__ is not object.__new__  # type: ignore[comparison-overlap]
    if own_new or any(hasattr(cls, hook) for hook in hooks):
        return True
    if dataclasses.is_dataclass(cls):
        params: Any = vars(cls).get("__dataclass_params__")
        return params is None or not params.init or "__init__" not in vars(cls)
    # A model of pydantic looks at each value.
    return not _is_attrs(cls) or any(a.validator or a.converter for a in cls.__attrs_attrs__)


def refusal(error: Exception) -> str:
    """What a class's own code raised where an instance is made, in one line."""
    errors = getattr(error, "errors", None)
    if callable(errors):
        # pydantic's own text is of several lines, with addresses of its documentation.
        told = [f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in errors()]
        return "; ".join(told)
    said = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {said}"


def is_named(cls: type[Any]) -> bool:
    """Whether it is a NamedTuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


def _is_attrs(cls: type[Any]) -> bool:
    return hasattr(cls, "__attrs_attrs__")


def _is_pydantic(cls: type[Any]) -> typing.TypeGuard[Any]:
    return hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields")


def _field(name: str, **said: Any) -> dataclasses.Field[Any]:
    kw_only = said.pop("kw_only", False)
    made: dataclasses.Field[Any] = dataclasses.field(**said)
    made.name = name
    made.kw_only = kw_only
    return made


def _of_attrs(cls: type[Any], attribute: Any) -> dataclasses.Field[Any]:
    name = attribute.name
    if attribute.init and attribute.alias != name:
        raise DefinitionError(
            f"{cls.__name__}.{name} is given as {attribute.alias!r} where an instance is made: "
            f"rename it, or give it alias={name!r}."
        )
    said: dict[str, Any] = {"init": attribute.init, "metadata": attribute.metadata}
    default = attribute.default
    if hasattr(default, "factory") and hasattr(default, "takes_self"):
        if default.takes_self:
            raise DefinitionError(
                f"{cls.__name__}.{name} has a default that is made of other fields, which cannot "
                "be looked at before there is an instance: give it a value or a factory."
            )
        said["default_factory"] = default.factory
    elif type(default).__name__ != "_Nothing":
        said["default"] = default
    return _field(name, kw_only=attribute.kw_only, **said)


def _of_pydantic(cls: Any) -> Fields:
    settings = cls.model_config
    if settings.get("extra") == "allow":
        raise DefinitionError(
            f"{cls.__name__} takes fields that it does not declare (extra='allow'), and they have "
            "no place in a schema: declare them, or one that is a dict."
        )
    by_name = settings.get("populate_by_name") or settings.get("validate_by_name")
    made = []
    for name, field in cls.model_fields.items():
        if field.validation_alias not in (None, name) and not by_name:
            raise DefinitionError(
                f"{cls.__name__}.{name} is given as {field.validation_alias!r} where an instance "
                "is made: add populate_by_name=True to model_config."
            )
        said: dict[str, Any] = {}
        if not field.is_required():
            said = _default_of(field)
        made.append(_field(name, kw_only=True, **said))
    return tuple(made)


def _default_of(field: Any) -> dict[str, Any]:
    factory = field.default_factory
    if isinstance(factory, type):
        return {"default_factory": factory}
    if factory is not None:
        # It may be one that is handed the fields before it.
        made = partial(field.get_default, call_default_factory=True, validated_data={})
        return {"default_factory": made}
    # A model copies a default each time, but for one that can be hashed.
    if _hashable(field.default):
        return {"default": field.default}
    return {"default_factory": partial(deepcopy, field.default)}


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
