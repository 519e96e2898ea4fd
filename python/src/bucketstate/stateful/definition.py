"""What a stateful function is made of, read from its hints and checked when it is defined."""

from __future__ import annotations

import collections.abc
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Literal, Union, get_args, get_origin, overload

import pandas as pd
from pyspark.sql.types import StructType

from bucketstate.stateful.containers import StructCodec
from bucketstate.stateful.ddl import parse_ddl, struct_of_schema
from bucketstate.stateful.document import StateCodec, state_codec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.handle import State
from bucketstate.stateful.hints import is_dataclass_type, resolved_hints, struct_of_dataclass

Shape = Literal["frame", "records", "dicts"]

_MANY: tuple[Any, ...] = (
    list,
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.Sequence,
)
_CHUNKS: tuple[Any, ...] = (collections.abc.Iterator, collections.abc.Iterable)


@dataclass(frozen=True)
class Definition:
    """A stateful function with its types. Immutable; callable as the function itself."""

    name: str
    on_rows: Callable[..., Any]
    on_timeout: Callable[..., Any] | None
    state: Any
    output: Any
    shape: Shape
    record: type[Any] | None
    chunked: bool

    def __call__(self, key: Any, rows: Any, state: Any) -> Any:
        return self.on_rows(key, rows, state)

    def state_codec(self, zone: tzinfo) -> StateCodec:
        return state_codec(self.state, zone)

    def output_codec(self, zone: tzinfo) -> StructCodec | None:
        """None for a function that puts nothing out."""
        return None if self.output is None else output_codec(self.output, zone)

    def record_codec(self, zone: tzinfo) -> StructCodec | None:
        return None if self.record is None else struct_of_dataclass(self.record, zone)


@overload
def define(
    fn: Any, *, state: Any = ..., output: Any = ..., chunked: bool | None = ...
) -> Definition: ...


@overload
def define(
    *, state: Any = ..., output: Any = ..., chunked: bool | None = ...
) -> Callable[[Any], Definition]: ...


def define(
    fn: Any = None, *, state: Any = None, output: Any = None, chunked: bool | None = None
) -> Definition | Callable[[Any], Definition]:
    """Checks a stateful function and keeps its types; also a decorator, with or without arguments.

    `fn` is a function `(key, rows, state)`, or an object or class with `on_rows(key, rows, state)`
    and perhaps `on_timeout(key, state)`. `state` and `output` are a dataclass, a DDL text or a
    StructType; without them the hints decide: `state: State[Totals]` and `-> Iterator[Alert]`.
    The hint of `rows` chooses what it is: `pd.DataFrame` (the default), `list[Event]` of a
    dataclass, or `list[dict]`. With `chunked=True`, `rows` is an iterator of these, and memory is
    bounded by Spark's Arrow batches.

    Raises DefinitionError for a type that cannot be stored (it names the field), or for a state or
    output that is not declared.
    """
    if fn is None:
        return lambda given: define(given, state=state, output=output, chunked=chunked)
    if isinstance(fn, Definition):
        if state is None and output is None and chunked is None:
            return fn
        return define(
            fn.on_rows if fn.on_timeout is None else _Pair(fn.on_rows, fn.on_timeout),
            state=state or fn.state,
            output=output or fn.output,
            chunked=fn.chunked if chunked is None else chunked,
        )
    name = getattr(fn, "__name__", type(fn).__name__)
    on_rows, on_timeout = _handlers(fn, name)
    _check_parameters(on_rows, name, ("key", "rows", "state"))
    if on_timeout is not None:
        _check_parameters(on_timeout, f"{name}.on_timeout", ("key", "state"))
    hints = _hints(on_rows, needed=state is None or output is None)
    names = list(inspect.signature(on_rows).parameters)
    state = state if state is not None else _state_hint(hints.get(names[2]), name)
    if output is None and hints.get("return") is not types.NoneType:
        output = _output_hint(hints.get("return"), name)
    shape, record, many = _rows_hint(hints.get(names[1]), name)
    made = Definition(
        name,
        on_rows,
        on_timeout,
        state,
        output,
        shape,
        record,
        many if chunked is None else chunked,
    )
    made.state_codec(UTC)
    made.output_codec(UTC)
    made.record_codec(UTC)
    return made


