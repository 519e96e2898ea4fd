"""Rows for hypothesis: a strategy for each hint that a column may have."""

from __future__ import annotations

import types
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from uuid import UUID

from bucketstate.optional import needed
from bucketstate.stateful.codec.classes import KINDS, is_record
from bucketstate.stateful.codec.codecs import DecimalCodec
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.hints import codec_of_hint, hints_of_record, struct_of_record
from bucketstate.stateful.errors import DefinitionError, MismatchError, did_you_mean

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

_LONGEST = 5
"""Elements of a list, at most: what goes wrong does with few."""
_REFUSED = object()
_FIRST, _LAST = datetime(1900, 1, 1), datetime(2100, 1, 1)
_SPAN = timedelta(days=36_500)


def rows_of(row: type[T], /, **columns: SearchStrategy[Any]) -> SearchStrategy[T]:
    """A strategy of hypothesis for rows: instances of a class, all their fields drawn.

    `st.lists(rows_of(Event))` are batches that `Harness.run` takes. Values are all that Spark has
    for a hint, within these bounds: times of the years 1900 to 2099, in UTC; durations of 100
    years; lists, sets and dicts of five elements; floats that are not NaN. What the class's own
    code does not take is drawn again: give strategies for fields of which it takes few. Safe from
    any thread.

    Args:
        row: the class of the rows: a dataclass, a NamedTuple, an attrs class or a pydantic model.
        columns: strategies for fields, by name, in the place of those by their hints: such as
            `key=st.sampled_from(["a", "b"])`, without which rows seldom share a key.

    Raises:
        DefinitionError: a hint has no place in a Spark schema, or there is no such field.
        MissingLibraryError: hypothesis is not installed.
    """
    st = needed("hypothesis.strategies", what="A strategy for rows", library="hypothesis")
    if not is_record(row):
        raise DefinitionError(f"The rows are {row!r}: give {KINDS}.")
    names = struct_of_record(row, UTC).names
    for name in columns:
        if name not in names:
            raise DefinitionError(
                f"{row.__name__} has no field {name!r}. {did_you_mean(name, names, repr)}"
                f"There are: {', '.join(names)}."
            )
    made: SearchStrategy[T] = _instances(st, row, columns)
    return made


def _instances(st: Any, cls: type[Any], given: dict[str, Any]) -> Any:
    hints, codec = hints_of_record(cls), struct_of_record(cls, UTC)
    others = {name: _of_hint(st, hints[name]) for name in codec.names if name not in given}

    def made(**values: Any) -> Any:
        try:
            return codec.make(**values)
        except MismatchError:
            return _REFUSED

    return st.builds(made, **others, **given).filter(lambda value: value is not _REFUSED)


def _of_hint(st: Any, hint: Any) -> Any:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(st, hint, arguments[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if hint is Any:
        return _json(st)
    if is_record(hint):
        return _instances(st, hint, {})
    return _scalar(st, hint) if origin is None else _generic(st, origin, arguments)


def _scalar(st: Any, hint: Any) -> Any:
    if hint is Decimal:
        return _decimals(st, DecimalCodec())
    made = {
        bool: st.booleans,
        int: partial(st.integers, -(2**63), 2**63 - 1),
        float: partial(st.floats, allow_nan=False),
        str: st.text,
        bytes: st.binary,
        date: st.dates,
        datetime: partial(st.datetimes, _FIRST, _LAST, timezones=st.just(UTC)),
        time: st.times,
        timedelta: partial(st.timedeltas, -_SPAN, _SPAN),
        UUID: st.uuids,
    }
    return made[hint]()


def _json(st: Any) -> Any:
    finite = st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | st.integers() | finite | st.text(),
        lambda inner: (
            st.lists(inner, max_size=_LONGEST)
            | st.dictionaries(st.text(), inner, max_size=_LONGEST)
        ),
        max_leaves=_LONGEST,
    )


def _annotated(st: Any, hint: Any, inner: Any) -> Any:
    codec = codec_of_hint(hint, "", UTC)
    plain = codec.inner if isinstance(codec, OptionalCodec) else codec
    if not isinstance(plain, DecimalCodec):
        return _of_hint(st, inner)
    drawn = _decimals(st, plain)
    return drawn if plain is codec else st.none() | drawn


def _decimals(st: Any, codec: DecimalCodec) -> Any:
    kind: Any = codec.spark
    most = 10**kind.precision - 1

    def of(unscaled: int) -> Decimal:
        # Arithmetic of decimals would round them.
        digits = tuple(int(digit) for digit in str(abs(unscaled)))
        return Decimal((int(unscaled < 0), digits, -kind.scale))

    return st.integers(-most, most).map(of)


def _generic(st: Any, origin: Any, arguments: tuple[Any, ...]) -> Any:
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if a is types.NoneType else _of_hint(st, a) for a in arguments])
    inner = [_of_hint(st, a) for a in arguments if a is not Ellipsis]
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*inner)
    if origin is dict:
        return st.dictionaries(*inner, max_size=_LONGEST)
    lists = st.lists(inner[0], max_size=_LONGEST)
    if origin is list:
        return lists
    if origin is tuple:
        return lists.map(tuple)
    make = st.frozensets if origin is frozenset else st.sets
    return make(inner[0], max_size=_LONGEST)
