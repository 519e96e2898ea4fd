"""Each ready-made function beside a plain model of it, and each key beside others in a call.

The harness runs every batch with one key in a call, too, and refuses answers that differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isnan
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful.codec.instants import EPOCH
from bucketstate.testing import Harness
from tests.kit.cases import examples
from tests.unit.ready.rows import BESIDE, DELAY, MINUTE, SCHEMA, Row, at, batches, row

TOTALS: dict[str, stateful.Aggregate] = {
    "count": stateful.count(),
    "some": stateful.count("x"),
    "whole": stateful.sum("n"),
    "price": stateful.sum("price"),
    "mean": stateful.mean("n"),
    "least": stateful.min("x"),
    "most": stateful.max("x"),
    "low": stateful.min("name"),
    "high": stateful.max("price"),
    "when": stateful.max("at"),
    "newest": stateful.last("name", by="at"),
    "oldest": stateful.first("at", by="n"),
    "begun": stateful.first("name"),
    "best": stateful.top(2, "n"),
    "named": stateful.top(2, "name", by="price"),
    "names": stateful.approx_distinct("name"),
}


def values(rows: list[Row], column: str) -> list[Any]:
    return [r[column] for r in rows if r[column] is not None]


def in_order(value: Any) -> Any:
    """By Spark's order a NaN is beyond all numbers."""
    return (isnan(value), value) if isinstance(value, float) else value


def extreme(rows: list[Row], column: str, best: Callable[..., Any]) -> Any:
    found = values(rows, column)
    made = best(found, key=in_order) if found else None
    # Put out, a NaN is a null, as it is with Spark's own operator.
    return None if isinstance(made, float) and isnan(made) else made


def totals(rows: list[Row]) -> dict[str, Any]:
    numbers, prices = values(rows, "n"), values(rows, "price")
    timed = [r for r in rows if r["at"] is not None]
    numbered = [r for r in rows if r["n"] is not None]
    priced = sorted((r for r in rows if r["price"] is not None), key=lambda r: -r["price"])
    return {
        "count": len(rows),
        "some": len(values(rows, "x")),
        "whole": sum(numbers) if numbers else None,
        "price": sum(prices, Decimal(0)) if prices else None,
        "mean": sum(numbers) / len(numbers) if numbers else None,
        "least": extreme(rows, "x", min),
        "most": extreme(rows, "x", max),
        "low": extreme(rows, "name", min),
        "high": extreme(rows, "price", max),
        "when": extreme(rows, "at", max),
        "newest": sorted(timed, key=lambda r: r["at"])[-1]["name"] if timed else None,
        "oldest": min(numbered, key=lambda r: r["n"])["at"] if numbered else None,
        "begun": rows[0]["name"],
        "best": sorted(numbers, reverse=True)[:2],
        "named": [r["name"] for r in priced[:2]],
        "names": len(set(values(rows, "name")) - {""}),
    }


def ran(recipe: stateful.Recipe, given: list[list[Row]], **options: Any) -> list[list[Row]]:
    """The output of each batch, and of one without rows behind them."""
    harness = Harness(recipe, by="k", schema=SCHEMA, time_zone="Europe/Berlin", **options)
    return [harness.run(rows) for rows in [*given, []]]


def alike(found: list[list[Row]], expected: list[list[Row]]) -> None:
    assert [sorted(map(repr, map(plain, b))) for b in found] == [
        sorted(map(repr, map(plain, b))) for b in expected
    ]


def plain(value: Any) -> Any:
    """Values that are equal print alike."""
    if isinstance(value, dict):
        return {name: plain(v) for name, v in sorted(value.items())}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(tuple(vars(value).values()))
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Decimal):
        return value.normalize() + 0
    return value


class Clock:
    """The watermark of each batch, as Spark has it."""

    def __init__(self) -> None:
        self.late = at(-(10**6))
        self.now = at(-(10**6))

    def after(self, rows: list[Row]) -> None:
        self.late = self.now
        times = values(rows, "at")
        self.now = max([self.now, *(whole(t) - DELAY for t in times)])


