"""What `compare` refuses before there is a query, and what its runs change of a session."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from bucketstate.stateful import DefinitionError, State
from bucketstate.testing import compare
from bucketstate.testing.spark_query import SparkQuery
from tests.kit.stateful import Total

NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


class Conf(dict[str, str]):
    """As that of a session, of what was set."""

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        del self[key]


@pytest.mark.parametrize("before", [{}, {NO_DATA: "true"}, {NO_DATA: "false"}])
def test_a_setting_is_as_it_was(before: dict[str, str], tmp_path: Path) -> None:
    conf = Conf(before)
    spark: Any = SimpleNamespace(conf=conf)
    query = SparkQuery(
        spark,
        tmp_path,
        StructType(),
        by=["key"],
        operator="applyInPandasWithState",
        output_mode="append",
        timeout=None,
        event_time=None,
        delay=timedelta(0),
        many_keys=True,
        patience=timedelta(minutes=1),
    )
    with query._idle(False):
        assert conf == {NO_DATA: "false"}
    assert conf == before


def never(_key: Any, _rows: list[dict[str, Any]], _state: State[Total]) -> None:
    raise AssertionError("not called")


@pytest.mark.parametrize(
    "patience", [5, None, timedelta(0), timedelta(milliseconds=999), timedelta(seconds=-5)]
)
def test_a_patience_of_less_than_a_second_is_refused(patience: Any) -> None:
    # A session without a JVM, which nothing is asked of.
    spark = SparkSession.__new__(SparkSession)
    with pytest.raises(DefinitionError, match=r"^patience=.* of compare: give a timedelta of one"):
        compare(spark, never, [[{"key": "a"}]], by="key", patience=patience)
