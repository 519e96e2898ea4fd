"""What the hints of a function's handlers say, and that they do not contradict each other."""

from __future__ import annotations

import collections.abc
import dis
import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin

import pyarrow as pa

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.classes import is_record
from bucketstate.stateful.codec.hints import resolved_hints
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.run.handle import State
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    import typing_extensions

    # Without brackets a definition or a harness is one of Any, to type checkers alone.
    S = typing_extensions.TypeVar("S", default=Any)
else:
    S = TypeVar("S")

Shape = Literal["frame", "records", "dicts", "columns"]
Library = Literal["RecordBatch", "Table", "pandas", "polars"]


class HandlesRows(Protocol[S]):
    """An object that gets one key in a call."""

    def handleInputRows(self, key: Any, rows: Any, state: State[S], /) -> Any: ...


class HandlesColumns(Protocol[S]):
    """An object that gets many keys in a call."""

    def handleInputRows(self, keys: Keys[S], rows: Any, /) -> Any: ...


Typed = Union[  # noqa: UP007
    Callable[[Any, Any, State[S]], Any],
    Callable[[Keys[S], Any], Any],
    HandlesRows[S],
    HandlesColumns[S],
    type[HandlesRows[S]],
    type[HandlesColumns[S]],
]
"""A stateful function whose hints say what its state is."""

_MANY: tuple[Any, ...] = (
    list,
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.Sequence,
)
_CHUNKS: tuple[Any, ...] = (collections.abc.Iterator, collections.abc.Iterable)
_UNSAID = inspect.Signature.empty
_SECOND = 1
_LAST = -1


