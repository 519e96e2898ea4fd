"""What a compared run changes of a session is as before after it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import StructType

from bucketstate.testing.spark_query import SparkQuery

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
