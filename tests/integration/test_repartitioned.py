"""What Spark's own repartition loses, or leaves behind, as moves to another number of partitions.

Each was tried with `_streamingCheckpointManager.repartition` of Spark 4.2 and 4.3: see the end of
`docs/moving-in.md`, which has the same table.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketstate.checkpoint import Checkpoint
from tests.integration.applications import ROOT, environment
from tests.integration.moved_queries import HDFS, OURS, ROCKSDB, Moved
from tests.integration.test_move import BY_NAME, JOIN_4, Twins, _settings
from tests.kit.cases import at_night, cases

LAX = {"spark.sql.streaming.statefulOperator.useStrictDistribution": "false"}


def _two_operators(frame: DataFrame) -> DataFrame:
    """The second lies by the columns of the first, which are some of its own."""
    rows = frame.where("k is not null").withWatermark("t", "10 seconds")
    return rows.dropDuplicates(["k", "t"]).groupBy("k", "t", "s").count()


LOST: Mapping[str, tuple[Moved, str, Mapping[str, str]]] = {
    "no grouping columns": (BY_NAME["agg_global"], ROCKSDB, {}),
    "operators that lie by some of their columns": (
        Moved("lax", _two_operators, "append", LAX),
        ROCKSDB,
        {},
    ),
    "a join of state format 4": (BY_NAME["join_inner"], ROCKSDB, JOIN_4),
    "a limit": (BY_NAME["limit"], ROCKSDB, {}),
    "the provider of HDFS": (BY_NAME["agg"], HDFS, {}),
    "this provider": (BY_NAME["agg"], OURS, {}),
}


@pytest.mark.parametrize("what", cases([], list(LOST)))
def test_what_it_loses_goes_on_here(spark: SparkSession, tmp_path: Path, what: str) -> None:
    query, provider, settings = LOST[what]
    twins = Twins(spark, query, tmp_path)
    theirs = {**_settings(provider), **settings}
    twins.go(theirs, theirs)
    twins.move("wider", "rewrite" if provider == OURS else "import", partitions=5)
    twins.go({**_settings(OURS, 5), **settings}, theirs)
    narrower = twins.move("narrower", "rewrite", partitions=2)
    twins.go({**_settings(OURS, 2), **settings}, theirs)
    twins.check()
    assert Checkpoint(str(narrower)).verify().ok


@at_night
def test_in_a_session_in_which_no_query_ran(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(ROCKSDB)
    twins.go(theirs, theirs)
    target = tmp_path / "in"
    words = [
        "move",
        "import",
        str(twins.moved.checkpoint),
        str(target),
        "--partitions",
        "5",
        "--buckets",
        "16",
    ]
    command = [sys.executable, "-m", "bucketstate", *words, "--master", "local[2]"]
    done = subprocess.run(
        command,
        env=environment() | {"PYTHONPATH": f"{ROOT / 'python' / 'src'}"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    twins.moved.on(target)
    twins.go(_settings(OURS), theirs)
    twins.check()
