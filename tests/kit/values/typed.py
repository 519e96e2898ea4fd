"""A dataclass with a field of each type that is more than a plain one, and any of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Literal, NewType
from uuid import UUID

from hypothesis import strategies as st
from pyspark.sql.types import DecimalType


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 1
    HIGH = 9


UserId = NewType("UserId", int)
NOBODY = UUID(int=0)


@dataclass
class Typed:
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    id: UUID = NOBODY
    literal: Literal["a", "b"] = "a"
    number: Literal[1, 2] = 1
    user: UserId = UserId(0)
    many: tuple[int, ...] = ()
    pair: tuple[int, str] = (0, "")
    tags: set[str] = field(default_factory=set)
    levels: frozenset[Level] = frozenset()
    price: Annotated[Decimal, (10, 2)] = Decimal("0.25")
    rate: Annotated[Decimal, DecimalType(5, 4)] = Decimal(0)
    by_colour: dict[Colour, int] = field(default_factory=dict)
    by_user: dict[UserId, str] = field(default_factory=dict)
    note: Literal["x"] | None = None
    at: datetime = datetime(2024, 3, 1, tzinfo=UTC)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
colours = st.sampled_from(Colour)
levels = st.sampled_from(Level)
numbers = st.integers(-(2**63), 2**63 - 1)


def decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    return st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-places))


def typed() -> st.SearchStrategy[Typed]:
    return st.builds(
        Typed,
        colour=colours,
        level=levels,
        id=st.uuids(),
        literal=st.sampled_from(["a", "b"]),
        number=st.sampled_from([1, 2]),
        user=numbers.map(UserId),
        many=st.lists(numbers, max_size=3).map(tuple),
        pair=st.tuples(numbers, texts),
        tags=st.sets(texts, max_size=4),
        levels=st.frozensets(levels),
        price=decimals(10, 2),
        rate=decimals(5, 4),
        by_colour=st.dictionaries(colours, numbers),
        by_user=st.dictionaries(numbers.map(UserId), texts, max_size=2),
        note=st.sampled_from(["x", None]),
        at=st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    )
