"""What a stateful function is made of, read from its hints and checked when it is defined."""

from __future__ import annotations

import collections.abc
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Literal, Union, cast, get_args, get_origin, overload

import pandas as pd
from pyspark.sql.types import StructType

from bucketstate.stateful.containers import StructCodec
from bucketstate.stateful.ddl import parse_ddl, struct_of_schema
from bucketstate.stateful.document import StateCodec, state_codec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.handle import State
from bucketstate.stateful.handlers import Handlers, handlers_of
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
    handlers: Handlers
    state: Any
    output: Any
    shape: Shape
    record: type[Any] | None
    initial_record: type[Any] | None
    chunked: bool

    def __call__(self, key: Any, rows: Any, state: Any) -> Any:
        return self.input_rows(key, rows, state)

    @property
    def input_rows(self) -> Callable[..., Any]:
        return self.handlers.input_rows

    @property
    def expired_timer(self) -> Callable[..., Any] | None:
        return self.handlers.expired_timer

    @property
    def initial_state(self) -> Callable[..., Any] | None:
        return self.handlers.initial_state

    def state_codec(self, zone: tzinfo) -> StateCodec:
        return state_codec(self.state, zone)

    def output_codec(self, zone: tzinfo) -> StructCodec | None:
        """None for a function that puts nothing out."""
        return None if self.output is None else output_codec(self.output, zone)

    def record_codec(self, zone: tzinfo) -> StructCodec | None:
        return None if self.record is None else struct_of_dataclass(self.record, zone)

    def initial_codec(self, zone: tzinfo) -> StructCodec | None:
        """None where the rows of the initial state come as dicts."""
        record = self.initial_record
        return None if record is None else struct_of_dataclass(record, zone)


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

    `fn` is a function `(key, rows, state)`, or an object or class with the handlers of Spark's
    `StatefulProcessor`: `handleInputRows(key, rows, state)`, and perhaps `handleExpiredTimer(key,
    timer, state)` and `handleInitialState(key, initial, state)`. `state` and `output` are a
    dataclass, a DDL text or a StructType; without them the hints decide: `state: State[Totals]` and
    `-> Iterator[Alert]`.
    The hint of `rows` chooses what it is: `pd.DataFrame` (the default), `list[Event]` of a
    dataclass, or `list[dict]`. With `chunked=True`, `rows` is an iterator of these, and memory is
    bounded by Spark's Arrow batches. That of `initial` is a dataclass or dict.

    Raises DefinitionError for a type that cannot be stored (it names the field), or for a state or
    output that is not declared.
    """
    if fn is None:
        return lambda given: define(given, state=state, output=output, chunked=chunked)
    if isinstance(fn, Definition):
        if state is None and output is None and chunked is None:
            return fn
        return define(
            fn.handlers,
            state=state or fn.state,
            output=output or fn.output,
            chunked=fn.chunked if chunked is None else chunked,
        )
    name = fn.name if isinstance(fn, Handlers) else getattr(fn, "__name__", type(fn).__name__)
    handlers = fn if isinstance(fn, Handlers) else handlers_of(fn, name)
    on_rows = handlers.input_rows
    hints = _hints(on_rows, needed=state is None or output is None)
    names = list(inspect.signature(on_rows).parameters)
    state = state if state is not None else _state_hint(hints.get(names[2]), name)
    if output is None and hints.get("return") is not types.NoneType:
        output = _output_hint(hints.get("return"), name)
    shape, record, many = _rows_hint(hints.get(names[1]), name)
    made = Definition(
        name,
        handlers,
        state,
        output,
        shape,
        record,
        None if handlers.initial_state is None else _initial_hint(handlers.initial_state, name),
        many if chunked is None else chunked,
    )
    made.state_codec(UTC)
    made.output_codec(UTC)
    made.record_codec(UTC)
    made.initial_codec(UTC)
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


def _initial_hint(handler: Callable[..., Any], name: str) -> type[Any] | None:
    """The dataclass that a row of the initial state becomes; None for a dict."""
    hint = _hints(handler, needed=True).get(list(inspect.signature(handler).parameters)[1])
    if is_dataclass_type(hint):
        return cast("type[Any]", hint)
    if hint in (None, Any, dict) or get_origin(hint) is dict:
        return None
    raise DefinitionError(
        f"{name}.handleInitialState: a row of the initial state cannot be {hint}. Annotate it as a "
        "dataclass with its columns, or as dict."
    )
