"""What comes after a move: long lives, logs of later forms, ids of batches."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.move import plan
from tests.integration.moved_queries import (
    HDFS,
    OURS,
    PARTITIONS,
    PROVIDER,
    ROCKSDB,
    SINKS_HAVE_NAMES,
    Run,
    queries,
    transforming,
)
from tests.integration.state_processors import Evolved, Keeping
from tests.integration.test_move import AVRO, Twins, _settings
from tests.kit.cases import at_night, cases
from tests.kit.sparks import MINOR

STATE_STORE = "spark.sql.streaming.stateStore"
ENGINE = f"{STATE_STORE}.bucketed.engine"
BY_NAME = {query.name: query for query in queries()}
KEPT = 2
SHORT = {
    "spark.sql.streaming.minBatchesToRetain": str(KEPT),
    f"{STATE_STORE}.bucketed.snapshot.maxVersions": "3",
    f"{STATE_STORE}.maintenanceInterval": "100ms",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "engine", "partitions"),
    cases([], [("agg", "heap", 5), ("agg", "rocksdb", 2), ("join_inner", "heap", 5)]),
)
def test_fifty_batches_after(
    spark: SparkSession, tmp_path: Path, name: str, engine: str, partitions: int
) -> None:
    twins = Twins(spark, BY_NAME[name], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs)
    target = twins.move("in", "import", partitions=partitions)
    twins.go(_settings(OURS) | SHORT | {ENGINE: engine}, theirs, batches=50)
    twins.check()
    checkpoint = Checkpoint(str(target))
    assert checkpoint.verify().ok
    # Some queries have a batch without rows behind those of each start.
    assert checkpoint.last_batch == max(twins.twin.rows)
    counts = {
        kind: sum(1 for _ in (target / "state").rglob(f"*.{kind}"))
        for kind in ("changelog", "manifest")
    }
    stores = _stores(target)
    # A version stands on a snapshot of at most three before it, and retention comes behind.
    for kind, found in counts.items():
        assert found <= stores * (KEPT + 10), counts | {"of": kind}
    assert len(list((target / "commits").glob("[0-9]*"))) <= KEPT + 2


def _stores(checkpoint: Path) -> int:
    return len({file.parent for file in (checkpoint / "state").rglob("*.changelog")})


@pytest.mark.skipif(MINOR in ("4.0", "4.1"), reason="Spark has these logs since 4.2")
@pytest.mark.parametrize(
    ("offsets", "sinks", "provider"),
    cases([], [("2", "true", HDFS), ("2", "false", ROCKSDB), ("1", "true", ROCKSDB)]),
)
def test_logs_of_later_forms(
    spark: SparkSession, tmp_path: Path, offsets: str, sinks: str, provider: str
) -> None:
    forms = {
        "spark.sql.streaming.offsetLog.formatVersion": offsets,
        SINKS_HAVE_NAMES: sinks,
    }
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(provider) | forms
    twins.go(theirs, theirs)
    commits = {"true": "v3", "false": "v1"}[sinks]

    def check(checkpoint: Path, batch: int) -> None:
        assert _version(checkpoint / "offsets" / str(batch)) == f"v{offsets}"
        assert _version(checkpoint / "commits" / str(batch)) == commits

    check(twins.moved.checkpoint, 2)
    target = twins.move("in", "import", partitions=4)
    check(target, 2)
    twins.go(_settings(OURS) | forms, theirs)
    check(target, 5)
    assert Checkpoint(str(target)).verify().ok
    wider = twins.move("wider", "rewrite", partitions=2)
    check(wider, 5)
    twins.go(_settings(OURS) | forms, theirs)
    # Batches of foreachBatch are told apart by their ids, which go on.
    assert sorted(twins.moved.rows) == list(range(9))
    twins.check()
    fresh = Run(spark, BY_NAME["agg"], tmp_path / "fresh", twins.source)
    plan(spark, str(wider), str(fresh.checkpoint), "handover", offsets="options").run()
    check(fresh.checkpoint, 8)
    fresh.run(_settings(OURS) | forms)
    assert min(fresh.rows) == 9


@at_night
@pytest.mark.parametrize("provider", [ROCKSDB, OURS])
def test_schemas_that_change_before_and_after_a_move(
    spark: SparkSession, tmp_path: Path, provider: str
) -> None:
    """Values of an older schema go over, and the schema may change on the target as well."""
    first, second = (transforming(processor, AVRO) for processor in (Keeping(ttl=False), Evolved()))
    theirs = _settings(provider)
    kind = "rewrite" if provider == OURS else "import"
    before = Twins(spark, first, tmp_path / "before")
    before.go(theirs, theirs)
    before.moved.query = before.twin.query = second
    before.go(theirs, theirs, batches=1)
    after = Twins(spark, first, tmp_path / "after")
    after.go(theirs, theirs)
    for twins in (before, after):
        twins.move("in", kind, partitions=4)
        twins.moved.query = twins.twin.query = second
        twins.go(_settings(OURS), theirs, batches=1)
        twins.check()
        for variable in ("count", "every", "plain"):
            moved = _state(spark, "bucketstate", twins.moved, variable)
            assert moved == _state(spark, "statestore", twins.twin, variable)
            assert moved


@at_night
@pytest.mark.timeout(900)
def test_a_thousand_partitions_and_back(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs)
    wide = twins.move("in", "import", partitions=1000)
    twins.go(_settings(OURS), theirs, batches=1)
    assert Checkpoint(str(wide)).verify().ok
    assert _stores(wide) == 1000
    twins.move("out", "export", to="hdfs", partitions=2)
    twins.go(theirs, theirs, batches=1)
    twins.check()


def _state(spark: SparkSession, source: str, run: Run, variable: str) -> list[str]:
    rows = spark.read.format(source).option("stateVarName", variable).load(str(run.checkpoint))
    return sorted(str(row) for row in rows.drop("partition_id").collect())


def _version(entry: Path) -> str:
    return entry.read_text(encoding="utf-8").splitlines()[0]


@at_night
def test_a_batch_that_was_planned_runs_over_the_target_with_its_id(
    spark: SparkSession, tmp_path: Path
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(ROCKSDB)
    twins.go(theirs, theirs)
    (twins.moved.checkpoint / "commits" / "2").unlink()
    rows = twins.moved.rows.pop(2)
    twins.move("in", "import", partitions=4)
    twins.moved.run({PROVIDER: OURS, PARTITIONS: "3"})
    assert twins.moved.rows[2] == rows
    entry = (twins.moved.checkpoint / "offsets" / "2").read_text().splitlines()[1]
    assert json.loads(entry)["conf"][PARTITIONS] == "4"


def test_a_plan_tells_keys_partitions_and_buckets(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs)
    source, target = str(twins.moved.checkpoint), str(tmp_path / "in")
    (store,) = plan(spark, source, target, "import").operators[0]["stores"]
    assert "keys" not in store
    assert "bucketsBefore" not in store
    assert main(["move", "import", source, target, "--dry-run", "--read"]) == 0
    said = capsys.readouterr().out
    assert "unknown until --read" in said
    keys = plan(spark, source, target, "import").read().keys
    assert f"operator 0, default: {keys} keys" in said
    moved = twins.move("in", "import")
    # Keys of batches that changed nothing but changelogs are counted, too.
    twins.go(_settings(OURS), theirs)
    made = plan(spark, str(moved), str(tmp_path / "x"), "rewrite", partitions=5, buckets=32)
    (store,) = made.operators[0]["stores"]
    assert store["keys"] == Checkpoint(str(moved)).scan().to_arrow().num_rows
    assert (store["bucketsBefore"], store["buckets"]) == (16, 32)
    assert (store["partitionsBefore"], store["partitionsAfter"]) == (3, 5)
    assert made.space > 0
    assert f"{store['keys']} keys, 3 to 5 partitions, 16 to 32 buckets" in str(made)
    words = ["move", "rewrite", str(moved), str(tmp_path / "x"), "--buckets", "32", "--dry-run"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "16 to 32" in said
    assert "rewrite of batch 5, the last one committed (version 6)" in said
    assert "bucketstate verify" not in said
    assert main(words[:-1]) == 0
    assert re.search(r"^bucketstate verify: \d+ files, sound$", capsys.readouterr().out, re.M)
    assert "unknown" not in said