def output_codec(output: Any, zone: tzinfo) -> StructCodec:
    if isinstance(output, str):
        output = parse_ddl(output)
    if isinstance(output, StructType):
        return struct_of_schema(output, "Output", zone)
    if is_dataclass_type(output):
        return struct_of_dataclass(output, zone)
    raise DefinitionError(
        f"The output is {output!r}: it must be a dataclass, a DDL text or a StructType."
    )


@dataclass(frozen=True)
class _Pair:
    on_rows: Callable[..., Any]
    on_timeout: Callable[..., Any]


def _handlers(fn: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    if isinstance(fn, type):
        if not hasattr(fn, "on_rows"):
            raise DefinitionError(f"{name} has no method on_rows(key, rows, state): add it.")
        try:
            fn = fn()
        except TypeError as e:
            raise DefinitionError(
                f"{name}() cannot be made without arguments ({e}): give an instance instead."
            ) from None
    if hasattr(fn, "on_rows"):
        return fn.on_rows, getattr(fn, "on_timeout", None)
    if callable(fn):
        return fn, None
    raise DefinitionError(
        f"{fn!r} is no stateful function: give a function (key, rows, state), or an object with "
        "on_rows(key, rows, state) and perhaps on_timeout(key, state)."
    )


def _check_parameters(fn: Callable[..., Any], name: str, expected: tuple[str, ...]) -> None:
    try:
        inspect.signature(fn).bind(*expected)
    except TypeError:
        raise DefinitionError(
            f"{name}{inspect.signature(fn)} cannot be called with ({', '.join(expected)}): "
            f"give it these {len(expected)} parameters, in this order."
        ) from None


def _hints(fn: Callable[..., Any], *, needed: bool) -> dict[str, Any]:
    if not inspect.isroutine(fn):
        fn = type(fn).__call__
    try:
        return resolved_hints(fn)
    except DefinitionError:
        if needed:
            raise
        return {}


def _state_hint(hint: Any, name: str) -> Any:
    if get_origin(hint) is State:
        return get_args(hint)[0]
    raise DefinitionError(
        f"{name} does not say what its state is: annotate its third parameter as State[Totals], "
        "with a dataclass Totals, or give state= a dataclass, a DDL text or a StructType."
    )


def _output_hint(hint: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [a for a in arguments if a is not types.NoneType]
        if len(kinds) == 1:
            return _output_hint(kinds[0], name)
    if origin in _MANY:
        return _output_hint(arguments[0], name)
    if is_dataclass_type(hint):
        return hint
    raise DefinitionError(
        f"{name} does not say what its output is: annotate what it returns as a dataclass, "
        "Iterator[Alert] or None, or give output= a dataclass, a DDL text or a StructType."
    )


def _rows_hint(hint: Any, name: str) -> tuple[Shape, type[Any] | None, bool]:
    """What `rows` holds, and whether it comes in chunks."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _CHUNKS:
        shape, record, _ = _rows_hint(arguments[0], name)
        return shape, record, True
    if hint is None or hint is Any or hint is pd.DataFrame:
        return "frame", None, False
    if origin is list and is_dataclass_type(arguments[0]):
        return "records", arguments[0], False
    if origin is list and (arguments[0] is dict or get_origin(arguments[0]) is dict):
        return "dicts", None, False
    raise DefinitionError(
        f"{name}: rows cannot be {hint}. Annotate it as pd.DataFrame, list[Event] with a dataclass "
        "Event, or list[dict]; as an Iterator of one of these for chunks."
    )
