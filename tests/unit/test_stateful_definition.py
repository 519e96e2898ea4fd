"""What a definition takes, and how it refuses what can never work."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from typing import Any, Generic, TypeVar

import pandas as pd
import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import DecimalType, LongType, StringType, StructType

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, ListState, MapState, State
from bucketstate.testing import Harness
from tests.kit.stateful import Out, Total


def count(key: Any, rows: pd.DataFrame, state: State[Total]) -> Iterator[Out]:
    state.value.n += len(rows)
    yield Out(key.key, state.value.n)


@dataclass
class WithComplex:
    phase: complex


@dataclass
class WithUnion:
    either: int | str = 0


@dataclass
class Deep:
    lists: list[dict[str, WithComplex]] = field(default_factory=list)


@dataclass
class Recursive:
    child: Recursive | None = None


@dataclass
class WithoutInit:
    n: int = field(default=0, init=False)


@dataclass
class BareList:
    tags: list = field(default_factory=list)  # type: ignore[type-arg]


@dataclass
class BarePart:
    values: ListState = field(default_factory=ListState)  # type: ignore[type-arg]


@dataclass
class PartOfParts:
    values: list[ListState[int]] = field(default_factory=list)


@dataclass
class TtlOnPlain:
    n: int = stateful.value_state(ttl=pd.Timedelta(hours=1))  # type: ignore[assignment]


@dataclass
class ListKeys:
    by_list: MapState[list[int], int]


@dataclass
class Empty:
    pass


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    v: T


@dataclass
class IntBox(Box[int]):
    more: int = 0


@dataclass
class NeedsMore:
    n: int = 0
    scale: InitVar[int] = field(kw_only=True)


@dataclass(init=False)
class OwnInit:
    n: int = 0

    def __init__(self) -> None:
        self.n = 1


@dataclass
class TwoCases:
    n: int = 0
    N: int = 0


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (WithComplex, "WithComplex.phase is complex, which has no place in a Spark schema."),
        (WithUnion, "WithUnion.either is int | str, which"),
        (Deep, "WithComplex.phase is complex"),
        (Recursive, "Recursive holds itself (Recursive > Recursive)"),
        (WithoutInit, "WithoutInit.n has init=False"),
        (
            BareList,
            "BareList.tags is list, which does not say what it holds: write for example list[",
        ),
        (BarePart, "BarePart.values does not say what it holds"),
        (
            PartOfParts,
            "PartOfParts.values[] is bucketstate.stateful.codec.parts.ListState[",
        ),
        (TtlOnPlain, "TtlOnPlain.n has a time to live, but is not a part"),
        (ListKeys, "ListKeys.by_list: a map's key must be a plain value"),
        (Empty, "Empty has no fields"),
        (IntBox, "IntBox.v is ~T, a type variable: annotate the field again"),
        (
            NeedsMore,
            "NeedsMore needs scale, which is no field, so it cannot be made of what is stored",
        ),
        (OwnInit, "OwnInit takes no n, so it cannot be made"),
        (TwoCases, "TwoCases has n and N, which are one name for Spark"),
        ("n int, N int", "State has n and N, which are one name for Spark"),
        ("n int, n int", "State has n and n, which are one name for Spark"),
        ("a struct<b int, B int>", "has b and B, which are one name for Spark"),
        ("n lang", "The schema 'n lang' cannot be read after 'n lang': expected a type"),
        ("n", "The schema 'n' cannot be read after 'n': expected a type"),
        ("n array<long", "cannot be read after 'n array < long': expected '>'"),
        ("n long, ", "expected a column's name"),
        ("n long; m long", "cannot be read from '; m long' on"),
        ("`a b` long", "'a b' cannot be one. Rename it."),
        (StructType(), "State has no columns"),
        ("v interval year to month", "cannot be read"),
        ("price decimal(50,2)", "State.price is decimal(50,2), which Spark has not: give decimal("),
        ("shares array<decimal(3,5)>", "State.shares[] is decimal(3,5)"),
        (StructType().add("n", DecimalType(39, 0)), "State.n is decimal(39,0)"),
        (int, "or a pydantic model, a DDL text or a StructType"),
    ],
)
def test_a_state_that_cannot_be_stored_is_refused_when_it_is_defined(state: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.define(count, state=state)
    assert told in str(refusal.value)
    with pytest.raises(DefinitionError):
        stateful.state_schema(state)


def no_state_hint(key: Any, rows: Any, state: Any) -> Out | None: ...


def no_output_hint(key: Any, rows: Any, state: State[Total]): ...  # type: ignore[no-untyped-def]


def frame_hint(key: Any, rows: Any, state: State[Total]) -> pd.DataFrame:
    raise NotImplementedError


def bad_rows(key: Any, rows: set[int], state: State[Total]) -> None: ...


def two_parameters(key: Any, rows: Any) -> None: ...


def state_second(key: Any, state: State[Total], rows: Any) -> None: ...


def bare_state(key: Any, rows: Any, state: Total) -> None: ...


class NeedsArguments:
    def __init__(self, gap: int) -> None:
        self.gap = gap

    def handleInputRows(self, key: Any, rows: Any, state: State[Total]) -> None: ...


class NoMethods: ...


class BadTimeout:
    def handleInputRows(self, key: Any, rows: Any, state: State[Total]) -> None: ...

    def handleExpiredTimer(self, state: State[Total]) -> None: ...


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (no_state_hint, "annotate its third parameter as State[Totals]"),
        (no_output_hint, "no_output_hint does not say what its output is"),
        (frame_hint, "frame_hint does not say what its output is"),
        (bad_rows, "bad_rows: rows cannot be set[int]"),
        (two_parameters, "cannot be called with (key, rows, state)"),
        (NeedsArguments, "give an instance instead"),
        (NoMethods, "NoMethods has no method handleInputRows(key, rows, state)"),
        (
            BadTimeout,
            "BadTimeout.handleExpiredTimer(state: 'State[Total]') -> 'None' cannot be called",
        ),
        (7, "7 is no stateful function"),
        (state_second, "state_second takes its state as the second parameter"),
        (bare_state, "annotate it as State[Total], whose value is state.value"),
    ],
)
def test_a_function_that_cannot_work_is_refused(fn: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.define(fn)
    assert told in str(refusal.value)


def test_hints_of_local_classes_are_refused_with_the_way_out() -> None:
    @dataclass
    class Local:
        n: int = 0

    def local(key: Any, rows: pd.DataFrame, state: State[Local]) -> None: ...

    with pytest.raises(DefinitionError, match="cannot be resolved: name 'Local' is not defined"):
        stateful.define(local)
    assert stateful.define(local, state=Local, output=Out).state is Local


def test_the_schemas_follow_from_the_hints() -> None:
    assert stateful.output_schema(Out) == StructType().add("key", StringType()).add("n", LongType())
    assert stateful.state_schema("n long, tags array<string>").simpleString() == (
        "struct<n:bigint,tags:array<string>>"
    )


def test_a_definition_is_the_function_and_may_be_defined_again() -> None:
    defined = stateful.define(count)
    assert stateful.define(defined) is defined
    again = stateful.define(defined, output="key string, n long", chunked=True)
    assert (again.chunked, again.output, again.state) == (True, "key string, n long", Total)

    @stateful.define(state="n long", output=Out)
    def decorated(key: Any, rows: pd.DataFrame, state: Any) -> Any:
        return (key, len(rows), state)

    assert decorated("k", pd.DataFrame(), "s") == ("k", 0, "s")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"version": 0}, "version=0 of a state"),
        ({"version": 2, "migrations": {2: dict}}, "must be a version before it (1 to 1)"),
        ({"version": 2, "migrations": {1: "x"}}, "each value a function"),
        ({"version": 2, "migrations": [dict]}, "give a dict from each version"),
    ],
)
def test_an_evolution_that_cannot_be_is_refused(options: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.state(**options)
    assert told in str(refusal.value)


def test_a_decorator_without_brackets() -> None:
    with pytest.raises(DefinitionError, match=r"on Total has no brackets: write @stateful\.state"):
        stateful.state(Total)  # type: ignore[arg-type]


class OfSpark(StatefulProcessor):
    def init(self, handle: Any) -> None: ...

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("processor", [OfSpark, OfSpark()])
def test_a_processor_of_sparks_is_told_what_to_change(processor: Any) -> None:
    with pytest.raises(DefinitionError, match=r"^OfSpark is a StatefulProcessor of Spark's: give"):
        stateful.define(processor)
    with pytest.raises(DefinitionError, match=r"handleInputRows\(self, key, rows, state: State"):
        Harness(processor, by="key")


def test_a_definition_looks_like_the_function_to_tools() -> None:
    def documented(key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
        """Counts."""
        return Out(key.key, len(rows) + state.value.n)

    made: Any = stateful.define(documented, state=Total, output=Out)
    assert (made.__name__, made.__doc__, made.__module__) == ("documented", "Counts.", __name__)
    assert made.__wrapped__ is documented
    assert inspect.unwrap(made) is documented
    assert inspect.signature(made) == inspect.signature(documented)
    assert made == stateful.define(documented, state=Total, output=Out)

    class Documented:
        """Counts, too."""

        def handleInputRows(self, key: Any, rows: pd.DataFrame, state: State[Total]) -> Out:
            return Out(key.key, len(rows) + state.value.n)

    of_class: Any = stateful.define(Documented, state=Total, output=Out)
    assert (of_class.__name__, of_class.__doc__) == ("Documented", "Counts, too.")
    assert not hasattr(of_class, "__wrapped__")
    again: Any = stateful.define(made, output="key string, n long")
    assert (again.__name__, again.__doc__) == ("documented", "Counts.")
    dumps: Any = cloudpickle.dumps
    assert cloudpickle.loads(dumps(count_defined)).__name__ == "count"


count_defined = stateful.define(count)


@pytest.mark.parametrize("options", [{"ttl": 5}, {"ttl": pd.Timedelta(0)}, {"time": "never"}])
def test_a_time_to_live_that_cannot_be_is_refused(options: Any) -> None:
    with pytest.raises(DefinitionError):
        stateful.list_state(**options)