class Hints:
    """The type hints of one handler.

    Raises DefinitionError for names that cannot be found, if `needed`.
    """

    def __init__(self, fn: Callable[..., Any], name: str, *, needed: bool) -> None:
        self.name = name
        self._fn = fn
        self._names = [
            p.name
            for p in inspect.signature(fn).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self._hints = _resolved(fn, needed=needed)

    def parameter(self, at: int) -> Any:
        """The hint of the parameter in that place; None where there is none."""
        try:
            return self._hints.get(self._names[at])
        except IndexError:
            return None

    @property
    def takes_state_second(self) -> bool:
        """Whether, of three parameters, it is the second one that is annotated as the state."""
        return len(self._names) > _SECOND + 1 and get_origin(self.parameter(_SECOND)) is State

    @property
    def output(self) -> Any:
        """The dataclass of the rows that are returned or yielded.

        NoneType for nothing, None where the hint says neither.
        """
        return _rows_of(self._hints.get("return", _UNSAID))

    @property
    def puts_out(self) -> bool:
        """Whether something is returned or yielded, for all that can be seen.

        That is by the hint or, where there is none, by the code.
        """
        hint = self._hints.get("return", _UNSAID)
        if hint is not _UNSAID:
            return hint is not types.NoneType
        code = getattr(_inner(self._fn), "__code__", None)
        return isinstance(code, types.CodeType) and _gives(code)


def state_hint(hints: Hints) -> Any:
    """The class in `state: State[Totals]`."""
    hint = hints.parameter(2)
    if get_origin(hint) is State:
        return get_args(hint)[0]
    if hints.takes_state_second:
        raise _second(hints)
    if is_record(hint):
        raise DefinitionError(
            f"{hints.name} takes {_name(hint)} as its third parameter, and gets a state that holds "
            f"one: annotate it as State[{_name(hint)}], whose value is state.value."
        )
    raise DefinitionError(
        f"{hints.name} does not say what its state is: annotate its third parameter as "
        "State[Totals], with a dataclass Totals, or give state= a dataclass, a DDL text or a "
        "StructType."
    )


def output_hint(rows: Hints, timer: Hints | None) -> Any:
    """The dataclass that the handlers put out; None where both put nothing out."""
    if rows.output is None:
        raise _no_output(rows.name)
    if rows.output is not types.NoneType:
        return rows.output
    if timer is None or not timer.puts_out:
        return None
    if timer.output in (None, types.NoneType):
        raise _no_output(timer.name)
    return timer.output


def rows_hint(hints: Hints) -> tuple[Shape, type[Any] | None, bool]:
    """What `rows` holds, and whether it comes in chunks."""
    return _rows_hint(hints.parameter(1), hints.name)


def initial_hint(hints: Hints) -> type[Any] | None:
    """The dataclass that a row of the initial state becomes; None for a dict."""
    hint = hints.parameter(1)
    if is_record(hint):
        return cast("type[Any]", hint)
    if hint in (None, Any, dict) or get_origin(hint) is dict:
        return None
    raise DefinitionError(
        f"{hints.name}: a row of the initial state cannot be {hint}. Annotate it as a "
        "dataclass with its columns, or as dict."
    )


def check_state(every: list[Hints], state: Any) -> None:
    """DefinitionError for a handler whose hint of the state contradicts the others'.

    `state` is the class that was read from the hints; None where it was given beside them.
    """
    for hints in every:
        if hints.takes_state_second:
            raise _second(hints)
        hinted = hints.parameter(_LAST)
        of = get_args(hinted)[0] if get_origin(hinted) is State else state
        if state is not None and of is not state:
            raise DefinitionError(
                f"{hints.name} takes a State[{_name(of)}], and {every[0].name} a "
                f"State[{_name(state)}]: a query has one state class. Annotate both alike."
            )


def check_output(every: list[Hints], output: Any) -> None:
    """DefinitionError for a handler that is annotated as returning another dataclass."""
    for hints in every:
        made = hints.output
        if is_record(made) and is_record(output) and not issubclass(made, output):
            raise DefinitionError(
                f"{hints.name} is annotated as returning {_name(made)}, and the output is "
                f"declared as {_name(output)}: a query has one. Annotate both alike, or give "
                "output= the class that both have."
            )


def check_no_output(hints: Hints) -> None:
    """DefinitionError for a handler of the initial state that is annotated as returning rows."""
    if is_record(hints.output):
        raise DefinitionError(
            f"{hints.name} returns something: it brings the state in, and has no output. "
            "Return None."
        )


def takes_keys(fn: Any) -> bool:
    """Whether a function, or an object's handler, is hinted as one over columns."""
    handler = getattr(fn, "handleInputRows", fn)
    try:
        hints = Hints(handler, "", needed=False)
    except (TypeError, ValueError):
        return False
    first = hints.parameter(0)
    if isinstance(fn, type) and first is None:
        # Of a class itself the method has its object first.
        first = hints.parameter(1)
    return first is Keys or get_origin(first) is Keys


def key_hint(every: list[Hints]) -> type[Any] | None:
    """The NamedTuple or dataclass that handlers hint their key as; None for none."""
    found = {hint: hints.name for hints in every if is_record(hint := hints.parameter(0))}
    if len(found) > 1:
        (one, first), (two, other) = list(found.items())[:2]
        raise DefinitionError(
            f"{first} takes a key of {_name(one)}, and {other} one of {_name(two)}: a query has "
            "one kind of key. Annotate both alike."
        )
    return next(iter(found), None)


def keys_hint(hints: Hints) -> Any:
    """The class in `keys: Keys[Totals]`."""
    hint = hints.parameter(0)
    if get_origin(hint) is Keys:
        return get_args(hint)[0]
    raise DefinitionError(
        f"{hints.name} does not say what its states are: annotate its first parameter as "
        "Keys[Totals], with a dataclass Totals, or give state= a dataclass, a DDL text or a "
        "StructType."
    )


def library_hint(hints: Hints) -> Library:
    """The library of the rows of a function over columns."""
    hint = hints.parameter(1)
    name = f"{getattr(hint, '__module__', '')}.{getattr(hint, '__name__', '')}"
    if hint is pd.DataFrame:
        return "pandas"
    if hint is pa.RecordBatch:
        return "RecordBatch"
    if hint is pa.Table:
        return "Table"
    if name.startswith("polars.") and name.endswith(".DataFrame"):
        return "polars"
    raise DefinitionError(
        f"{hints.name}: rows of a function with Keys cannot be {hint}. Annotate its second "
        "parameter as pd.DataFrame, pl.DataFrame, pa.RecordBatch or pa.Table."
    )


def check_keys(every: list[Hints], state: Any) -> None:
    """DefinitionError for a handler over columns whose hint contradicts the others'."""
    for hints in every:
        hinted = hints.parameter(0)
        of = get_args(hinted)[0] if get_origin(hinted) is Keys else state
        if state is not None and of is not state:
            raise DefinitionError(
                f"{hints.name} takes Keys[{_name(of)}], and {every[0].name} Keys[{_name(state)}]: "
                "a query has one state class. Annotate both alike."
            )


def check_columns_output(every: list[Hints]) -> None:
    """DefinitionError for handlers over columns that put out what nobody has declared."""
    for hints in every:
        if hints.puts_out:
            raise DefinitionError(
                f"{hints.name} returns columns and does not say which: give output= a dataclass, a "
                "DDL text or a StructType, or annotate that it returns None."
            )


def _second(hints: Hints) -> DefinitionError:
    return DefinitionError(
        f"{hints.name} takes its state as the second parameter: it is handed over as the last one. "
        "Change their order."
    )


def _rows_of(hint: Any) -> Any:
    if is_record(hint) or hint is types.NoneType:
        return hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [a for a in arguments if a is not types.NoneType]
        return _rows_of(kinds[0]) if len(kinds) == 1 else None
    return _rows_of(arguments[0]) if origin in _MANY and arguments else None


def _no_output(name: str) -> DefinitionError:
    return DefinitionError(
        f"{name} does not say what its output is: annotate what it returns as a dataclass, "
        "Iterator[Alert] or None, or give output= a dataclass, a DDL text or a StructType."
    )


def _rows_hint(hint: Any, name: str) -> tuple[Shape, type[Any] | None, bool]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _CHUNKS and arguments:
        shape, record, _ = _rows_hint(arguments[0], name)
        return shape, record, True
    if hint is None or hint is Any or hint is pd.DataFrame:
        return "frame", None, False
    if origin is list and arguments and is_record(arguments[0]):
        return "records", arguments[0], False
    if origin is list and arguments and dict in (arguments[0], get_origin(arguments[0])):
        return "dicts", None, False
    raise DefinitionError(
        f"{name}: rows cannot be {hint}. Annotate it as pd.DataFrame, list[Event] with a dataclass "
        "Event, or list[dict]; as an Iterator of one of these for chunks."
    )


def _inner(fn: Callable[..., Any]) -> Any:
    """What has the hints: of a partial, what it calls; of an object, its `__call__`."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn if inspect.isroutine(fn) else type(fn).__call__


def _resolved(fn: Callable[..., Any], *, needed: bool) -> dict[str, Any]:
    try:
        return resolved_hints(_inner(fn))
    except DefinitionError:
        if needed:
            raise
        return {}


def _gives(code: types.CodeType) -> bool:
    """Whether a function yields, or returns anything but a plain None."""
    if code.co_flags & inspect.CO_GENERATOR:
        return True
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval is not None:
            return True
        if step.opname == "RETURN_VALUE":
            nothing = before is not None and before.opname == "LOAD_CONST"
            if not (nothing and before is not None and before.argval is None):
                return True
        before = step
    return False


def _name(cls: Any) -> str:
    return str(getattr(cls, "__name__", cls))
