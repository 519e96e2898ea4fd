"""What is kept comes back as the type that was given, or is refused where it is given."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, MapState, State, ValueState, WrongTypeError
from bucketstate.testing import Harness
from tests.kit.cases import examples

ROW = [{"key": "a"}]


class Colour(str, Enum):  # noqa: UP042
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Mark(bytes, Enum):
    A = b"a"


class Pair(NamedTuple):
    a: int
    b: str


@dataclass
class Base:
    x: int = 0


@dataclass
class Wider(Base):
    z: int = 0


class Undecorated(Base):
    z: int = 0


class Constant(Base):
    limit: ClassVar[int] = 5
    _cache: int = 0

    def twice(self) -> int:
        return 2 * self.x


class Mixin:
    note: str = ""


@dataclass
class Mixed(Mixin):
    x: int = 0


class Words(list[str]):
    pass


class Names(set[str]):
    pass


@dataclass
class Held:
    counts: dict[str, int] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    places: tuple[str, ...] = ()
    names: set[str] = field(default_factory=set)
    pair: tuple[int, str] = (0, "")
    base: Base = field(default_factory=Base)
    maybe: dict[str, int] | None = None
    n: int = 0
    text: str = ""
    raw: bytes = b""
    word: Literal["red"] = "red"
    digit: Literal[1, None] = None


OTHERS: list[tuple[str, Any, str]] = [
    ("counts", Counter("ab"), "a dict"),
    ("counts", defaultdict(int), "a dict"),
    ("counts", OrderedDict(a=1), "a dict"),
    ("maybe", Counter("ab"), "a dict or None"),
    ("words", ("a",), "a list"),
    ("words", Words(["a"]), "a list"),
    ("names", Names(["a"]), "a set"),
    ("pair", Pair(1, "x"), "a tuple of 2"),
    ("base", Wider(1, 2), "an instance of Base"),
    ("base", {"x": 1}, "an instance of Base"),
    ("n", Level.LOW, "an int of 64 bits"),
    ("text", Colour.RED, "a str"),
    ("raw", bytearray(b"a"), "bytes"),
    ("raw", memoryview(b"a"), "bytes"),
    ("raw", Mark.A, "bytes"),
    ("word", Colour.RED, "one of 'red'"),
    ("digit", Level.LOW, "one of 1 or None"),
]


OPERATORS = ("applyInPandasWithState", "transformWithState")


def harness(step: Callable[[Any], Any], state: Any = Held, **options: Any) -> Harness:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: State[Any]) -> None:
        step(state)

    return Harness(stateful.define(fn, state=state), by="key", **options)


@pytest.mark.parametrize(("name", "value", "expected"), OTHERS)
def test_what_would_come_back_as_another_type_is_refused_in_the_first_call(
    name: str, value: Any, expected: str
) -> None:
    running = harness(lambda state: setattr(state.value, name, value))
    with pytest.raises(WrongTypeError) as refusal:
        running.run(ROW)
    told = str(refusal.value)
    assert f"field {name} of Held is {type(value).__name__}" in told
    alone = expected.removesuffix(" or None")
    assert f"expected {expected}. In the next call it would be {alone} and no" in told
    assert running.states() == {}


@pytest.mark.parametrize(
    ("hint", "factory"),
    [
        (dict[str, int], lambda: defaultdict(int)),
        (dict[str, int], Counter),
        (dict[str, int] | None, Counter),
        (list[int], lambda: np.zeros(3, np.int64)),
        (tuple[int, str], lambda: Pair(1, "x")),
        (Base, Wider),
        (int, lambda: Level.LOW),
        (str, lambda: Colour.RED),
        (bytes, lambda: bytearray(b"a")),
        (Literal["red"], lambda: Colour.RED),
    ],
)
def test_a_default_that_would_come_back_as_another_type_is_refused_by_define(
    hint: Any, factory: Callable[[], Any]
) -> None:
    @dataclass
    class Kept:
        what: Any = field(default_factory=factory)

    Kept.__annotations__["what"] = hint
    with pytest.raises(DefinitionError, match=r"The default of Kept.what is .* In the next call"):
        harness(lambda state: state.value, Kept)


def test_a_state_of_a_subclass_is_refused() -> None:
    for give in (lambda s: s.update(Wider(1, 2)), lambda s: setattr(s, "value", Wider(1, 2))):
        with pytest.raises(WrongTypeError, match=r"the value of Base is Wider .*no Wider"):
            harness(give, Base).run(ROW)
    with pytest.raises(WrongTypeError, match="the value of Base is Wider"):
        harness(lambda state: state.value, Base).set_state(Wider(1, 2), "a")


def test_parts_hold_what_comes_back() -> None:
    @dataclass
    class Parts:
        last: ValueState[dict[str, int]]
        by: MapState[str, Base]

    for give in (
        lambda s: s.value.last.update(Counter("a")),
        lambda s: s.value.by.updateValue("a", Wider(1, 2)),
    ):
        for operator in OPERATORS:
            with pytest.raises(WrongTypeError, match="In the next call it would be"):
                harness(give, Parts, operator=operator).run(ROW)


@pytest.mark.parametrize(("state", "owner"), [(Undecorated, "Undecorated"), (Mixed, "Mixin")])
def test_a_name_that_looks_like_a_field_and_is_none_is_refused(state: Any, owner: str) -> None:
    with pytest.raises(DefinitionError, match=rf"is no field, .* {owner} has no @dataclass"):
        harness(lambda state: state.value, state)


def test_it_is_refused_where_a_class_has_no_hints_before_they_are_asked_for() -> None:
    """Python 3.14 makes such classes where hints are not texts."""
    source = "class Seen(Base):\n    tags: list[str] = []\n"
    names: dict[str, Any] = {"__name__": __name__, "Base": Base}
    exec(compile(source, "seen.py", "exec", dont_inherit=True), names)
    with pytest.raises(DefinitionError, match=r"Seen\.tags is no field, .* Seen has no @data"):
        harness(lambda state: state.value, names["Seen"])


def test_a_subclass_without_fields_of_its_own_is_a_state() -> None:
    running = harness(lambda state: setattr(state.value, "x", 4), Constant)
    running.run(ROW)
    running.run(ROW)
    assert running.state("a") == Constant(4)
    assert running.state("a").twice() == 8


def test_a_dict_that_is_given_has_all_fields() -> None:
    def partly(state: State[Any]) -> None:
        state.value.n = 9
        state.update({"text": "b"})

    with pytest.raises(WrongTypeError, match="field base of Held is nothing, expected all fields"):
        harness(partly).run(ROW)

    @dataclass
    class Parts:
        seen: MapState[str, int]
        n: int = 0

    with pytest.raises(WrongTypeError, match="field seen of Parts is nothing, expected all fields"):
        harness(lambda state: state.update({"n": 1}), Parts).run(ROW)
    whole = harness(lambda state: state.update({"n": 1, "seen": MapState({"a": 1})}), Parts)
    whole.run(ROW)
    assert whole.state("a") == Parts(MapState({"a": 1}), 1)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "counts": st.dictionaries(st.text("ab", max_size=2), st.integers(0, 9), max_size=2),
    "words": st.lists(st.text("ab", max_size=2), max_size=2),
    "places": st.lists(st.text("ab", max_size=2), max_size=2).map(tuple),
    "names": st.sets(st.text("ab", max_size=2), max_size=2),
    "pair": st.tuples(st.integers(0, 9), st.text("ab", max_size=2)),
    "base": st.builds(Base, st.integers(0, 9)),
    "maybe": st.none() | st.dictionaries(st.text("ab", max_size=2), st.integers(0, 9), max_size=2),
    "n": st.integers(0, 9),
    "text": st.text("ab", max_size=2),
    "raw": st.binary(max_size=2),
}
ALIKE: list[Callable[[Any], Any]] = [
    lambda v: v,
    lambda v: Counter(v) if isinstance(v, dict) else v,
    lambda v: tuple(v) if isinstance(v, list) else v,
    lambda v: frozenset(v) if isinstance(v, set) else v,
    lambda v: Pair(*v) if isinstance(v, tuple) and len(v) == 2 else v,
    lambda v: Wider(v.x, 1) if isinstance(v, Base) else v,
    lambda v: Level.LOW if isinstance(v, int) else v,
    lambda v: bytearray(v) if isinstance(v, bytes) else v,
]


@seed(3)
@settings(database=None, max_examples=examples(40))
@given(st.sampled_from(sorted(VALUES)), st.sampled_from(ALIKE), st.data())
def test_each_value_is_refused_or_comes_back_as_the_same_type(
    name: str, other: Callable[[Any], Any], data: st.DataObject
) -> None:
    value = other(data.draw(VALUES[name]))
    running = harness(lambda state: state.update(Held(**{name: value})))
    try:
        running.run(ROW)
    except WrongTypeError:
        return
    found = getattr(running.state("a"), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("operator", OPERATORS)
def test_half_a_character_is_refused_where_spark_would_change_it(operator: str) -> None:
    @dataclass
    class Parts:
        last: ValueState[str]
        text: str = ""

    for give in (
        lambda s: setattr(s.value, "text", "a\ud800"),
        lambda s: s.value.last.update("\udfff"),
    ):
        with pytest.raises(WrongTypeError, match="expected a text of whole characters"):
            harness(give, Parts, operator=operator).run(ROW)
    whole = harness(lambda s: setattr(s.value, "text", "a\U0001f600\xe9"), operator=operator)
    whole.run(ROW)
    assert whole.state("a").text == "a\U0001f600\xe9"

    def told(_key: Any, _rows: list[dict[str, Any]], _state: State[Held]) -> dict[str, Any]:
        return {"text": "a\ud800"}

    fn = stateful.define(told, output="text string")
    with pytest.raises(WrongTypeError, match=r"field text is str .*expected a text of whole char"):
        Harness(fn, by="key", operator=cast("Any", operator)).run(ROW)
