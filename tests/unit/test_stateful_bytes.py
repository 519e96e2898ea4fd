"""A field that was bytes is never read as text, nor the other way."""

# Hints are made while the tests run.
# mypy: disable-error-code="valid-type,func-returns-value"

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from types import GenericAlias
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import Keys, ListState, MapState, MigrationError, State, ValueState
from bucketstate.testing import Harness
from tests.kit.cases import examples

ROW = [{"key": "a"}]
OPERATORS: list[Any] = ["applyInPandasWithState", "transformWithState"]


def harness(step: Callable[[Any], Any], state: Any, **options: Any) -> Harness:
    def fn(_key: Any, _rows: list[dict[str, Any]], state: State[Any]) -> None:
        step(state)

    return Harness(stateful.define(fn, state=state), by="key", **options)


def reads(_key: Any, _rows: list[dict[str, Any]], state: Any) -> None:
    _ = state.value


def held(hint: Any) -> Any:
    return make_dataclass("Held", [("x", hint)])


Shape = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""Makes a hint of one, and a value of one."""

SHAPES: list[Shape] = [
    (lambda h: h, lambda v: v),
    (lambda h: h | None, lambda v: v),
    (lambda h: GenericAlias(list, h), lambda v: [v]),
    (lambda h: GenericAlias(tuple, (h, ...)), lambda v: (v, v)),
    (lambda h: GenericAlias(tuple, (int, h)), lambda v: (1, v)),
    (lambda h: GenericAlias(dict, (str, h)), lambda v: {"a": v}),
    (lambda h: GenericAlias(dict, (int, h)), lambda v: {1: v}),
]
LEAVES: list[Shape] = [
    *SHAPES,
    (lambda h: GenericAlias(dict, (h, int)), lambda v: {v: 1}),
    (lambda h: GenericAlias(set, h), lambda v: {v}),
]


@seed(5)
@settings(database=None, max_examples=examples(50))
@given(
    st.sampled_from(LEAVES),
    st.sampled_from(SHAPES),
    st.sampled_from([(bytes, str), (str, bytes)]),
    st.sampled_from([b"", b"abc", b"\x00\xff", b"i\xb7\x1d"]),
    st.sampled_from(["", "abcd", "YWJj", "é"]),
)
def test_what_was_one_is_not_read_as_the_other(
    leaf: Shape, outer: Shape, types: tuple[Any, Any], raw: bytes, text: str
) -> None:
    before, after = (held(outer[0](leaf[0](kind))) for kind in types)
    value = outer[1](leaf[1](raw if types[0] is bytes else text))
    running = harness(lambda state: state.update(before(value)), before)
    running.run(ROW)
    assert running.state("a") == before(value)
    later = running.restarted(reads, state=after)
    with pytest.raises(
        MigrationError, match=r"field x.* holds (bytes|str) .*, expected (bytes|a str)"
    ):
        later.run(ROW)
    assert running.restarted(reads, state=before).run(ROW) == []


@dataclass
class Inner:
    name: str = ""


@dataclass
class WiderInner:
    name: str = ""
    raw: bytes = b"new"


@dataclass
class Before:
    inner: list[Inner] = field(default_factory=list)
    maybe: bytes | None = None
    gone: bytes = b""


@dataclass
class After:
    inner: list[WiderInner] = field(default_factory=list)
    maybe: str | None = None
    raw: bytes = b"new"


def test_what_came_later_and_what_is_not_there_is_no_other_type() -> None:
    running = harness(lambda state: state.update(Before([Inner("a")])), Before)
    running.run(ROW)
    with pytest.warns(stateful.RenamedFieldWarning):
        found = running.restarted(reads, state=After).state("a")
    assert found == After([WiderInner("a")])


def test_a_migration_may_turn_one_into_the_other() -> None:
    @stateful.state(version=2, migrations={1: lambda fields: {"x": "was " + fields["x"]}})
    @dataclass
    class Text:
        x: str

    seen: list[Any] = []

    def noted(fields: dict[str, Any]) -> dict[str, Any]:
        seen.append(dict(fields))
        return fields

    @stateful.state(version=2, migrations={1: noted})
    @dataclass
    class Raw:
        x: bytes

    before = held(bytes)
    running = harness(lambda state: state.update(before(b"abc")), before)
    running.run(ROW)
    assert running.restarted(reads, state=Text).state("a") == Text("was YWJj")
    assert running.restarted(reads, state=Raw).state("a") == Raw(b"abc")
    assert seen == [{"x": "YWJj"}]


@dataclass
class Parts:
    last: ValueState[bytes]
    many: ListState[bytes]
    by: MapState[str, bytes]


@dataclass
class TextParts:
    last: ValueState[str]
    many: ListState[str]
    by: MapState[str, str]


@pytest.mark.parametrize("operator", OPERATORS)
def test_parts_that_held_bytes_are_not_read_as_text(operator: Any) -> None:
    def fill(state: State[Any]) -> None:
        state.value.last.update(b"abc")
        state.value.many.appendValue(b"abc")
        state.value.by.updateValue("a", b"abc")

    running = harness(fill, Parts, operator=operator)
    running.run(ROW)
    again = running.restarted(reads, state=Parts)
    again.run(ROW)
    assert again.state("a").by == MapState({"a": b"abc"})
    with pytest.raises(MigrationError, match="expected a str"):
        running.restarted(reads, state=TextParts).run(ROW)


@dataclass
class Kept:
    n: int = 0
    raw: bytes = b""


@dataclass
class KeptText:
    n: int = 0
    raw: str = ""


def test_documents_say_it_and_functions_over_columns_go_by_it() -> None:
    def over_columns(keys: Keys[Kept], _rows: pa.RecordBatch) -> None:
        keys.update(
            {
                "n": pa.array([7] * len(keys.state), pa.int64()),
                "raw": pa.array([b"abc"] * len(keys.state), pa.binary()),
            }
        )

    fn = stateful.define(over_columns)
    running = Harness(fn, by="key")
    running.run([{"key": str(n)} for n in range(40)])
    texts = [kept.text for kept in running._stored.kept().values()]
    assert {json.dumps(json.loads(t or "")) for t in texts} == {
        '{"$bytes": ["raw"], "n": 7, "raw": "YWJj"}'
    }
    assert running.restarted(reads, state=Kept).state("3") == Kept(7, b"abc")

    def later(keys: Keys[KeptText], _rows: pa.RecordBatch) -> None:
        _ = keys.state

    with pytest.raises(MigrationError, match="field raw holds bytes b'abc', expected a str"):
        running.restarted(stateful.define(later)).run([{"key": str(n)} for n in range(40)])
