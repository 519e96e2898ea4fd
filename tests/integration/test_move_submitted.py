"""`spark-submit --class io.bucketstate.Move`: a move as an application, see docs/moving-in.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from bucketstate import jar_path
from bucketstate.checkpoint import Checkpoint
from tests.integration.applications import environment
from tests.integration.apps.counting import builder_options
from tests.integration.moved_queries import (
    HDFS,
    OURS,
    PARTITIONS,
    PROVIDER,
    Run,
    feed,
    queries,
    read,
    tree,
)
from tests.kit.cases import at_night
from tests.kit.unloading import unload

BUCKETS = "spark.sql.streaming.stateStore.bucketed.numBuckets"


def _submit(*words: str) -> subprocess.CompletedProcess[str]:
    settings = [part for k, v in builder_options().items() for part in ("--conf", f"{k}={v}")]
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--master", "local[2]", *settings),
            *("--class", "io.bucketstate.Move", str(jar_path())),
            *words,
        ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=170,
    )


@at_night
def test_it_says_what_it_will_do_does_it_and_refuses_by_its_status(
    spark: SparkSession, tmp_path: Path
) -> None:
    (query,) = (query for query in queries() if query.name == "agg")
    history = Run(spark, query, tmp_path / "moved", tmp_path / "input", read)
    twin = Run(spark, query, tmp_path / "twin", tmp_path / "input", read)
    theirs = {PROVIDER: HDFS, PARTITIONS: "3"}
    for batch in range(3):
        feed(tmp_path / "input", batch)
    history.run(theirs)
    twin.run(theirs)
    unload(spark)
    source, target = history.checkpoint, tmp_path / "target"
    before = tree(source)
    words = ["import", str(source), str(target), "--partitions", "2", "--buckets", "8"]

    planned = _submit(*words, "--dry-run", "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["target"] == str(target)
    assert not target.exists()

    done = _submit(*words)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["published"]
    assert report["keys"] == Checkpoint(str(target)).scan().to_arrow().num_rows
    assert tree(source) == before

    again = _submit(*words)
    assert again.returncode == 2, again.stderr
    assert str(target) in again.stderr
    unknown = _submit(*words, "--partition", "2")
    assert unknown.returncode == 2, unknown.stderr
    assert "There is no option --partition" in unknown.stderr
    for refused in (again, unknown):
        assert "\tat io.bucketstate" not in refused.stderr

    feed(tmp_path / "input", 3)
    history.on(target)
    history.run({PROVIDER: OURS, PARTITIONS: "3", BUCKETS: "8"})
    twin.run(theirs)
    assert history.rows == twin.rows
