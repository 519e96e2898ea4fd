"""The documents of a state class as columns: the same text as its own codec's, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import chain, count, repeat
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import attrs
import pyarrow as pa
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import MigrationError, StateUsageError, WrongTypeError
from bucketstate.stateful.codec.document import Clock, state_codec
from bucketstate.stateful.many import documents as many_documents
from bucketstate.stateful.many.documents import Documents

pytestmark = pytest.mark.usefixtures("few")

NO_CLOCK = Clock(0, None)


@dataclass
class Plain:
    n: int = 3
    x: float = 0.5
    yes: bool = True
    text: str = 'a "quoted" \\ text'
    maybe: int | None = None
    some: float | None = None
    name: str | None = None


class Color(Enum):
    RED = "r"
    BLUE = "b"


@dataclass
class Inner:
    a: int = 1


@dataclass
class Rich:
    on: date = date(2024, 1, 1)
    at: datetime | None = None
    price: Decimal = Decimal("1.5")
    tags: list[str] = field(default_factory=list)
    by: dict[str, int] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    color: Color = Color.RED
    raw: bytes = b""


def documents(cls: Any) -> tuple[Any, Documents]:
    codec = state_codec(cls, UTC)
    return codec, Documents(codec)


def read(made: Documents, texts: list[str | None], versions: list[int | None] | None = None) -> Any:
    numbers = versions or [None if t is None else 1 for t in texts]
    return made.read(pa.array(numbers, pa.int32()), pa.array(texts, pa.string()), lambda n: n)


plain = st.builds(
    Plain,
    n=st.integers(-(2**63), 2**63 - 1),
    x=st.floats(),
    yes=st.booleans(),
    text=st.text(),
    maybe=st.none() | st.integers(-5, 5),
    some=st.none() | st.floats(allow_nan=False),
    name=st.none() | st.text(),
)
rich = st.builds(
    Rich,
    on=st.dates(),
    at=st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    price=st.decimals(-1000, 1000, places=2),
    tags=st.lists(st.text(max_size=3), max_size=3),
    by=st.dictionaries(st.text(max_size=3), st.integers(-9, 9), max_size=3),
    inner=st.builds(Inner, a=st.integers(-9, 9)),
    color=st.sampled_from(Color),
    raw=st.binary(max_size=4),
)


@given(
    st.lists(plain | rich, max_size=0) | st.lists(plain, min_size=1) | st.lists(rich, min_size=1)
)
def test_columns_and_documents_are_each_others_inverse(values: list[Any]) -> None:
    codec, made = documents(type(values[0]) if values else Plain)
    texts = [codec.dump(value, NO_CLOCK) for value in values]
    columns = read(made, texts)
    assert repr(columns.to_pylist()) == repr(read_alone(codec, made, values).to_pylist())
    written = made.write(columns, lambda n: n).to_pylist()
    if made.kind.get_field_index("price") < 0:
        assert written == texts
    # A column of decimals has as many digits after the point as its type says.
    assert repr(read(made, written).to_pylist()) == repr(columns.to_pylist())


def read_alone(codec: Any, made: Documents, values: list[Any]) -> pa.StructArray:
    """The columns of the values, without their documents."""
    rows = [codec.row(value) for value in values]
    return made._struct(rows) if rows else pa.array([], made.kind)


def test_what_has_no_document_has_the_values_of_a_new_state() -> None:
    codec, made = documents(Plain)
    text = codec.dump(Plain(n=7), NO_CLOCK)
    found = read(made, [None, text, None]).to_pylist()
    assert [row["n"] for row in found] == [3, 7, 3]
    assert found[0]["text"] == Plain.text


@dataclass
class Named:
    id: UUID = field(default_factory=uuid4)


@dataclass
class HoldsNamed:
    named: Named = field(default_factory=Named)
    n: int = 3


@dataclass
class Numbered:
    number: int = 0

    def __post_init__(self) -> None:
        self.number = self.number or next(NUMBERS)


class Model(pydantic.BaseModel):
    tags: list[UUID] = pydantic.Field(default_factory=lambda: [uuid4()])


NUMBERS = count(1)


class Holds(pydantic.BaseModel):
    tags: list[int] = pydantic.Field(default_factory=list)
    more: list[int] = [1]
    rich: Rich = pydantic.Field(default_factory=Rich)


@pytest.mark.parametrize("state", [Named, HoldsNamed, Numbered, Model])
def test_a_default_that_is_never_the_same_is_another_for_each_key(state: Any) -> None:
    codec, made = documents(state)
    text = codec.dump(codec.new(), NO_CLOCK)
    given: list[list[str | None]] = [[None] * 5, [None, text, None, text, None]]
    for texts in given:
        found = list(map(repr, read(made, texts).to_pylist()))
        alone = [f for f, text in zip(found, texts, strict=True) if text is None]
        assert len(set(alone)) == len(alone)
        assert {f for f, text in zip(found, texts, strict=True) if text} <= {found[1]}
    assert len(read(made, [])) == 0


def test_so_is_one_that_a_document_has_not() -> None:
    numbers: Iterator[int | None] = chain([None] * 20, repeat(1))

    @dataclass
    class Maybe:
        n: int = 0
        number: int | None = field(default_factory=lambda: next(numbers))

    _, made = documents(Maybe)
    found = [row["number"] for row in read(made, ['{"n":1}'] * 40).to_pylist()]
    assert set(found) == {None, 1}


def test_defaults_that_are_always_the_same_are_made_once() -> None:
    calls = count()
    for state in (Plain, Rich, Holds):
        codec, made = documents(state)
        codec.new = lambda: next(calls)
        assert len(read(made, [None] * 3)) == 3
    assert next(calls) == 0


def capped(n: int) -> int:
    return min(n, 100)


@dataclass
class Capped:
    n: int = 0

    def __post_init__(self) -> None:
        self.n = capped(self.n)


@attrs.define
class Rounded:
    n: int = attrs.field(default=0, converter=capped)


class Percent(NamedTuple):
    n: int = 0


class CappedPercent(Percent):
    def __new__(cls, n: int = 0) -> CappedPercent:
        return super().__new__(cls, capped(n))


@pytest.mark.parametrize("state", [Capped, Rounded, CappedPercent])
def test_the_code_of_a_class_changes_what_is_read_and_written(state: Any) -> None:
    _, made = documents(state)
    assert read(made, ['{"n":101}', '{"n":7}']).to_pylist() == [{"n": 100}, {"n": 7}]
    columns = pa.StructArray.from_arrays([pa.array([101, 7])], fields=list(made.kind))
    assert made.write(columns, lambda n: n).to_pylist() == ['{"n":100}', '{"n":7}']


@attrs.define
class Positive:
    n: int = attrs.field(default=0, validator=attrs.validators.ge(0))


class PositiveModel(pydantic.BaseModel):
    n: int = pydantic.Field(0, ge=0)


@pytest.mark.parametrize("state", [Positive, PositiveModel])
def test_what_a_class_refuses_is_neither_written_nor_read(state: Any) -> None:
    _, made = documents(state)
    columns = pa.StructArray.from_arrays([pa.array([7, -1])], fields=list(made.kind))
    with pytest.raises(WrongTypeError, match="The state of 1"):
        made.write(columns, lambda n: n)
    with pytest.raises(MigrationError, match="The state of 1"):
        read(made, ['{"n":7}', '{"n":-1}'])


@attrs.define
class Simple:
    n: int = 0


@pytest.mark.parametrize("state", [Plain, Simple, Percent])
def test_arrow_reads_and_writes_classes_without_code(
    state: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec, made = documents(state)
    texts = [codec.dump(state(n=n), NO_CLOCK) for n in (101, 7)]
    monkeypatch.setattr(many_documents, "_FEW", 0)
    codec.load = codec.dump = codec.value_of = None
    columns = read(made, texts)
    assert [row["n"] for row in columns.to_pylist()] == [101, 7]
    assert made.write(columns, lambda n: n).to_pylist() == texts


def test_a_field_without_a_default_is_null_where_there_is_no_state() -> None:
    @dataclass
    class Asked:
        n: int

    _, made = documents(Asked)
    assert read(made, [None, '{"n":1}']).to_pylist() == [{"n": None}, {"n": 1}]


def test_a_field_that_came_later_has_its_default_and_one_that_went_is_passed_over() -> None:
    _, made = documents(Plain)
    found = read(made, ['{"n":1}', '{"n":2,"x":1.0,"maybe":null,"name":"b"}', None])
    assert [(r["n"], r["x"], r["maybe"], r["name"]) for r in found.to_pylist()] == [
        (1, 0.5, None, None),
        (2, 1.0, None, "b"),
        (3, 0.5, None, None),
    ]
    assert read(made, ['{"n":1,"gone":[1]}']).to_pylist()[0]["n"] == 1


def test_older_versions_are_migrated_beside_todays() -> None:
    @stateful.state(version=2, migrations={1: lambda old: {"n": old["count"]}})
    @dataclass
    class Counted:
        n: int = 0

    _, made = documents(Counted)
    found = read(made, ['{"n":5}', '{"count":4}', None], [2, 1, None])
    assert found.to_pylist() == [{"n": 5}, {"n": 4}, {"n": 0}]


@pytest.mark.parametrize(
    "text", ['{"n":"x"}', '{"n":1.5}', '{"n":null}', '{"n":9223372036854775808}']
)
def test_what_does_not_fit_names_key_and_field(text: str) -> None:
    _, made = documents(Plain)
    with pytest.raises(MigrationError, match=r"The state of 1 cannot be read as Plain: field n"):
        read(made, ['{"n":1}', text])


def test_timers_of_a_function_with_one_key_are_not_lost() -> None:
    _, made = documents(Plain)
    with pytest.raises(StateUsageError, match="The state of 1 has timers"):
        made.check_timers(pa.array(['{"n":1}', '{"$timers":[[5,null]],"n":1}', None]), lambda n: n)
