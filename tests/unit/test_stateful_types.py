"""Values of every type that a field may have beyond the plain ones, through state, output and rows;
and values that no field can have."""

from __future__ import annotations

import functools
import typing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, seed, settings
from pyspark.sql.types import DecimalType

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, ListState, MapState, State, WrongTypeError
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.cases import examples
from tests.kit.stateful import Out, Total
from tests.kit.values.typed import Colour, Typed, UserId, typed

ROW = [{"key": "a"}]
OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]


class Size(IntEnum):
    SMALL = 1


class Word(StrEnum):
    ONE = "one"


@dataclass
class Parts:
    of: Typed = field(default_factory=Typed)
    log: ListState[Colour] = field(default_factory=ListState)
    by_id: MapState[UUID, tuple[int, str]] = field(default_factory=MapState)


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
@seed(11)
@settings(database=None, max_examples=examples(15))
@given(value=typed())
def test_every_type_comes_back_from_state_and_output(operator: Operator, value: Typed) -> None:
    written: list[Parts] = []

    def step(_key: Any, _rows: Any, state: State[Parts]) -> Typed:
        if not state.exists:
            held = Parts(value)
            held.log.appendValue(value.colour)
            held.by_id.updateValue(value.id, value.pair)
            state.update(held)
            return value
        written.append(state.value)
        return state.value.of

    running = Harness(step, by="key", operator=operator, state=Parts, output=Typed)
    first, second = running.run(ROW), running.run(ROW)
    assert Typed(**first[0]) == Typed(**second[0]) == value
    assert [type(v) for v in second[0].values()] == [type(v) for v in vars(value).values()]
    held = running.state("a")
    assert held == Parts(value, ListState([value.colour]), MapState({value.id: value.pair}))
    assert running.timeout("a") is None


@pytest.mark.parametrize("operator", OPERATORS)
def test_rows_of_a_dataclass_come_as_they_were_given(operator: Operator) -> None:
    seen: list[Any] = []

    def records(_key: Any, rows: list[Typed], _state: State[Total]) -> None:
        seen.extend(rows)

    value = Typed(tags={"x", "y"}, note=None)
    for rows in ([value], [vars(value)]):
        Harness(records, by="literal", operator=operator, schema=Typed).run(rows)
    Harness(records, by="literal", operator=operator).run([value])
    assert seen == [value] * 3


def test_a_set_that_did_not_change_is_not_written_again() -> None:
    codec = stateful.define(quiet, state=Typed, output=Out).state_codec(UTC)
    clock: Any = None
    one = codec.dump(Typed(tags={"a", "b", "c"}), clock)
    assert one == codec.dump(Typed(tags={"c", "b", "a"}), clock)
    assert codec.load(one, 1, clock) == Typed(tags={"a", "b", "c"})


def quiet(key: Any, rows: pd.DataFrame, state: State[Total]) -> None: ...


def test_the_schema_of_every_type() -> None:
    assert stateful.state_schema(Typed).simpleString() == (
        "struct<colour:string,level:bigint,id:string,literal:string,number:bigint,user:bigint,"
        "many:array<bigint>,pair:struct<_1:bigint,_2:string>,tags:array<string>,"
        "levels:array<bigint>,price:decimal(10,2),rate:decimal(5,4),by_colour:map<string,bigint>,"
        "by_user:array<struct<key:bigint,value:string>>,note:string,at:timestamp>"
    )


