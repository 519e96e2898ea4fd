"""Ready-made functions over columns of every type."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from bucketstate import stateful
from bucketstate.stateful import WrongTypeError
from bucketstate.testing import Harness

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = (
    "k string, at timestamp, tags array<string>, s struct<a: int, t: timestamp>, "
    "m map<string, int>, b binary, d date, i interval day to second, f float, wall timestamp_ntz, "
    "small short, flag boolean, price decimal(9, 2)"
)
FULL: dict[str, Any] = {
    "tags": ["a", None],
    "s": {"a": 1, "t": START},
    "m": {"x": 1},
    "b": b"\x00\x01",
    "d": date(2024, 2, 29),
    "i": timedelta(seconds=5),
    "f": 1.5,
    "wall": datetime(2024, 3, 31, 2, 30),
    "small": 3,
    "flag": True,
    "price": Decimal("1.50"),
}
EMPTY = dict.fromkeys(FULL)
ORDERED = [name for name in FULL if name not in ("tags", "s", "m")]


def row(minutes: int, values: dict[str, Any]) -> dict[str, Any]:
    return {"k": "a", "at": START + timedelta(minutes=minutes), **values}


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return [*map(plain, value)] if isinstance(value, list) else value


def last_of(run: Harness, batches: list[list[dict[str, Any]]]) -> dict[str, Any]:
    for rows in batches:
        output = run.run(rows)
    (made,) = output
    return {name: plain(value) for name, value in made.items()}


@pytest.mark.parametrize("name", FULL)
def test_the_newest_value(name: str) -> None:
    recipe = stateful.reduce(
        last=stateful.last(name, by="at"),
        first=stateful.first(name, by="at"),
        top=stateful.top(2, name, by="at"),
        some=stateful.count(name),
    )
    run = Harness(recipe, by="k", schema=SCHEMA, time_zone="Europe/Berlin")
    made = last_of(run, [[row(1, FULL)], [row(0, EMPTY)], [row(3, FULL), row(2, EMPTY)]])
    value = FULL[name]
    assert made == {"k": "a", "last": value, "first": None, "top": [value, None], "some": 2}


@pytest.mark.parametrize("name", ORDERED)
def test_what_has_an_order(name: str) -> None:
    recipe = stateful.reduce(
        least=stateful.min(name), most=stateful.max(name), top=stateful.top(1, name)
    )
    run = Harness(recipe, by="k", schema=SCHEMA, time_zone="Europe/Berlin")
    made = last_of(run, [[row(0, EMPTY)], [row(1, FULL)], [row(2, EMPTY)]])
    value = FULL[name]
    assert made == {"k": "a", "least": value, "most": value, "top": [value]}


def test_whole_rows() -> None:
    for recipe in (stateful.latest("at"), stateful.dedup()):
        run = Harness(recipe, by="k", schema=SCHEMA, time_zone="Europe/Berlin")
        assert last_of(run, [[row(1, FULL)]]) == row(1, FULL)


def test_within_sessions() -> None:
    of = {name: stateful.last(name, by="at") for name in FULL}
    recipe = stateful.sessions("at", timedelta(minutes=5), of)
    run = Harness(recipe, by="k", schema=SCHEMA, time_zone="Europe/Berlin", event_time="at")
    made = last_of(run, [[row(0, EMPTY)], [row(1, FULL)], [row(60, EMPTY)], []])
    del made["session"]
    assert made == {"k": "a", **FULL}


def test_the_mean_of_whole_numbers_beyond_floats() -> None:
    recipe = stateful.reduce(m=stateful.mean("n"))
    run = Harness(recipe, by="k", schema="k string, n long")
    (made,) = run.run([{"k": "a", "n": 2**53 + 1}, {"k": "a", "n": None}])
    assert made == {"k": "a", "m": 2.0**53}
    (made,) = run.run([{"k": "a", "n": -(2**63)}])
    assert made == {"k": "a", "m": (2.0**53 - 2.0**63) / 2}


@pytest.mark.parametrize("kind", ["38, 0", "38, 10"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("count", [2, 4, 40])
def test_a_sum_of_decimals_that_does_not_fit(kind: str, sign: int, count: int) -> None:
    recipe = stateful.reduce(s=stateful.sum("d"))
    run = Harness(recipe, by="k", schema=f"k string, d decimal({kind})")
    most = sign * Decimal(9).scaleb(37 - int(kind[-2:]))
    one = {"k": "b", "d": Decimal(1)}
    with pytest.raises(WrongTypeError, match=r"The sum s of a key does not fit into decimal\(38"):
        run.run([one, *[{"k": "a", "d": most}] * count])
    run.run([one, {"k": "a", "d": most}, {"k": "a", "d": None}])
    with pytest.raises(WrongTypeError, match="The sum s of a key does not fit"):
        run.run([one, *[{"k": "a", "d": most}] * count])
    rows = run.run([{"k": "a", "d": -most}, {"k": "b", "d": None}])
    assert {r["k"]: r["s"] for r in rows} == {"a": Decimal(0), "b": Decimal(1)}


def test_a_sum_of_decimals_that_just_fits() -> None:
    recipe = stateful.reduce(s=stateful.sum("d"))
    run = Harness(recipe, by="k", schema="k string, d decimal(38, 0)")
    most = Decimal("9" * 38)
    (made,) = run.run([{"k": "a", "d": d} for d in (most, most, None, most.copy_negate())])
    assert made == {"k": "a", "s": most}
