"""A function answers alike with one key in a call and with many, in every library."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful import Keys
from bucketstate.testing import DifferenceError, Harness
from tests.kit.cases import examples
from tests.kit.columns import EVERY, SCHEMA, Alone, Report

pytestmark = pytest.mark.usefixtures("few")

START = datetime(2024, 3, 31, tzinfo=UTC)


@dataclass
class Counted:
    n: int = 0


@st.composite
def batches(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Rows of few keys, the null one among them, whose times go on from batch to batch."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        begun = datetime(2024, 3, 31) + timedelta(minutes=4 * number)
        row = st.fixed_dictionaries(
            {
                "k": st.sampled_from([None, "a", "b", "c", "d", "e"]),
                "x": st.none() | st.integers(0, 1000).map(float),
                "n": st.none() | st.integers(-(2**50), 2**50),
                "at": st.datetimes(begun, begun + timedelta(minutes=5), timezones=st.just(UTC)),
            }
        )
        made.append(draw(st.lists(row, max_size=12)))
    return made


def ran(fn: Any, given: list[list[dict[str, Any]]], **options: Any) -> Any:
    """The output of each batch, and what is kept at the end."""
    harness = Harness(
        stateful.define(fn, output=Report),
        by="k",
        schema=SCHEMA,
        timeout="event",
        event_time="at",
        time_zone="Europe/Berlin",
        **options,
    )
    output = [sorted(map(repr, harness.run(rows))) for rows in given]
    return output, {key: stored.row for key, stored in harness._stored.items()}


@settings(max_examples=examples(20))
@given(batches(), st.integers(0, 1000))
def test_many_keys_and_one_in_a_call(given: list[list[dict[str, Any]]], seed: int) -> None:
    expected = ran(Alone(), given, many_keys=False)
    assert ran(Alone(), given, seed=seed) == expected


@pytest.mark.parametrize("fn", EVERY)
@settings(max_examples=examples(8))
@given(given=batches(), seed=st.integers(0, 1000))
def test_columns_of_every_library(fn: Any, given: list[list[dict[str, Any]]], seed: int) -> None:
    """The harness itself holds many keys in a call against one."""
    assert ran(fn, given, seed=seed) == ran(Alone(), given, many_keys=False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("byte", 1),
        ("short", 1),
        ("int", 1),
        ("long", 2**53 + 1),
        ("float", 1.5),
        ("double", 1.5),
        ("boolean", True),
        ("string", "a"),
        ("binary", b"a"),
        ("date", date(2024, 2, 29)),
        ("timestamp", START),
        ("timestamp_ntz", datetime(2024, 3, 31, 2, 30)),
        ("interval day to second", timedelta(seconds=1)),
        ("decimal(9, 2)", Decimal("1.50")),
    ],
)
def test_a_null_key(kind: str, value: Any) -> None:
    def counted(keys: Keys[Counted], _rows: pa.Table) -> Any:
        keys.update({"n": np.diff(keys.offsets)})
        return keys.frame

    output = stateful.define(counted, output=f"k {kind}")
    harness = Harness(output, by="k", schema=f"k {kind}, x long", time_zone="Europe/Berlin")
    for _ in range(2):
        found = harness.run([{"k": None, "x": 1}, {"k": value, "x": 2}])
        assert sorted((r["k"] for r in found), key=repr) == sorted([None, value], key=repr)
    assert [kept.n for kept in harness.states().values()] == [1, 1]


@pytest.mark.parametrize("fn", EVERY)
def test_either_kind_of_function_goes_on_with_the_others_states(fn: Any) -> None:
    rows = [
        {"k": "a", "x": 1.0, "n": 2, "at": START},
        {"k": "b", "x": None, "n": None, "at": START},
    ]
    options: Any = {"by": "k", "schema": SCHEMA, "timeout": "event", "event_time": "at"}
    harness = Harness(stateful.define(Alone(), output=Report), **options)
    harness.run(rows)
    for other in (fn, Alone(), fn):
        harness = harness.restarted(stateful.define(other, output=Report))
        harness.run(rows)
    told = Harness(stateful.define(Alone(), output=Report), **options)
    for _ in range(4):
        told.run(rows)
    assert harness.states() == told.states()
    assert harness._stored == told._stored


@dataclass
class Named:
    name: str = field(default_factory=lambda: uuid4().hex)


def test_many_keys_false_has_each_key_of_a_function_over_columns_alone() -> None:
    sizes: list[int] = []

    def naming(keys: Keys[Named], _rows: pa.Table) -> None:
        sizes.append(len(keys))
        keys.update({"name": keys.state["name"]})

    rows = [{"k": k} for k in "abca"]
    harness = Harness(naming, by="k", many_keys=False)
    harness.run(rows)
    assert sizes == [1, 1, 1]
    named = harness.states()
    assert len({state.name for state in named.values()}) == 3
    harness.run(rows)
    assert harness.states() == named
    # Each way has names of its own, of which the harness cannot say that they are alike.
    with pytest.raises(DifferenceError, match="naming keeps something else"):
        Harness(naming, by="k", many_keys=True).run(rows)
