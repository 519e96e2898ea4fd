"""A default is a value of its own for each key."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, NamedTuple

import attrs
import pydantic
import pytest

from bucketstate import stateful
from bucketstate.stateful import DefinitionError, State
from bucketstate.stateful.codec.document import Clock, state_codec
from bucketstate.testing import Harness

THREE_KEYS = [{"key": "a"}, {"key": "b"}, {"key": "c"}]


@dataclass(eq=False)
class Mutable:
    xs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    n: int = 0


@attrs.frozen
class Point:
    x: int = 0


@dataclass
class OneInner:
    inner: Mutable = Mutable()  # noqa: RUF009


@dataclass
class TupleOfLists:
    lists: tuple[list[int], ...] = ([],)


@attrs.define
class AttrsList:
    xs: list[int] = []  # noqa: RUF008


@attrs.define
class AttrsDict:
    xs: dict[str, int] = {}  # noqa: RUF008


@attrs.define
class AttrsJson:
    anything: Any = []  # noqa: RUF008


class Model(pydantic.BaseModel):
    inner: Mutable = Mutable()


@dataclass
class Within:
    inner: AttrsList = field(default_factory=AttrsList)


class Named(NamedTuple):
    xs: list[int] = []  # noqa: RUF012
    n: int = 0


class NamedJson(NamedTuple):
    xs: Any = []  # noqa: RUF012


@dataclass
class HoldsNamed:
    inner: Named = field(default_factory=Named)


SHARED: list[int] = []


@dataclass
class OfOneFactory:
    xs: list[int] = field(default_factory=lambda: SHARED)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (OneInner, "OneInner.inner .* field\\(default_factory=Mutable\\)"),
        (TupleOfLists, "TupleOfLists.lists .* field\\(default_factory=lambda: "),
        (AttrsList, "AttrsList.xs .* attrs.field\\(factory=list\\)"),
        (AttrsDict, "AttrsDict.xs .* attrs.field\\(factory=dict\\)"),
        (AttrsJson, "AttrsJson.anything .* attrs.field\\(factory=list\\)"),
        (Model, "Model.inner .* pydantic.Field\\(default_factory=Mutable\\)"),
        (Within, "AttrsList.xs .* attrs.field\\(factory=list\\)"),
    ],
)
def test_one_object_as_the_default_of_all_keys_is_refused(state: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        stateful.state_schema(state)


def test_what_does_not_change_may_be_a_default() -> None:
    @attrs.define
    class Fine:
        inner: Frozen = Frozen()
        point: Point = Point()
        xs: tuple[int, ...] = (1, 2)
        ys: frozenset[int] = frozenset()

    @dataclass
    class Fine2:
        inner: Frozen = Frozen()
        point: Point = Point()

    assert stateful.state_schema(Fine)
    assert stateful.state_schema(Fine2)


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
@pytest.mark.parametrize("state", [Named, NamedJson, HoldsNamed, OfOneFactory])
def test_a_default_is_made_anew_for_each_key(state: Any, operator: Any) -> None:
    def step(key, _rows, state):  # type: ignore[no-untyped-def]
        of = state.value.inner if hasattr(state.value, "inner") else state.value
        of.xs.append(1)
        return {"key": key.key, "n": len(of.xs)}

    step.__annotations__ = {"state": State[state]}
    fn = stateful.define(step, output="key string, n long")
    harness = Harness(fn, by="key", operator=operator)
    assert [row["n"] for row in harness.run(THREE_KEYS)] == [1, 1, 1]
    assert [row["n"] for row in harness.run(THREE_KEYS)] == [2, 2, 2]


@pytest.mark.parametrize("state", [Named, HoldsNamed, OfOneFactory])
def test_so_is_one_that_a_stored_document_has_not(state: Any) -> None:
    codec = state_codec(state, UTC)
    clock = Clock(0, None)
    text = '{"inner":{"n":1}}' if state is HoldsNamed else "{}"
    made = [codec.load(text, 1, clock) for _ in range(2)]
    lists = [getattr(m, "inner", m).xs for m in made]
    lists[0].append(1)
    assert lists == [[1], []]
