"""What a stateful function is made of, read from its hints and checked when it is defined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, overload

from pyspark.sql.types import StructType

from bucketstate.stateful.ddl import parse_ddl, struct_of_schema
from bucketstate.stateful.document import StateCodec, state_codec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.handlers import Handlers, handlers_of, name_of
from bucketstate.stateful.hints import is_dataclass_type, struct_of_dataclass
from bucketstate.stateful.signatures import (
    Hints,
    Shape,
    check_no_output,
    check_output,
    check_state,
    initial_hint,
    output_hint,
    rows_hint,
    state_hint,
)
from bucketstate.stateful.structs import StructCodec


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

    Raises DefinitionError for a type that cannot be stored or a default that does not fit it (it
    names the field), for a state or output that is not declared, for handlers whose hints
    contradict each other, and for a method that is nearly called as a handler is.
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
    handlers = fn if isinstance(fn, Handlers) else handlers_of(fn, name_of(fn))
    name = handlers.name
    rows = Hints(handlers.input_rows, name, needed=state is None or output is None)
    timer = handlers.timer_method and Hints(*handlers.timer_method, needed=False)
    initial = handlers.initial_state and Hints(
        handlers.initial_state, f"{name}.handleInitialState", needed=True
    )
    declared_state = state if state is not None else state_hint(rows)
    declared_output = output if output is not None else output_hint(rows, timer)
    shape, record, many = rows_hint(rows)
    made = Definition(
        name,
        handlers,
        declared_state,
        declared_output,
        shape,
        record,
        None if initial is None else initial_hint(initial),
        many if chunked is None else chunked,
    )
    made.state_codec(UTC)
    made.output_codec(UTC)
    made.record_codec(UTC)
    made.initial_codec(UTC)
    every = [hints for hints in (rows, timer, initial) if hints is not None]
    check_state(every, None if state is not None else declared_state)
    check_output([hints for hints in (rows, timer) if hints is not None], declared_output)
    if initial is not None:
        check_no_output(initial)
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