def whole(time: datetime) -> datetime:
    """The time in whole milliseconds."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


@settings(max_examples=examples(20))
@given(batches(), st.integers(0, 1000))
def test_reduce(given: list[list[Row]], seed: int) -> None:
    seen: dict[Any, list[Row]] = defaultdict(list)
    expected = []
    for rows in given:
        for one in rows:
            seen[one["k"]].append(one)
        keys = {one["k"] for one in rows}
        expected.append([{"k": key, **totals(seen[key])} for key in keys])
    alike(ran(stateful.reduce(TOTALS), given, seed=seed), [*expected, []])


@settings(max_examples=examples(20))
@given(batches(), st.integers(0, 1000), st.sampled_from([10, 15, 7]), st.booleans())
def test_windows(given: list[list[Row]], seed: int, slide: int, final: bool) -> None:
    length, offset = 15, 4
    recipe = stateful.windows(
        "at",
        length * MINUTE,
        TOTALS,
        slide=slide * MINUTE,
        start=offset * MINUTE,
        emit="final" if final else "changes",
    )
    clock = Clock()
    kept: dict[tuple[Any, datetime], list[Row]] = defaultdict(list)
    expected = []
    for rows in [*given, []]:
        changed = set()
        for one in rows:
            for begin in starts(one["at"], length, slide, offset):
                if begin + length * MINUTE > clock.late:
                    kept[one["k"], begin].append(one)
                    changed.add((one["k"], begin))
        over = {w for w in kept if w[1] + length * MINUTE <= clock.now}
        put_out = over if final else changed
        expected.append([windowed(w, kept[w], length) for w in put_out])
        for window in over:
            del kept[window]
        clock.after(rows)
    alike(ran(recipe, given, seed=seed, event_time="at", delay=DELAY), expected)


def starts(time: datetime | None, length: int, slide: int, offset: int) -> list[datetime]:
    if time is None:
        return []
    minutes = (time - EPOCH) // MINUTE
    first = (minutes - length - slide) // slide * slide + offset
    begins = range(first - slide, minutes + slide, slide)
    return [EPOCH + b * MINUTE for b in begins if b <= minutes < b + length]


def windowed(window: tuple[Any, datetime], rows: list[Row], length: int) -> Row:
    key, begin = window
    return {"k": key, "window": (begin, begin + length * MINUTE), **totals(rows)}


@settings(max_examples=examples(20))
@example([[row("a", 81, name="b")], [row("a", 71)], [row("a", 80), row("a", 100)]], 0)
@example([[row("a", 0) | {"at": at(0) - BESIDE[0] / 2}, row("b", 19)], [row("b", 20)]], 0)
@given(batches(), st.integers(0, 1000))
def test_sessions(given: list[list[Row]], seed: int) -> None:
    gap = 9 * MINUTE
    clock = Clock()
    kept: dict[Any, list[Row]] = defaultdict(list)
    expected = []
    for rows in [*given, []]:
        for one in rows:
            if one["at"] is not None and one["at"] + gap > clock.late:
                kept[one["k"]].append(one)
        put_out = []
        for key, held in kept.items():
            left = []
            for session in sessions_of(held, gap):
                end = max(values(session, "at")) + gap
                if end <= clock.now:
                    begin = min(values(session, "at"))
                    put_out.append({"k": key, "session": (begin, end), **totals(session)})
                else:
                    # If it grows together with others, what has begun earlier has come first.
                    left += session
            kept[key] = left
        expected.append(put_out)
        clock.after(rows)
    recipe = stateful.sessions("at", gap, TOTALS)
    alike(ran(recipe, given, seed=seed, event_time="at", delay=DELAY), expected)


def sessions_of(rows: list[Row], gap: timedelta) -> list[list[Row]]:
    made: list[list[Row]] = []
    for one in sorted(rows, key=lambda r: r["at"]):
        if made and one["at"] <= made[-1][-1]["at"] + gap:
            made[-1].append(one)
        else:
            made.append([one])
    # As they came.
    return [[r for r in rows if any(r is s for s in session)] for session in made]


def test_a_session_that_ends_within_a_millisecond() -> None:
    """The watermark has whole milliseconds, and may come to stand just before such an end."""
    recipe = stateful.sessions("at", 9 * MINUTE, n=stateful.count())
    harness = Harness(recipe, by="k", schema=SCHEMA, event_time="at", delay=timedelta())
    begun = at(0) + timedelta(microseconds=500)
    assert harness.run([row("a", 0) | {"at": begun}, row("b", 9)]) == []
    assert harness.run([row("a", 0) | {"at": begun}]) == []
    assert harness.run([row("b", 9) | {"at": at(9) + timedelta(milliseconds=1)}]) == []
    (made,) = harness.run()
    assert plain(made) == plain({"k": "a", "session": (begun, begun + 9 * MINUTE), "n": 2})


@settings(max_examples=examples(20))
@given(batches(), st.integers(0, 1000))
def test_latest(given: list[list[Row]], seed: int) -> None:
    newest: dict[Any, Row] = {}
    expected = []
    for rows in given:
        changed = {}
        for one in rows:
            before = newest.get(one["k"])
            if one["at"] is not None and (before is None or one["at"] >= before["at"]):
                changed[one["k"]] = newest[one["k"]] = one
        expected.append([{**r, "x": extreme([r], "x", min)} for r in changed.values()])
    alike(ran(stateful.latest("at"), given, seed=seed), [*expected, []])


@settings(max_examples=examples(25))
@given(batches(), st.integers(0, 1000), st.sampled_from([1, 2, 5]))
def test_rate_limit(given: list[list[Row]], seed: int, limit: int) -> None:
    """Beside a bucket of tokens."""
    each = Fraction(10, limit)
    clock = Clock()
    buckets: dict[Any, tuple[Fraction, datetime]] = {}
    expected = []
    for rows in [*given, []]:
        passed = []
        for one in sorted((r for r in rows if r["at"] is not None), key=lambda r: r["at"]):
            if one["at"] <= clock.late:
                continue
            tokens, since = buckets.get(one["k"], (Fraction(limit), one["at"]))
            filled = min(tokens + (one["at"] - since) // MINUTE / each, Fraction(limit))
            if filled >= 1:
                passed.append({**one, "x": extreme([one], "x", min)})
                buckets[one["k"]] = filled - 1, one["at"]
        expected.append(passed)
        clock.after(rows)
    recipe = stateful.rate_limit(limit, 10 * MINUTE, at="at")
    alike(ran(recipe, given, seed=seed, event_time="at", delay=DELAY), expected)


def test_dedup_by_processing_time() -> None:
    harness = Harness(stateful.dedup(ttl=5 * MINUTE), by="k", schema=SCHEMA)
    assert [r["n"] for r in harness.run([row("a", 0, n=1), row("a", 0, n=2)])] == [1]
    harness.advance(4 * MINUTE)
    assert harness.run([row("a", 0, n=3)]) == []
    harness.advance(MINUTE)
    assert [r["n"] for r in harness.run([row("a", 0, n=4)])] == [4]
    harness.advance(6 * MINUTE)
    harness.run()
    assert harness.states() == {}


def test_dedup_for_ever() -> None:
    harness = Harness(stateful.dedup(), by=["k", "n"], schema=SCHEMA)
    rows = [row("a", 0, n=1), row("a", 0, n=2), row("a", 1, n=1)]
    assert sorted(r["n"] for r in harness.run(rows)) == [1, 2]
    assert harness.run(rows) == []


@pytest.mark.parametrize("at_column", [None, "at"])
def test_silent_keys_are_forgotten(at_column: str | None) -> None:
    options: Any = {} if at_column is None else {"event_time": "at"}
    of_time = {"by": "at", "clock": "processing" if at_column is None else "event"}
    for recipe in (
        stateful.reduce(n=stateful.count(), ttl=5 * MINUTE, at=at_column),
        stateful.latest(ttl=5 * MINUTE, **of_time),
    ):
        harness = Harness(recipe, by="k", schema=SCHEMA, **options)
        harness.run([row("a", 0), row("b", 3)])
        harness.advance(4 * MINUTE)
        harness.run([row("b", 6)])
        harness.advance(2 * MINUTE)
        harness.run()
        assert [key.k for key in harness.states()] == ["b"]


def test_rows_behind_the_watermark_leave_nothing() -> None:
    recipe = stateful.reduce(n=stateful.count(), ttl=MINUTE, at="at")
    harness = Harness(recipe, by="k", schema=SCHEMA, event_time="at")
    harness.run([row("a", 0), row("b", 100)])
    # Accepted, as the watermark of the batch before was lower, and over at once.
    assert harness.run([row("a", 1)]) == [{"k": "a", "n": 1}]
    assert [key.k for key in harness.states()] == ["b"]


@pytest.mark.parametrize("at_column", [None, "at"])
@pytest.mark.parametrize("first", [1, 40])
def test_keys_that_come_again_after_their_time_begin_anew(
    at_column: str | None, first: int
) -> None:
    """Also in the batch that would forget them, after a pause of the query or of the source."""
    recipe = stateful.reduce(n=stateful.count(), ttl=5 * MINUTE, at=at_column)
    options: Any = {} if at_column is None else {"event_time": "at"}
    harness = Harness(recipe, by="k", schema=SCHEMA, **options)
    harness.run([row(f"a{n}", 0) for n in range(first)])
    harness.run([row("b", 6)])
    harness.advance(6 * MINUTE)
    found = harness.run([row("b", 9), *[row(f"a{n}", 9) for n in range(first)]])
    assert {r["k"]: r["n"] for r in found if r["k"] != "b"} == {f"a{n}": 1 for n in range(first)}


@pytest.mark.parametrize("many_keys", [True, False])
def test_a_grouping_column_is_found_in_either_case(many_keys: bool) -> None:
    options: Any = {"by": ["K"], "schema": SCHEMA, "many_keys": many_keys}
    harness = Harness(stateful.reduce(n=stateful.count()), **options)
    assert harness.run([row("a", 0), row("a", 1)]) == [{"K": "a", "n": 2}]
    for recipe in (stateful.latest("at"), stateful.dedup()):
        (put_out,) = Harness(recipe, **options).run([row("a", 0, n=7)])
        assert (put_out["k"], put_out["n"]) == ("a", 7)
    windows = Harness(stateful.windows("at", MINUTE, emit="changes", n=stateful.count()), **options)
    assert [(r["K"], r["n"]) for r in windows.run([row("a", 0)])] == [("a", 1)]


def test_the_watermark_is_of_the_column_that_a_recipe_goes_by() -> None:
    harness = Harness(stateful.windows("at", MINUTE, n=stateful.count()), by="k", schema=SCHEMA)
    assert harness.run([row("a", 0), row("a", 10)]) == []
    assert [r["n"] for r in harness.run()] == [1]
    assert harness.run([row("a", 0)]) == []


@pytest.mark.parametrize("clock", ["processing", "event"])
def test_a_row_whose_time_is_over_hides_no_other(clock: str) -> None:
    options: Any = {} if clock == "processing" else {"event_time": "at"}
    recipe = stateful.latest("at", ttl=5 * MINUTE, clock=clock)
    harness = Harness(recipe, by="k", schema=SCHEMA, **options)
    harness.run([row("a", 1, n=1), row("b", 90)])
    harness.advance(6 * MINUTE)
    # Older than what is forgotten; and one without a time keeps nothing of what is.
    found = harness.run([row("a", 0, n=2), {**row("b", 0), "at": None}])
    assert [(r["k"], r["n"]) for r in found] == [("a", 2)]
    assert ("b" in {key.k for key in harness.states()}) == (clock == "event")


def test_keys_whose_rows_have_no_times_are_forgotten_by_the_watermark() -> None:
    recipe = stateful.reduce(n=stateful.count(), ttl=5 * MINUTE, at="at")
    harness = Harness(recipe, by="k", schema=SCHEMA, event_time="at")
    harness.run([row("b", 0)])
    harness.run([{**row("a", 0), "at": None}, row("b", 4)])
    assert sorted(key.k for key in harness.states()) == ["a", "b"]
    harness.run([row("b", 6)])
    harness.run()
    assert [key.k for key in harness.states()] == ["b"]


def test_an_aggregate_that_is_added_counts_from_then_on() -> None:
    harness = Harness(stateful.reduce(n=stateful.count()), by="k", schema=SCHEMA)
    harness.run([row("a", 0, n=5)])
    more = stateful.reduce(n=stateful.count(), total=stateful.sum("n"), best=stateful.top(2, "n"))
    harness = harness.restarted(more)
    assert harness.run([row("a", 0, n=3)]) == [{"k": "a", "n": 2, "total": 3, "best": [3]}]
    harness = harness.restarted(stateful.reduce(total=stateful.sum("n")))
    assert harness.run([row("a", 0, n=1)]) == [{"k": "a", "total": 4}]


def test_an_order_that_is_added_to_the_greatest_begins_anew() -> None:
    harness = Harness(stateful.reduce(best=stateful.top(2, "n")), by="k", schema=SCHEMA)
    harness.run([row("a", 0, n=5), row("b", 0, n=7), row("b", 0, n=9), row("c", 0, n=1)])
    harness = harness.restarted(stateful.reduce(best=stateful.top(2, "n", by="at")))
    found = harness.run([row("a", 9, n=3), row("b", 8, n=4), row("a", 7, n=2), row("a", 1, n=8)])
    assert sorted(found, key=lambda r: r["k"]) == [
        {"k": "a", "best": [3, 2]},
        {"k": "b", "best": [4]},
    ]
    assert harness.run([row("c", 0, n=6)]) == [{"k": "c", "best": [6]}]
    harness = harness.restarted(stateful.reduce(best=stateful.top(2, "n")))
    assert harness.run([row("b", 0, n=6)]) == [{"k": "b", "best": [6, 4]}]


def test_many_different_values() -> None:
    recipe = stateful.reduce(
        exact=stateful.count(),
        coarse=stateful.approx_distinct("n", lg_k=8),
        fine=stateful.approx_distinct("n"),
    )
    harness = Harness(recipe, by="k", schema=SCHEMA)
    for batch in range(4):
        rows = [row("a", 0, n=n) for n in range(batch * 1500, batch * 1500 + 3000)]
        (made,) = harness.run(rows)
    assert abs(made["coarse"] / 7500 - 1) < 0.2
    assert abs(made["fine"] / 7500 - 1) < 0.05


@pytest.mark.parametrize(
    "recipe",
    [
        stateful.reduce(n=stateful.count(), ttl=MINUTE, at="at"),
        stateful.latest("at", ttl=MINUTE, clock="event"),
        stateful.dedup(ttl=MINUTE, at="at"),
        stateful.rate_limit(2, MINUTE, at="at"),
    ],
    ids=repr,
)
def test_what_is_due_beyond_all_years_is_kept(recipe: stateful.Recipe) -> None:
    harness = Harness(recipe, by="k", schema=SCHEMA, time_zone="Asia/Tokyo")
    last = datetime.max.replace(tzinfo=UTC)
    assert len(harness.run([{**row("a", 0), "at": last}])) == 1
    assert harness.timeout("a") == last - timedelta(microseconds=999)
    harness.run([{**row("b", 0), "at": last}])
    assert [key.k for key in harness.states()] == ["a", "b"]
