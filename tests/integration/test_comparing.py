"""The helper that holds the harness against Spark finds them alike, and finds what is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import stateful
from bucketstate.errors import InvalidSettingError
from bucketstate.stateful import DefinitionError
from bucketstate.stateful.operators import Operator
from bucketstate.testing import DifferenceError, compare
from tests.integration.comparing import (
    Remembering,
    Seen,
    Told,
    at,
    dated,
    elsewhere,
    in_days,
    unlike,
)
from tests.kit.typed_values import Colour

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
ZONE = "spark.sql.session.timeZone"


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
    for given, column in (
        (batches, "the field 'at' of the output"),
        ([[{"key": "a", "at": [at(0)]}]], "the column 'at' of the rows"),
    ):
        with pytest.raises(InvalidSettingError) as refusal:
            compare(spark, defined, given, by="key")
        offset = {"Z": "+00:00", "GMT+2": "+02:00", "UTC+01:00": "+01:00"}[in_zone]
        assert f"timeZone is '{in_zone}'" in str(refusal.value)
        assert f"and {column} holds timestamps: set it to '{offset}'" in str(refusal.value)


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState"])
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
