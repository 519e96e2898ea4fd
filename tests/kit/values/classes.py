"""The same fields in a class of each kind, and values of them; classes that are one of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple

import attrs
import pydantic
from hypothesis import strategies as st


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Point(NamedTuple):
    x: int = 0
    y: float | None = None


NOWHERE = Point()


@attrs.define
class Price:
    amount: int = 0
    currency: str = attrs.field(default="EUR", validator=attrs.validators.max_len(3))


class Person(pydantic.BaseModel):
    name: str = ""
    age: Annotated[int, pydantic.Field(ge=0)] = 0
    tags: list[str] = []


@dataclass
class Opened:
    by: str = ""


class Closed(NamedTuple):
    at: int
    why: str | None = None


class Moved(pydantic.BaseModel):
    kind: Literal["moved"] = "moved"
    to: Point = NOWHERE


@attrs.define
class Sold:
    kind: Literal["sold"] = "sold"
    price: Price = attrs.field(factory=Price)


@dataclass
class AsDataclass:
    n: int = 0
    mood: Mood = Mood.GOOD
    at: time = time(0)
    point: Point = NOWHERE
    price: Price = field(default_factory=Price)
    person: Person = field(default_factory=Person)
    people: list[Person] = field(default_factory=list)
    event: Opened | Closed = field(default_factory=Opened)
    last: Moved | Sold | None = None
    anything: Any = None
    by_name: dict[str, Any] = field(default_factory=dict)


class AsNamedTuple(NamedTuple):
    n: int = 0
    mood: Mood = Mood.GOOD
    at: time = time(0)
    point: Point = NOWHERE
    price: Price = Price()
    person: Person = Person()
    people: list[Person] = []  # noqa: RUF012
    event: Opened | Closed = Opened()
    last: Moved | Sold | None = None
    anything: Any = None
    by_name: dict[str, Any] = {}  # noqa: RUF012


@attrs.define
class AsAttrs:
    n: int = 0
    mood: Mood = Mood.GOOD
    at: time = time(0)
    point: Point = NOWHERE
    price: Price = attrs.field(factory=Price)
    person: Person = attrs.field(factory=Person)
    people: list[Person] = attrs.field(factory=list)
    event: Opened | Closed = attrs.field(factory=Opened)
    last: Moved | Sold | None = None
    anything: Any = None
    by_name: dict[str, Any] = attrs.field(factory=dict)


class AsModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)

    n: int = 0
    mood: Mood = Mood.GOOD
    at: time = time(0)
    point: Point = NOWHERE
    price: Price = pydantic.Field(default_factory=Price)
    person: Person = pydantic.Field(default_factory=Person)
    people: list[Person] = []
    event: Opened | Closed = pydantic.Field(default_factory=Opened)
    last: Moved | Sold | None = None
    anything: Any = None
    by_name: dict[str, Any] = {}


KINDS = [AsDataclass, AsNamedTuple, AsAttrs, AsModel]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
numbers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
points = st.builds(Point, numbers, st.none() | floats)
prices = st.builds(Price, numbers, texts.map(lambda t: t[:3]))
people = st.builds(
    Person, name=texts, age=st.integers(0, 2**63 - 1), tags=st.lists(texts, max_size=2)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def fields() -> st.SearchStrategy[dict[str, Any]]:
    """Values of all fields, by name."""
    return st.fixed_dictionaries(
        {
            "n": numbers,
            "mood": st.sampled_from(Mood),
            "at": st.times(),
            "point": points,
            "price": prices,
            "person": people,
            "people": st.lists(people, max_size=2),
            "event": st.builds(Opened, texts) | st.builds(Closed, numbers, st.none() | texts),
            "last": st.none() | st.builds(Moved, to=points) | st.builds(Sold, price=prices),
            "anything": json_values,
            "by_name": st.dictionaries(texts, json_values, max_size=2),
        }
    )
