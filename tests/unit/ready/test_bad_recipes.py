"""What a ready-made function can be given wrong: each an error that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bucketstate import stateful
from bucketstate.errors import MissingLibraryError
from bucketstate.stateful import DefinitionError, WrongTypeError, count
from bucketstate.testing import Harness
from tests.unit.ready.rows import MINUTE, SCHEMA, row

SECONDS: Any = 60
FAR = timedelta(days=999_999_999)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: stateful.reduce(n=count(), ttl=SECONDS), r"reduce: ttl=60: give a timedelta"),
        (lambda: stateful.reduce(n=count(), at="at"), r"at='at' is what ttl= goes by"),
        (lambda: stateful.latest("at", ttl=timedelta(0)), r"latest: ttl=.* whole milliseconds"),
        (lambda: stateful.reduce(n=count(), ttl=FAR), r"reduce: ttl=.* give at most 1,000 years"),
        (lambda: stateful.sessions("at", FAR, n=count()), r"sessions: gap=.* at most 1,000 years"),
        (lambda: stateful.latest("at", clock="wall"), r"must be 'processing' or 'event'"),
        (lambda: stateful.windows("at", SECONDS, n=count()), r"windows: length=60: give a timed"),
        (
            lambda: stateful.windows("at", MINUTE, n=count(), slide=2 * MINUTE),
            r"rows between two of them would be lost",
        ),
        (
            lambda: stateful.windows("at", MINUTE, n=count(), start=timedelta(microseconds=1)),
            r"windows: start=.* whole milliseconds",
        ),
        (
            lambda: stateful.windows("at", MINUTE, n=count(), emit="each"),  # type: ignore[arg-type]
            r"must be 'final' or 'changes'",
        ),
        (lambda: stateful.sessions("at", -MINUTE, n=count()), r"sessions: gap=.* give a timedelta"),
        (lambda: stateful.dedup(at="at"), r"dedup: at='at' is what ttl= goes by"),
        (lambda: stateful.latest("at", clock="event"), r"latest: clock='event' is what ttl= goes"),
        (lambda: stateful.rate_limit(0, MINUTE), r"rate_limit: rows=0: give a whole number"),
        (lambda: stateful.rate_limit(5, SECONDS), r"rate_limit: per=60: give a timedelta"),
        (
            lambda: stateful.rate_limit(10**9, MINUTE),
            r"more than one in a microsecond: give fewer",
        ),
    ],
)
def test_arguments(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        make()


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (stateful.reduce(), "reduce has no aggregates: give some by name"),
        (stateful.reduce(n="x"), "reduce: n is 'x', expected an aggregate"),  # type: ignore[arg-type]
        (
            stateful.reduce(n=stateful.sum("nn")),
            r"no such column. Did you mean n\? They have k, at",
        ),
        (stateful.reduce(n=stateful.sum("name")), r"is string, expected a number. Cast it"),
        (stateful.reduce(n=stateful.sum(5)), r"n=sum\(5\): give the name of a column"),  # type: ignore[arg-type]
        (stateful.reduce(n=stateful.top(0, "n")), r"top\(0, ...\): give a whole number from 1"),
        (stateful.reduce(n=stateful.max("tags")), r"array<string>, expected what has an order"),
        (stateful.reduce(n=stateful.approx_distinct("tags")), r"Cast it to a string"),
        (stateful.reduce(n=stateful.approx_distinct("n", lg_k=3)), r"from 4 to 21"),
        (stateful.reduce(k=count()), "k is a grouping column and an aggregate"),
        (
            stateful.reduce(x=stateful.mean("x"), x_sum=stateful.sum("x")),
            "x_sum and x both keep a field x_sum in the state",
        ),
        (stateful.reduce(n=count(), ttl=MINUTE, at="x"), "is double, expected a timestamp"),
        (stateful.windows("when", MINUTE, n=count()), r"windows\('when'\): .* no such column"),
        (stateful.windows("n", MINUTE, n=count()), "is bigint, expected a timestamp"),
        (stateful.sessions("at", MINUTE, session=count()), "cannot be called session"),
        (stateful.latest("tags"), r"array<string>, expected what has an order"),
        (stateful.latest("k"), "is a grouping column, so that all rows of a key have the same"),
        (stateful.dedup(ttl=MINUTE, at="n"), "is bigint, expected a timestamp"),
    ],
)
def test_columns(recipe: stateful.Recipe, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Harness(recipe, by="k", schema=SCHEMA + ", tags array<string>")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "takes its types from the rows' columns: give schema="),
        ({"schema": SCHEMA, "state": "n long"}, "has its state and its output by itself"),
        ({"schema": SCHEMA, "timeout": "event"}, "reduce needs no clock, not timeout='event'"),
        ({"schema": SCHEMA, "by": "kk"}, r"by='kk' is not a column .* Did you mean 'k'\?"),
        ({"schema": SCHEMA, "operator": "transformWithState"}, "which transformWithState has not"),
        ({"schema": SCHEMA + ", window int"}, "have a column window, which it adds"),
        ({"schema": SCHEMA + ", session int"}, "have a column session, which it adds"),
    ],
)
def test_options(options: dict[str, Any], told: str) -> None:
    recipes = {
        "window": stateful.windows("at", MINUTE, n=count()),
        "session": stateful.sessions("at", MINUTE, n=count()),
    }
    named = str(options.get("schema", "")).split(", ")[-1].split(" ")[0]
    with pytest.raises(DefinitionError, match=told):
        Harness(recipes.get(named, stateful.reduce(n=count())), **{"by": "k", **options})


def test_another_event_time() -> None:
    recipe = stateful.dedup(ttl=MINUTE, at="at")
    with pytest.raises(DefinitionError, match="dedup goes by the event time at, not by event_time"):
        Harness(recipe, by="k", schema=SCHEMA + ", other timestamp", event_time="other")


def test_it_is_no_function() -> None:
    with pytest.raises(DefinitionError, match=r"stateful.reduce\(...\) is no stateful function"):
        stateful.define(stateful.reduce(n=count()))  # type: ignore[call-overload]


def test_a_sum_that_does_not_fit() -> None:
    harness = Harness(stateful.reduce(total=stateful.sum("n")), by="k", schema=SCHEMA)
    harness.run([row("a", 0, n=2**63 - 1), row("b", 0, n=-(2**63)), row("b", 0, n=5)])
    with pytest.raises(WrongTypeError, match="The sum total of a key does not fit into bigint"):
        harness.run([row("a", 0, n=1)])
    assert harness.run([row("a", 0, n=-1)]) == [{"k": "a", "total": 2**63 - 2}]


def test_without_the_library_of_sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasketches", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'bucketstate\[sketches\]'"):
        Harness(stateful.reduce(n=stateful.approx_distinct("n")), by="k", schema=SCHEMA)
