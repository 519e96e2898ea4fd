"""The helper that holds the harness against Spark finds them alike, and finds what is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener

from bucketstate import stateful
from bucketstate.errors import InvalidSettingError
from bucketstate.stateful import DefinitionError
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import DifferenceError, compare
from tests.integration.comparing import (
    Remembering,
    Seen,
    Told,
    anywhere,
    at,
    counting,
    dated,
    elsewhere,
    failing,
    failing_there,
    in_days,
    named,
    numbered,
    of_classes,
    totalling,
    unlike,
)
from tests.kit.cases import cases
from tests.kit.values import classes
from tests.kit.values.typed import Colour

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
ZONE = "spark.sql.session.timeZone"
# By day the other one is held to the harness by test_stateful_operators.
operators = pytest.mark.parametrize(
    "operator", cases(["applyInPandasWithState"], ["transformWithState"])
)


def batch(*minutes: int) -> list[dict[str, Any]]:
    keys = [1.5, None, NAN, 1.5]
    return [
        {"key": keys[n % 4], "at": at(minute), "n": None if n % 3 == 0 else n}
        for n, minute in enumerate(minutes)
    ]


@pytest.fixture
def in_zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    spark.conf.set(ZONE, request.param)
    yield request.param
    spark.conf.set(ZONE, "UTC")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("in_zone", "operator"),
    [
        ("+02:00", "applyInPandasWithState"),
        ("-03:30", "transformWithState"),
    ],
    indirect=["in_zone"],
)
def test_what_is_alike_is_found_alike(
    spark: SparkSession, in_zone: str, operator: Operator
) -> None:
    timeout: Any = "event" if operator == "applyInPandasWithState" else None
    answers = compare(
        spark,
        Remembering(timeout),
        [batch(0, 1, 2, 3, 4), (), iter(batch(5, 6, 7, 8)), batch(40)],
        by="key",
        operator=operator,
        timeout=timeout,
        event_time="at",
        state=Seen,
        output=Told,
    )
    assert [row["count"] for row in answers[3] if not row["quiet"]] == [6]
    assert {row["key"] for row in answers[0]} == {1.5, None}
    assert len(answers[0]) == 3
    assert all(isinstance(row["typed"].colour, Colour) for rows in answers for row in rows)
    quiet = [row for rows in answers for row in rows if row["quiet"]]
    assert bool(quiet) == (timeout is not None)
    assert in_zone


@pytest.mark.parametrize("in_zone", ["Z", "GMT+2", "UTC+01:00"], indirect=True)
def test_a_time_zone_that_spark_s_workers_do_not_know_is_for_queries_without_timestamps(
    spark: SparkSession, in_zone: str
) -> None:
    defined = stateful.define(dated, output="key string, at timestamp")
    batches = [[{"key": "a"}], [{"key": "a"}]]
    found = compare(spark, stateful.define(in_days, output="key string"), batches, by="key")
    assert found == [[{"key": "a"}]] * 2
    # Times in rows go as numbers.
    timed = [[{"key": "a", "at": at(0), "more": [at(1)]}]]
    assert (
        compare(spark, stateful.define(in_days, output="key string"), timed, by="key") == found[1:]
    )
    for given, event_time, column in (
        (defined, None, "the field 'at' of the output"),
        (stateful.define(in_days, output="key string"), "at", "the column 'at' of the rows"),
    ):
        with pytest.raises(InvalidSettingError) as refusal:
            compare(spark, given, timed, by="key", event_time=event_time)
        offset = {"Z": "+00:00", "GMT+2": "+02:00", "UTC+01:00": "+01:00"}[in_zone]
        assert f"timeZone is '{in_zone}'" in str(refusal.value)
        assert f"and {column} holds timestamps: set it to '{offset}'" in str(refusal.value)


@operators
@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (elsewhere, "Batch 0: the rows differ"),
        (unlike, "Batch 1: the states differ"),
    ],
)
def test_what_is_not_is_told(spark: SparkSession, operator: Operator, fn: Any, told: str) -> None:
    defined = stateful.define(fn, output="key string, n long")
    batches = [[{"key": "a"}], [{"key": "a"}, {"key": "b"}]]
    with pytest.raises(DifferenceError, match=told) as difference:
        compare(spark, defined, batches, by="key", operator=operator)
    assert "\n  harness: {'key': " in str(difference.value)
    assert "\n  Spark: {'key': " in str(difference.value)


@pytest.mark.parametrize("restart_after", [(), 0])
def test_a_function_that_fails_does_so_as_in_the_harness(
    spark: SparkSession, restart_after: Any
) -> None:
    batches = [[{"key": "a"}], [{"key": "b"}, {"key": "a"}], [{"key": "c"}]]
    with pytest.raises(ZeroDivisionError, match="as it was told, for a") as failure:
        compare(spark, failing, batches, by="key", restart_after=restart_after)
    assert "in failing for Key(key='a')" in failure.value.__notes__
    # Nothing of what Spark tells of it.
    assert failure.value.__context__ is None
    careless = stateful.define(numbered, output="key string")
    with pytest.raises(DefinitionError, match=r"^Numbered\.n takes an int of 64 bits, and that"):
        compare(spark, careless, [[{"key": "a", "n": "x"}]], by="key")


def test_a_query_that_fails_where_the_harness_does_not_is_a_difference(
    spark: SparkSession,
) -> None:
    with pytest.raises(DifferenceError, match=r"^Batch 0: Spark's query fails, and the harness"):
        compare(spark, failing_there, [[{"key": "a"}]], by="key")


class Started(StreamingQueryListener):
    """Notes the queries that begin, before their `start` returns."""

    def __init__(self) -> None:
        self.queries: list[tuple[str, str]] = []

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        self.queries.append((str(event.id), str(event.runId)))

    def onQueryProgress(self, _event: Any) -> None:  # noqa: N802
        """Is none of ours."""

    def onQueryTerminated(self, _event: Any) -> None:  # noqa: N802
        """Is none of ours."""


@pytest.fixture
def started(spark: SparkSession) -> Iterator[Started]:
    listener = Started()
    spark.streams.addListener(listener)
    yield listener
    spark.streams.removeListener(listener)


@pytest.mark.timeout(600)
@operators
def test_a_restart_changes_nothing(
    spark: SparkSession, operator: Operator, started: Started
) -> None:
    """Timeouts, times to live and the watermark go on, and so do the batches at the end."""
    timeout: Any = "event" if operator == "applyInPandasWithState" else None
    batches = [batch(0, 1, 2, 3, 4), batch(5, 6, 7, 8), (), batch(1, 40), batch(41)]
    how: dict[str, Any] = {"by": "key", "operator": operator, "timeout": timeout}
    how |= {"event_time": "at", "state": Seen, "output": Told}
    fn = Remembering(timeout)
    straight = compare(spark, fn, batches, **how)
    assert len({run for _, run in started.queries}) == 1
    again = compare(spark, fn, batches, restart_after=[2, 0], **how)
    assert [sorted(map(repr, rows)) for rows in again] == [
        sorted(map(repr, rows)) for rows in straight
    ]
    # Of one checkpoint: Spark keeps a query's id there.
    (other,) = {query for query, _ in started.queries} - {started.queries[0][0]}
    assert len([query for query, _ in started.queries if query == other]) == 3


@operators
def test_a_restart_with_another_function(spark: SparkSession, operator: Operator) -> None:
    first = stateful.define(counting, output="key string, n long")
    output = "key string, total double, batches long, of long"
    later = stateful.define(totalling, output=output)
    batches = [[{"key": "a", "value": n + 0.5}] for n in range(4)]
    answers = compare(
        spark, first, batches, by="key", operator=operator, restart_after={0: None, 1: later}
    )
    assert answers == [
        [{"key": "a", "n": 1}],
        [{"key": "a", "n": 2}],
        [{"key": "a", "total": 4.5, "batches": 1, "of": 1}],
        [{"key": "a", "total": 8.0, "batches": 2, "of": 2}],
    ]
    alike = stateful.define(anywhere, output="key string, n long")
    unlike_later = stateful.define(elsewhere, output="key string, n long")
    with pytest.raises(DifferenceError, match="Batch 2: the rows differ"):
        compare(spark, alike, batches, by="key", operator=operator, restart_after={1: unlike_later})


@pytest.mark.parametrize(
    "restart_after", [1, -1, True, [0, 1], {1: None}, "0", 0.5, [0.0], None], ids=repr
)
def test_a_restart_that_no_batch_follows_is_refused(
    spark: SparkSession, restart_after: Any
) -> None:
    defined = stateful.define(counting, output="key string, n long")
    with pytest.raises(DefinitionError, match=r"restart_after=.* Give numbers from 0 to 0\."):
        compare(spark, defined, [[{"key": "a"}]] * 2, by="key", restart_after=restart_after)
    with pytest.raises(DefinitionError, match=r"Give two batches or more\."):
        compare(spark, defined, [[{"key": "a"}]], by="key", restart_after=0)


@pytest.mark.parametrize(
    ("batches", "told"),
    [
        ([(), ()], "batches have no rows at all"),
        ([[{"key": "a", "v": None}]], "The column 'v' of the batches is None alone"),
    ],
)
def test_batches_without_types_are_refused(
    spark: SparkSession, batches: list[Any], told: str
) -> None:
    defined = stateful.define(unlike, output="key string, n long")
    with pytest.raises(DefinitionError, match=told):
        compare(spark, defined, batches, by="key")


KEYS: list[Any] = [
    (["KEY", "n"], {"Key": "a", "n": 1}),
    ("key", {"key": {"a": 1, "b": "x"}}),
    ("key", {"key": [1, 2]}),
]


@pytest.mark.parametrize(("by", "row"), cases(KEYS[:1], KEYS))
@operators
def test_keys_are_what_spark_has_them_as(
    spark: SparkSession, operator: Operator, by: Any, row: dict[str, Any]
) -> None:
    if operator == "transformWithState" and isinstance(row.get("key"), list):
        pytest.skip("Spark's own error: see docs/limits.md")
    told = compare(spark, named, [[row, row], [row]], by=by, operator=operator)
    columns = sorted(row)
    assert [t["rows"] for (t,) in told] == [f"2 of {columns}", f"3 of {columns}"]


@operators
@pytest.mark.timeout(600)
def test_classes_of_each_kind(spark: SparkSession, operator: Operator) -> None:
    some = [
        classes.AsModel(n=1, anything={"a": [1.5, None, "\u00fc"]}, at=time(23, 59, 59, 1)),
        classes.AsModel(
            n=2,
            mood=classes.Mood.BAD,
            point=classes.Point(3, 0.5),
            event=classes.Closed(7, "late"),
            last=classes.Sold(price=classes.Price(5, "USD")),
            people=[classes.Person(name="b", age=3, tags=["x"])],
            by_name={"k": [True], "l": None},
        ),
        classes.AsModel(n=2, last=classes.Moved(to=classes.Point(1)), anything="text"),
    ]
    answers = compare(
        spark,
        of_classes,
        [some[:2], some[2:]],
        by="n",
        operator=operator,
        schema=classes.AsModel,
        output=classes.AsNamedTuple,
    )
    fields = classes.AsModel.model_fields
    (second,) = (row for row in answers[0] if row["n"] == 2)
    assert second == {name: getattr(some[1], name) for name in fields}
    assert answers[1] == [{name: getattr(some[2], name) for name in fields}]