@dataclass
class Prices:
    price: Annotated[Decimal, (10, 2)] = Decimal(0)
    free: Annotated[float, "of no matter to Spark"] = 0.0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"colour": "red"}, "field colour of Typed is str 'red', expected a Colour"),
        ({"level": 2}, "field level of Typed is int 2, expected a Level"),
        ({"id": "x"}, "field id of Typed is str 'x', expected a UUID"),
        ({"literal": "c"}, "field literal of Typed is str 'c', expected one of 'a', 'b'"),
        ({"number": True}, "field number of Typed is bool True, expected one of 1, 2"),
        ({"many": [1]}, "field many of Typed is list [1], expected a tuple"),
        ({"many": (1, "x")}, "field many[1] of Typed is str 'x', expected an int"),
        ({"pair": (1, "x", 2)}, "field pair of Typed is tuple (1, 'x', 2), expected a tuple of 2"),
        ({"pair": (1, 2)}, "field pair[1] of Typed is int 2, expected a str"),
        ({"tags": ["x"]}, "field tags of Typed is list ['x'], expected a set"),
        ({"tags": {1}}, "field tags[1] of Typed is int 1, expected a str"),
        ({"levels": {1}}, "field levels of Typed is set {1}, expected a frozenset"),
        ({"price": Decimal("1.234")}, "expected a Decimal of 8 digits before and 2 after"),
        (
            {"by_colour": [("red", 1)]},
            "field by_colour of Typed is list [('red', 1)], exp",
        ),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(change: Any, told: str) -> None:
    def step(_key: Any, _rows: Any, state: State[Typed]) -> None:
        for name, value in change.items():
            setattr(state.value, name, value)

    with pytest.raises(WrongTypeError) as refusal:
        Harness(stateful.define(step, state=Typed, output=Out), by="key").run(ROW)
    assert told in str(refusal.value)


@dataclass
class Numbers:
    f: float = 0.0
    by_name: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"f": 10**400}, "field f of Numbers is int 1000"),
        ({"f": 10**5000}, "field f of Numbers is int of very many digits, expected a float"),
        ({"by_name": [1, 2]}, "field by_name of Numbers is list [1, 2], expected a dict"),
        ({"texts": ["ab", "cd"]}, "field texts of Numbers is list ['ab', 'cd'], expected a dict"),
        ({"texts": {"a": 1}}, "field texts['a'] of Numbers is int 1, expected a str"),
    ],
)
def test_what_python_itself_would_trip_over_is_refused_by_name(change: Any, told: str) -> None:
    def step(_key: Any, _rows: Any, state: State[Numbers]) -> None:
        state.update({"f": 0.0, "by_name": {}, "texts": {}} | change)

    with pytest.raises(WrongTypeError) as refusal:
        Harness(stateful.define(step, state=Numbers, output=Out), by="key").run(ROW)
    assert told in str(refusal.value)


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Nothing(Enum): ...


class Level(IntEnum):
    LOW = 1


