"""`spark-submit --class io.bucketstate.Move`: a move as an application, see docs/moving-in.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pyspark.sql import SparkSession

from bucketstate import jar_path
from bucketstate.checkpoint import Checkpoint
from tests.integration.applications import SUBMIT, environment
from tests.integration.moved_queries import BUCKETS, HDFS, OURS, tree
from tests.integration.test_move import BY_NAME, Twins, _settings
from tests.kit.cases import at_night
from tests.kit.unloading import unload


def _submit(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SUBMIT, "--class", "io.bucketstate.Move", str(jar_path()), *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=170,
    )


@at_night
def test_it_says_what_it_will_do_does_it_and_refuses_by_its_status(
    spark: SparkSession, tmp_path: Path
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs)
    unload(spark)
    source, target = twins.moved.checkpoint, tmp_path / "target"
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

    twins.moved.on(target)
    twins.go(_settings(OURS) | {BUCKETS: "8"}, theirs, batches=1)
    twins.check()
