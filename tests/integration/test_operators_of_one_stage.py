"""Two stateful operators on the same keys in one stage, against Spark's own provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate.checkpoint import Checkpoint
from bucketstate.config import PROVIDER_KEY
from tests.integration.streams import Streamed, events, run_with_restart
from tests.integration.test_operators import WATERMARK, in_order
from tests.kit.cases import cases
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Query = Callable[[DataFrame], DataFrame]

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
SUMS = "key string, sum long"


def counted(source: DataFrame) -> DataFrame:
    window = F.window("at", "10 minutes").alias("w")
    return source.withWatermark("at", WATERMARK).groupBy(window, "key").agg(F.count("*").alias("n"))


class Summing(StatefulProcessor):
    """Sums up the counts of a window, of which there is one."""

    def init(self, handle: Any) -> None:
        self.sum = handle.getValueState("sum", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
        before = self.sum.get()[0] if self.sum.exists() else 0
        now = before + sum(int(frame["n"].sum()) for frame in rows)
        self.sum.update((now,))
        yield pd.DataFrame({"key": [key[1]], "sum": [now]})

    def close(self) -> None: ...


def by_variables(source: DataFrame) -> DataFrame:
    groups = counted(source).groupBy("w", "key")
    return groups.transformWithStateInPandas(Summing(), SUMS, "append", "none")


def distinct(source: DataFrame) -> DataFrame:
    return counted(source).dropDuplicates(["w", "key"]).select("w.start", "key", "n")


QUERIES: dict[str, tuple[Query, str]] = {
    "dropDuplicates": (distinct, "HDFSBackedStateStoreProvider"),
    "transformWithStateInPandas": (by_variables, ""),
}
"""Each with the provider of Spark's that runs it: its RocksDB one runs neither."""


def run(spark: SparkSession, folder: Path, query: Query) -> Streamed:
    folder.mkdir()
    return run_with_restart(spark, folder, query, events(batches=6))


@pytest.mark.parametrize(
    ("operator", "checkpoint_format"),
    cases([("dropDuplicates", "1")], [(q, f) for q in QUERIES for f in ("1", "2")]),
)
def test_an_operator_on_the_keys_of_an_aggregation(
    spark: SparkSession, tmp_path: Path, operator: str, checkpoint_format: str
) -> None:
    query, other = QUERIES[operator]
    with settings(spark, {FORMAT: checkpoint_format}):
        streamed = run(spark, tmp_path / "ours", query)
    streamed.assert_on_bucketstate()
    assert {len(p["stateOperators"]) for p in streamed.progress} == {2}
    assert Checkpoint(str(tmp_path / "ours" / "checkpoint")).verify().ok
    if other:
        with settings(spark, {PROVIDER_KEY: PROVIDERS + other}):
            wanted = run(spark, tmp_path / "theirs", query).rows()
    else:
        wanted = [(key, n) for _, key, n in run(spark, tmp_path / "theirs", distinct).rows()]
    assert len(wanted) > 20
    assert in_order(streamed.rows()) == in_order(wanted)