Meters = NewType("Meters", float)
Length = NewType("Length", Meters)
Money = NewType("Money", Decimal)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Size, "bigint"),
        (Word, "string"),
        (Length, "double"),
        (Literal["a", None], "string"),
        (tuple[str, ...], "array<string>"),
        (tuple[int], "struct<_1:bigint>"),
        (frozenset[UUID], "array<string>"),
        (dict[Word, Size], "map<string,bigint>"),
        (Annotated[Decimal, DecimalType(7, 3)], "decimal(7,3)"),
        (Annotated[Decimal | None, (10, 2)], "decimal(10,2)"),
        (Annotated[Money, (10, 2)], "decimal(10,2)"),
        (Annotated[Money | None, DecimalType(7, 3)], "decimal(7,3)"),
        (Annotated[int, (0, 100)], "bigint"),
        (Annotated[Decimal, "euro"], "decimal(38,18)"),
        (Annotated[list[Annotated[Decimal, (4, 1)]], "euro"], "array<decimal(4,1)>"),
    ],
)
def test_hints_and_their_types(hint: Any, schema: str) -> None:
    assert stateful.state_schema(holding(hint)).simpleString() == f"struct<x:{schema}>"


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (Mixed, "Held.x is Mixed, whose values are 1, 'two': a column holds texts alone"),
        (Nothing, "Held.x is Nothing, whose values are none"),
        (Literal["a", 1], "whose values are 'a', 1"),
        (Literal[True], "whose values are True"),
        (
            Literal[Level.LOW, None],
            "Held.x is typing.Literal[<Level.LOW: 1>, None], and <Level.LOW: 1> would come back "
            "as 1: annotate it as Level, or give Literal the values themselves.",
        ),
        (
            Annotated[Decimal, (2, 10)],
            "Held.x is a Decimal of the digits (2, 10): write Annot",
        ),
        (Annotated[Decimal, (10, 2, 1)], "of the digits (10, 2, 1)"),
        (Annotated[Decimal | None, (2, 10)], "Held.x is a Decimal of the digits (2, 10)"),
        (Annotated[Decimal, DecimalType(50, 2)], "Held.x is a Decimal of the digits (50, 2)"),
        (Annotated[float, (10, 2)], "Held.x is float, with the digits of a Decimal, (10, 2): wri"),
        (Annotated[list[Decimal], DecimalType(5, 2)], "l], with the digits of a Decimal, Decima"),
        (set[list[int]], "Held.x is set[list[int]]: an element of a set must be a plain value"),
        (dict[tuple[int, int], int], "a key must be a plain value"),
        (vars(typing)["List"], "Held.x is typing.List, which has no place in a Spark schema"),
        (vars(typing)["Dict"], "Held.x is typing.Dict, which has no place"),
        (tuple, "Held.x is tuple, which does not say what it holds: write for example tuple[int"),
        (set, "Held.x is set, which does not say what it holds: write for example set[int]"),
    ],
)
def test_hints_that_say_too_little_or_too_much(hint: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.state_schema(holding(hint))
    assert told in str(refusal.value)


def holding(hint: Any) -> type[Any]:
    class Held:
        pass

    Held.__annotations__ = {"x": hint}
    return dataclass(Held)


@pytest.mark.parametrize(
    ("hint", "default", "zone", "told"),
    [
        (Decimal, 0, "UTC", "The default of Held.x is int 0, expected a Decimal of 20 digits"),
        (int, None, "UTC", "The default of Held.x is None, expected an int of 64 bits"),
        (datetime, datetime(2024, 1, 1), "UTC", "expected a datetime with a time zone"),
        (list[int], list, "UTC", None),
        (list[str], lambda: ["a", 1], "UTC", "is int 1, at [1], expected a str"),
    ],
)
def test_a_default_that_does_not_fit_its_field_is_refused_before_the_first_row(
    hint: Any, default: Any, zone: str, told: str | None
) -> None:
    made: Any = field(default_factory=default) if callable(default) else default

    class Held:
        x = made

    Held.__annotations__ = {"x": hint}
    held: Any = dataclass(Held)

    def define() -> None:
        Harness(stateful.define(quiet, state=held, output=Out), by="key", time_zone=zone).states()

    if told is None:
        define()
        return
    with pytest.raises(DefinitionError) as refusal:
        define()
    assert told in str(refusal.value)


@dataclass
class Careful:
    count: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        self.made = self.count + 1

    @functools.cached_property
    def twice(self) -> int:
        return self.count * 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "cuont",
            "field cuont of Careful is int 9, expected an attribute that is a field of",
        ),
        ("cuont", "Did you mean count? Only fields are stored"),
        ("elsewhere", "Only fields are stored: use one of them, add one, or begin the name"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_misspelled_attribute_of_the_state_is_refused(name: str, told: str, nested: bool) -> None:
    @dataclass
    class Outer:
        inner: Careful = field(default_factory=Careful)

    def step(_key: Any, _rows: Any, state: State[Any]) -> None:
        setattr(state.value.inner if nested else state.value, name, 9)

    running = Harness(
        stateful.define(step, state=Outer if nested else Careful, output=Out), by="key"
    )
    with pytest.raises(WrongTypeError) as refusal:
        running.run(ROW)
    assert (told.replace("field cuont", "field inner.cuont") if nested else told).replace(
        "of Careful is", "of Outer is" if nested else "of Careful is"
    ) in str(refusal.value)
    assert running.states() == {}


def test_what_the_class_sets_itself_and_private_names_are_let_be() -> None:
    def step(_key: Any, _rows: Any, state: State[Careful]) -> None:
        state.value.count += state.value.twice + state.value.made
        state.value._scratch = 5  # type: ignore[attr-defined]

    running = Harness(stateful.define(step, state=Careful, output=Out), by="key")
    running.run(ROW)
    assert running.state("a").count == 1


def test_a_field_that_was_deleted_is_refused() -> None:
    @dataclass
    class Needs:
        n: int

    def step(_key: Any, _rows: Any, state: State[Any]) -> None:
        held = Needs(1)
        state.update(held)
        del held.n

    with pytest.raises(WrongTypeError, match="field n of Needs is nothing, expected an int"):
        Harness(stateful.define(step, state=Needs, output=Out), by="key").run(ROW)


@pytest.mark.parametrize("operator", OPERATORS)
def test_whole_numbers_in_dicts_stay_whole_beside_a_null(operator: Operator) -> None:
    seen: list[Any] = []

    def dicts(_key: Any, rows: list[dict], _state: State[Total]) -> None:  # type: ignore[type-arg]
        seen.extend(rows)

    rows = [
        {"key": "a", "n": n, "at": at}
        for n, at in ((1, None), (None, datetime(2024, 1, 1, tzinfo=UTC)))
    ]
    Harness(dicts, by="key", operator=operator, schema="key string, n long, at timestamp").run(rows)
    assert seen == rows
    assert [type(r["n"]) for r in seen] == [int, type(None)]


@pytest.mark.parametrize("operator", OPERATORS)
def test_decimals_have_the_digits_of_their_column_in_the_output_and_their_own_in_the_state(
    operator: Operator,
) -> None:
    def step(_key: Any, _rows: Any, state: State[Prices]) -> Prices:
        state.value.price += Decimal("0.5")
        return state.value

    running = Harness(stateful.define(step, state=Prices), by="key", operator=operator)
    assert [str(r["price"]) for r in running.run(ROW)] == ["0.50"]
    assert str(running.state("a").price) == "0.5"


def test_output_frames_hold_what_spark_holds() -> None:
    def step(_key: Any, rows: pd.DataFrame, _state: State[Total]) -> pd.DataFrame:
        return pd.DataFrame(rows["value"].tolist())

    def run(**cells: Any) -> list[dict[str, Any]]:
        defined = stateful.define(step, state=Total, output=Small)
        given = {"colour": "red", "id": str(UUID(int=7)), "tags": ["b", "a"], **cells}
        rows = pd.DataFrame({"key": ["a"], "value": [given]})
        return Harness(defined, by="key", schema="key string, value " + SMALL).run(rows)

    (row,) = run()
    assert row == {"colour": Colour.RED, "id": UUID(int=7), "tags": {"a", "b"}}
    with pytest.raises(WrongTypeError, match="field colour is str 'blue', expected the value of a"):
        run(colour="blue")
    with pytest.raises(WrongTypeError, match="field id is str 'seven', expected the text of a UUI"):
        run(id="seven")


SMALL = "struct<colour: string, id: string, tags: array<string>>"


@dataclass
class Small:
    colour: Colour
    id: UUID
    tags: set[str]


def test_a_changed_type_reads_what_fits_it() -> None:
    def before(_key: Any, _rows: Any, state: Any) -> None:
        state.update({"colour": "red", "tags": ["a"], "id": {"x": 1}})

    running = Harness(before, by="key", state=Before, output=Out)
    running.run(ROW)

    def after(_key: Any, _rows: Any, state: Any) -> None: ...

    later = running.restarted(after, state=After, output=Out)
    assert later.state("a") == After(Colour.RED, {"a"}, {"x": 1})


@dataclass
class Before:
    colour: str
    tags: list[str]
    id: dict[str, int]


@dataclass
class After:
    colour: Colour
    tags: set[str]
    id: dict[Literal["x"], int]


def test_numpy_values_of_a_literal() -> None:
    def step(_key: Any, _rows: Any, state: State[Typed]) -> None:
        state.value.number = np.int64(2)  # type: ignore[assignment]
        state.value.user = UserId(3)

    running = Harness(stateful.define(step, state=Typed, output=Out), by="key")
    running.run(ROW)
    assert (running.state("a").number, running.state("a").user) == (2, 3)
