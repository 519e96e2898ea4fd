"""Classes of other kinds than dataclasses as state, output, rows and keys; unions of them; JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, time
from typing import Any, Literal, NamedTuple

import attrs
import pydantic
import pytest
from hypothesis import given, seed, settings

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, MigrationError, State, WrongTypeError
from bucketstate.stateful.codec.document import Clock
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.kit.cases import examples
from tests.kit.stateful import Out
from tests.kit.values import classes
from tests.kit.values.classes import AsDataclass, Closed, Opened, Person, Point, Price

ROW = [{"key": "a"}]
OPERATORS: list[Operator] = ["applyInPandasWithState", "transformWithState"]


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", classes.KINDS)
@seed(7)
@settings(database=None, max_examples=examples(10))
@given(values=classes.fields())
def test_a_class_of_each_kind_comes_back_from_state_output_and_rows(
    kind: Any, operator: Operator, values: dict[str, Any]
) -> None:
    value = kind(**values)
    written: list[Any] = []

    def step(_key: Any, rows: Any, state: Any) -> Any:
        if not state.exists:
            state.update(rows[0])
        written.append((rows[0], state.value))
        return state.value

    fn = stateful.define(annotated(step, kind), state=kind, output=kind)
    running = Harness(fn, by="n", operator=operator, schema=kind)
    first = running.run([value])
    assert running.run([value]) == first
    assert running.state(value.n) == value
    for row, state in written:
        assert (type(row), row) == (kind, value)
        assert (type(state), state) == (kind, value)
    # What is put out is what rows are made of.
    again = Harness(fn, by="n", operator=operator, schema=kind)
    assert again.run(first) == first


def annotated(step: Any, kind: Any) -> Any:
    def of_kind(key: Any, rows: Any, state: Any) -> Any:
        return step(key, rows, state)

    of_kind.__annotations__ = {"rows": list[kind], "state": State[kind], "return": kind}
    return of_kind


@pytest.mark.parametrize("kind", classes.KINDS)
def test_the_schema_is_the_same_for_each_kind(kind: Any) -> None:
    def of(kind: Any) -> tuple[str, str]:
        return (
            stateful.output_schema(kind).simpleString(),
            stateful.state_schema(kind).simpleString(),
        )

    assert of(kind) == of(AsDataclass)
    output, _ = of(kind)
    assert "at:string,point:struct<x:bigint,y:double>" in output
    assert (
        "event:struct<tag:string,Opened:struct<by:string>,Closed:struct<at:bigint,why:string>>"
    ) in output
    assert "last:struct<tag:string,moved:struct<kind:string,to:" in output
    assert "anything:string,by_name:map<string,string>" in output


@dataclass
class Kept:
    event: Opened | Closed = field(default_factory=Opened)
    anything: Any = None
    at: time = time(12, 30)
    person: Person = field(default_factory=Person)
    price: Price = field(default_factory=Price)


def test_what_is_stored_and_put_out() -> None:
    def step(_key: Any, _rows: Any, state: State[Kept]) -> Kept:
        state.value.event = Closed(3)
        state.value.anything = {"a": [1, None]}
        return state.value

    running = Harness(stateful.define(step, state=Kept, output=Kept), by="key")
    (row,) = running.run(ROW)
    assert (row["event"], row["anything"], row["at"]) == (Closed(3), {"a": [1, None]}, time(12, 30))
    definition, clock = stateful.define(step, state=Kept, output=Kept), Clock(0, None)
    text = definition.state_codec(UTC).dump(running.state("a"), clock)
    assert text.startswith('{"event":{"tag":"Closed","Closed":{"at":3,"why":null}},"anything":{"a"')
    output = definition.output_codec(UTC)
    assert output is not None
    sent = output.check(running.state("a"))
    assert sent["event"] == {"tag": "Closed", "Opened": None, "Closed": {"at": 3, "why": None}}
    assert (sent["anything"], sent["at"]) == ('{"a":[1,null]}', "12:30:00")


class Wider(Opened):
    pass


class MoreExpensive(Price):
    pass


class Elsewhere(NamedTuple):
    amount: int = 0
    currency: str = "EUR"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"event": Wider()}, "field event of Kept is Wider Wider(by=''), expected an instance of "),
        ({"price": MoreExpensive()}, "In the next call it would be an instance of Price and no Mo"),
        ({"price": Elsewhere()}, "In the next call it would be an instance of Price and no Elsew"),
        ({"price": {"amount": 1}}, "In the next call it would be an instance of Price and no dict"),
        ({"event": Opened(1)}, "field event.Opened.by of Kept is int 1, expected a str"),  # type: ignore[arg-type]
        ({"anything": {1: 2}}, "field anything of Kept is dict {1: 2}, expected what JSON has"),
        ({"anything": {"a": (1,)}}, "field anything['a'] of Kept is tuple (1,), expected what"),
        ({"anything": float("inf")}, "field anything of Kept is float inf, expected what JSON has"),
        ({"at": "12:30"}, "field at of Kept is str '12:30', expected a time"),
        ({"person": Person.model_construct(age=-1)}, "what Person takes (age: Input should be gre"),
        ({"person": Person.model_construct(name=3)}, "what Person takes (name: Input should be a "),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(change: Any, told: str) -> None:
    def step(_key: Any, _rows: Any, state: State[Kept]) -> None:
        for name, value in change.items():
            setattr(state.value, name, value)

    with pytest.raises(WrongTypeError) as refusal:
        Harness(stateful.define(step, state=Kept, output=Out), by="key").run(ROW)
    assert told in str(refusal.value)


def test_what_a_model_does_not_take_is_refused_when_it_is_set_and_when_it_is_loaded() -> None:
    def older(_key: Any, _rows: Any, state: State[Any]) -> None:
        state.value.age = -5

    def newer(_key: Any, _rows: Any, state: State[Person]) -> None:
        state.value.age += 1

    with pytest.raises(WrongTypeError, match="age: Input should be greater than or equal to 0"):
        Harness(stateful.define(older, state=Person, output=Out), by="key").run(ROW)
    running = Harness(stateful.define(older, state="age long", output=Out), by="key")
    running.run(ROW)
    with pytest.raises(MigrationError, match="expected what Person takes \\(age: Input should be"):
        running.restarted(stateful.define(newer, state=Person, output=Out)).run(ROW)


def test_rows_that_a_model_does_not_take_are_refused() -> None:
    def step(_key: Any, rows: list[Person], state: State[Kept]) -> None: ...

    with pytest.raises(WrongTypeError, match=r"expected what Person takes \(age: Input should"):
        Harness(step, by="name").run([{"name": "a", "age": -1, "tags": []}])


class At(NamedTuple):
    x: int
    y: int


@attrs.frozen
class AtAttrs:
    x: int
    y: int


class AtModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)
    x: int
    y: int


@pytest.mark.parametrize("kind", [At, AtAttrs, AtModel])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_key_of_each_kind(kind: Any, operator: Operator) -> None:
    seen: list[Any] = []

    def step(key: Any, _rows: Any, state: State[Kept]) -> None:
        seen.append(key)
        state.update(Kept())

    step.__annotations__ = {"key": kind, "state": State[Kept], "return": None}
    running = Harness(step, by=["x", "y"], operator=operator)
    running.run([{"x": 1, "y": 2}])
    assert seen == [kind(x=1, y=2)]
    assert running.state(1, 2) == Kept()


@dataclass(kw_only=True)
class Named:
    key: str
    n: int


def test_rows_of_a_class_that_takes_its_fields_by_name_alone() -> None:
    def step(_key: Any, rows: list[Named], _state: State[Kept]) -> Out:
        return Out(rows[0].key, rows[0].n)

    assert Harness(step, by="key").run([{"key": "a", "n": 3}]) == [{"key": "a", "n": 3}]


class Undecorated(Price):
    note: str = ""


class Extra(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    n: int = 0


class Aliased(pydantic.BaseModel):
    n: int = pydantic.Field(0, alias="number")


@attrs.define
class Private:
    _n: int = 0


@attrs.define
class OfItself:
    n: int = 0
    twice: int = attrs.field()

    @twice.default
    def _twice(self) -> int:
        return 2 * self.n


@attrs.define
class Unsaid:
    n = attrs.field(default=0)  # type: ignore[var-annotated]


@dataclass
class First:
    kind: Literal["one"] = "one"


@dataclass
class Second:
    kind: Literal["one"] = "one"


@dataclass
class Alike:
    either: First | Second = field(default_factory=First)


@dataclass
class Louder:
    kind: Literal["ONE"] = "ONE"


@dataclass
class AlikeButForCase:
    either: First | Louder = field(default_factory=First)


@dataclass
class Tag:
    n: int = 0


@dataclass
class Tagged:
    either: Tag | First = field(default_factory=First)


@dataclass
class Plain:
    either: int | str = 0


@dataclass
class Keyed:
    by: dict[Any, int] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (Extra, "Extra takes fields that it does not declare (extra='allow')"),
        (
            Undecorated,
            "Undecorated.note is no field, and would not be kept: Undecorated has no @at",
        ),
        (Aliased, "Aliased.n is given as 'number' where an instance is made: add populate_by_name"),
        (Private, "Private._n is given as 'n' where an instance is made: rename it, or give it al"),
        (OfItself, "OfItself.twice has a default that is made of other fields"),
        (Unsaid, "Unsaid.n does not say what it holds: annotate it."),
        (Alike, "Alike.either is one of classes whose tags are one, one: they have to differ"),
        (
            AlikeButForCase,
            "AlikeButForCase.either is one of classes whose tags are one, ONE: they have to differ "
            "in more than case",
        ),
        (
            Tagged,
            "Tagged.either is one of classes whose tags are Tag, First: they have to differ in "
            "more than case, and none may be 'tag'",
        ),
        (Plain, "Plain.either is int | str, which has no place in a Spark schema"),
        (Keyed, "Keyed.by is dict[typing.Any, int]: a key must be a plain value"),
    ],
)
def test_what_has_no_place_in_a_schema_is_refused(state: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        stateful.state_schema(state)
    assert str(refusal.value).startswith(told)


def test_points_are_tuples_that_change_by_being_replaced() -> None:
    def step(key: Any, rows: Any, state: State[Point]) -> Out:
        state.value = state.value._replace(x=state.value.x + len(rows))
        return Out(key.key, state.value.x)

    running = Harness(stateful.define(step), by="key")
    assert [running.run(ROW), running.run(ROW)] == [
        [{"key": "a", "n": 1}],
        [{"key": "a", "n": 2}],
    ]


class Nothing(NamedTuple):
    kind: Literal["nothing"] = "nothing"


class Raw(NamedTuple):
    data: bytes = b"abcd"
    kind: Literal["some"] = "some"


class Text(NamedTuple):
    data: str = ""
    kind: Literal["some"] = "some"


@dataclass
class OfRaw:
    either: Nothing | Raw = field(default_factory=Raw)


@dataclass
class OfText:
    either: Nothing | Text = field(default_factory=Text)


def test_bytes_in_one_of_several_classes_are_not_read_as_text() -> None:
    def step(_key: Any, _rows: Any, state: State[Any]) -> None:
        state.update(state.value)

    running = Harness(stateful.define(step, state=OfRaw, output=Out), by="key")
    running.run(ROW)
    assert running.state("a") == OfRaw()
    with pytest.raises(MigrationError, match=r"field either.some.data holds bytes b'abcd'"):
        running.restarted(stateful.define(step, state=OfText, output=Out)).run(ROW)
