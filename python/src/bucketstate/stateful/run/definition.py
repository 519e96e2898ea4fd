"""What a stateful function is made of, read from its hints and checked when it is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Generic, Protocol, overload

from pyspark.sql.types import StructType

from bucketstate.stateful.codec.classes import KINDS, is_record
from bucketstate.stateful.codec.ddl import parse_ddl, struct_of_schema
from bucketstate.stateful.codec.document import StateCodec, state_codec
from bucketstate.stateful.codec.hints import struct_of_record
from bucketstate.stateful.codec.structs import StructCodec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.run.handlers import Handlers, handlers_of, name_of
from bucketstate.stateful.run.signatures import (
    Hints,
    Library,
    S,
    Shape,
    Typed,
    check_columns_output,
    check_keys,
    check_no_output,
    check_output,
    check_state,
    initial_hint,
    key_hint,
    keys_hint,
    library_hint,
    output_hint,
    rows_hint,
    state_hint,
    takes_keys,
)


@dataclass(frozen=True)
class Definition(Generic[S]):
    """A stateful function with its types. Immutable; callable as the function itself.

    To type checkers it is a `Definition[Totals]`, with the state class that the hints say.

    Made by `define`. `stateful.apply` and `Harness` take it in the place of the function.
    """

    name: str
    """What messages call it: the function's name, or the class's."""

    handlers: Handlers
    """The functions that Spark's operator calls."""

    state: Any
    """The state as it was declared: a dataclass, a DDL text or a StructType."""

    output: Any
    """The output as it was declared; None for a function that puts nothing out."""

    shape: Shape
    """What `rows` is: a `frame` of pandas, `records` of a dataclass, `dicts`, or `columns`."""

    record: type[Any] | None
    """The dataclass of the rows; None where they are none."""

    initial_record: type[Any] | None
    """The dataclass of the initial state's rows; None where they come as dicts."""

    chunked: bool
    """Whether `rows` is an iterator of what `shape` says."""

    key: type[Any] | None = None
    """The NamedTuple or dataclass of the key; None for a named tuple made of the columns."""

    library: Library | None = None
    """The library of a function over columns, which gets many keys in a call; None for one key."""

    def __post_init__(self) -> None:
        # What tools look for in a function that was decorated. It is frozen for everybody else.
        given = self.handlers.given
        for name in ("__module__", "__qualname__", "__doc__"):
            if (found := getattr(given, name, None)) is not None:
                object.__setattr__(self, name, found)
        object.__setattr__(self, "__name__", self.name)
        if inspect.isroutine(given):
            object.__setattr__(self, "__wrapped__", given)

    def __call__(self, *given: Any) -> Any:
        return self.input_rows(*given)

    @property
    def input_rows(self) -> Callable[..., Any]:
        """What is called with rows: `(key, rows, state)`, or over columns `(keys, rows)`."""
        return self.handlers.input_rows

    @property
    def expired_timer(self) -> Callable[..., Any] | None:
        """What is called for a timer: `(key, timer, state)`, or `(keys)`; None without."""
        return self.handlers.expired_timer

    @property
    def initial_state(self) -> Callable[..., Any] | None:
        """What is called with initial rows: `(key, initial, state)`; None without."""
        return self.handlers.initial_state

    def state_codec(self, zone: tzinfo) -> StateCodec:
        """How the state is checked, stored and read, in a session's time zone.

        Raises:
            DefinitionError: a type has no place there. Not of a definition that `define` made.
        """
        return state_codec(self.state, zone)

    def output_codec(self, zone: tzinfo) -> StructCodec | None:
        """How output rows are checked; None for a function that puts nothing out.

        Raises:
            DefinitionError: a type has no place there. Not of a definition that `define` made.
        """
        return None if self.output is None else output_codec(self.output, zone)

    def record_codec(self, zone: tzinfo) -> StructCodec | None:
        """How rows become the dataclass of theirs; None where they do not.

        Raises:
            DefinitionError: a type has no place there. Not of a definition that `define` made.
        """
        return None if self.record is None else struct_of_record(self.record, zone)

    def initial_codec(self, zone: tzinfo) -> StructCodec | None:
        """How rows of the initial state become a dataclass; None where they are dicts.

        Raises:
            DefinitionError: a type has no place there. Not of a definition that `define` made.
        """
        record = self.initial_record
        return None if record is None else struct_of_record(record, zone)


class Decorator(Protocol):
    """What `define` returns where it is called without a function."""

    def __call__(self, fn: Typed[S], /) -> Definition[S]: ...


@overload
def define(
    fn: Definition[S], *, state: None = ..., output: Any = ..., chunked: bool | None = ...
) -> Definition[S]: ...


@overload
def define(
    fn: Typed[S], *, state: None = ..., output: Any = ..., chunked: bool | None = ...
) -> Definition[S]: ...


@overload
def define(
    fn: Any, *, state: type[S], output: Any = ..., chunked: bool | None = ...
) -> Definition[S]: ...


@overload
def define(
    fn: Any, *, state: Any, output: Any = ..., chunked: bool | None = ...
) -> Definition[Any]: ...


@overload
def define(*, state: Any = ..., output: Any = ..., chunked: bool | None = ...) -> Decorator: ...


def define(
    fn: Any = ..., *, state: Any = None, output: Any = None, chunked: bool | None = None
) -> Definition[Any] | Decorator:
    """Checks a stateful function and keeps its types; also a decorator, with or without arguments.

    Safe from any thread. The hint of `rows` chooses what it is: `pd.DataFrame` (the default),
    `list[Event]` of a dataclass, or `list[dict]`. That of `initial` is a dataclass or dict.

    A function `(keys, rows)` whose first parameter is hinted `Keys[Totals]` gets many keys in a
    call, and rows and states as columns; the hint of `rows` chooses the library: `pd.DataFrame`,
    `pl.DataFrame`, `pa.RecordBatch` or `pa.Table`.

    Args:
        fn: a function `(key, rows, state)`, or an object or class with the handlers of Spark's
            `StatefulProcessor`: `handleInputRows(key, rows, state)`, and perhaps
            `handleExpiredTimer(key, timer, state)` and `handleInitialState(key, initial, state)`.
            Over columns a function `(keys, rows)`, or `handleInputRows(keys, rows)` and perhaps
            `handleExpiredTimer(keys)`.
        state: a dataclass, a DDL text or a StructType; without, the hint decides:
            `state: State[Totals]`.
        output: the same of the output rows; without, the hint decides: `-> Iterator[Alert]`.
        chunked: whether `rows` is an iterator of what its hint says, so that memory is bounded by
            Spark's Arrow batches; without, the hint decides.

    Raises:
        DefinitionError: a type that cannot be stored or a default that does not fit it (it names
            the field), a state or output that is not declared, handlers whose hints contradict each
            other, or a method that is nearly called as a handler is.
    """
    if fn is ...:
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
    columnar = (isinstance(fn, Handlers) and fn.columnar) or takes_keys(fn)
    handlers = fn if isinstance(fn, Handlers) else handlers_of(fn, name_of(fn), columnar=columnar)
    name = handlers.name
    if columnar:
        return _checked(_columnar(handlers, state, output, chunked))
    rows = Hints(handlers.input_rows, name, needed=state is None or output is None)
    timer = handlers.timer_method and Hints(*handlers.timer_method, needed=False)
    initial = handlers.initial_state and Hints(
        handlers.initial_state, f"{name}.handleInitialState", needed=True
    )
    declared_state = state if state is not None else state_hint(rows)
    declared_output = output if output is not None else output_hint(rows, timer)
    shape, record, many = rows_hint(rows)
    made = _checked(
        Definition(
            name,
            handlers,
            declared_state,
            declared_output,
            shape,
            record,
            None if initial is None else initial_hint(initial),
            many if chunked is None else chunked,
            key_hint([h for h in (rows, timer, initial) if h is not None]),
        )
    )
    every = [hints for hints in (rows, timer, initial) if hints is not None]
    check_state(every, None if state is not None else declared_state)
    check_output([hints for hints in (rows, timer) if hints is not None], declared_output)
    if initial is not None:
        check_no_output(initial)
    return made


def _columnar(handlers: Handlers, state: Any, output: Any, chunked: bool | None) -> Definition:
    """The definition of a function over columns."""
    name = handlers.name
    rows = Hints(handlers.input_rows, name, needed=True)
    timer = handlers.timer_method and Hints(*handlers.timer_method, needed=False)
    if chunked:
        raise DefinitionError(
            f"{name} gets many keys in a call, with all of their rows: chunked=True is for a "
            "function with one key in a call."
        )
    every = [hints for hints in (rows, timer) if hints is not None]
    declared = state if state is not None else keys_hint(rows)
    check_keys(every, None if state is not None else declared)
    if output is None:
        check_columns_output(every)
    made = Definition(
        name,
        handlers,
        declared,
        output,
        "columns",
        None,
        None,
        False,
        library=library_hint(rows),
    )
    if parts := made.state_codec(UTC).parts:
        raise DefinitionError(
            f"{name} gets its states as columns, and {', '.join(parts)} of "
            f"{made.state_codec(UTC).name} is a part: make it a plain field, or write a function "
            "with one key in a call."
        )
    return made


def _checked(made: Definition) -> Definition:
    made.state_codec(UTC)
    made.output_codec(UTC)
    made.record_codec(UTC)
    made.initial_codec(UTC)
    return made


def output_codec(output: Any, zone: tzinfo, what: str = "output") -> StructCodec:
    if isinstance(output, str):
        output = parse_ddl(output)
    if isinstance(output, StructType):
        return struct_of_schema(output, "Output", zone)
    if is_record(output):
        return struct_of_record(output, zone)
    raise DefinitionError(
        f"The {what} is {output!r}: it must be {KINDS}, a DDL text or a StructType."
    )


def state_schema(state: Any) -> StructType:
    """The schema of a state class's document, for Spark's `from_json` on a stored state.

    Args:
        state: a dataclass, a DDL text or a StructType.

    Raises:
        DefinitionError: a hint has no place in a schema; it names the field.
    """
    return state_codec(state, UTC).stored


def output_schema(output: Any) -> StructType:
    """The schema of the rows that a function puts out.

    Args:
        output: a dataclass, a DDL text or a StructType.

    Raises:
        DefinitionError: a hint has no place in a schema; it names the field.
    """
    return output_codec(output, UTC).schema
