"""Queries whose session says how many partitions their state has, not the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.move import plan
from tests.integration.moved_queries import (
    OURS,
    PARTITIONS,
    PROVIDER,
    feed,
    read,
    tree,
)
from tests.integration.rewritten import MARK, Twins, begun, keys, sound
from tests.integration.test_move import BY_NAME
from tests.kit.cases import cases
from tests.kit.session_settings import settings
from tests.kit.sparks import MINOR

pytestmark = pytest.mark.skipif(
    MINOR in ("4.0", "4.1"), reason="no rewrite in place before Spark 4.2"
)

SESSION = Conf(partitions="session").to_spark()


def of_session(partitions: int) -> Mapping[str, str]:
    return {PROVIDER: OURS, PARTITIONS: str(partitions), **SESSION}


def partitions_of(root: Path) -> int:
    last = Checkpoint(root).last_batch
    lines = (root / "offsets" / str(last)).read_text().splitlines()
    return int(json.loads(lines[1])["conf"][PARTITIONS])


@pytest.mark.parametrize("name", cases(["agg"], ["dedup", "join_inner", "session", "transform"]))
def test_a_restart_with_another_number_goes_on(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    twins = Twins(spark, BY_NAME[name], tmp_path, 3)
    twins.go(1, of_session(3))
    twins.go(1, of_session(5))
    assert partitions_of(twins.root) == 5
    sound(twins.root)
    # The number that the checkpoint has is no reason to rewrite it: one batch more than the twin.
    twins.go(1, of_session(5))
    last = Checkpoint(twins.twin.checkpoint).last_batch
    assert last is not None
    assert Checkpoint(twins.root).last_batch == last + 1
    # Without the setting the session's number is for new queries, as with Spark's own providers.
    twins.go(1, {PROVIDER: OURS, PARTITIONS: "2"})
    assert partitions_of(twins.root) == 5
    twins.go(1, of_session(2))
    assert partitions_of(twins.root) == 2
    sound(twins.root)


def test_what_was_planned_runs_first(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 3)
    twins.go(1, of_session(3))
    twins.go(1, of_session(3))
    for name in ("1", ".1.crc"):
        (twins.root / "commits" / name).unlink()
    twins.go(1, of_session(5))
    assert partitions_of(twins.root) == 3
    twins.go(1, of_session(5))
    assert partitions_of(twins.root) == 5
    sound(twins.root)
    assert keys(twins.root) == keys(twins.twin.checkpoint)


@pytest.mark.parametrize("wanted", [3, 5, 4])
def test_a_rewrite_that_was_killed_is_begun_anew_or_undone(
    spark: SparkSession, tmp_path: Path, wanted: int
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 3)
    twins.go(1, of_session(3))
    plan(spark, str(twins.root), None, "rewrite", partitions=5, in_place=True).run()
    begun(twins.root)
    twins.go(1, of_session(wanted))
    assert partitions_of(twins.root) == wanted
    assert not (twins.root / MARK).exists()
    sound(twins.root)
    assert keys(twins.root) == keys(twins.twin.checkpoint)


def test_what_cannot_be_rewritten_does_not_start(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 3)
    twins.go(1, of_session(3))
    before = tree(twins.root)
    manifest = next(twins.root.glob("state/0/1/*.change*"))
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-1])
    feed(twins.source, twins.fed)
    with pytest.raises(Exception, match="is damaged"):
        twins.own.run(of_session(5))
    manifest.write_bytes(whole)
    assert tree(twins.root) == before


def test_a_number_that_spark_has_not_recorded_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As of Spark 4.2.0 with the second form of the offset log, until the query's first restart."""
    twins = Twins(spark, BY_NAME["agg"], tmp_path, 3)
    twins.go(1, of_session(3))
    for file in (twins.root / "offsets").glob("[0-9]*"):
        version, head, *rest = file.read_text().split("\n")
        settings_ = json.loads(head)
        del settings_["conf"][PARTITIONS]
        file.write_text("\n".join([version, json.dumps(settings_), *rest]))
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    before = tree(twins.root)
    feed(twins.source, twins.fed)
    with pytest.raises(Exception, match=r"its state is in 3, not 5"):
        twins.own.run(of_session(5))
    assert tree(twins.root) == before
    twins.own.run(of_session(3))
    assert partitions_of(twins.root) == 3


def test_a_file_sink_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    out, root = tmp_path / "out", tmp_path / "checkpoint"

    def run(partitions: int) -> None:
        with settings(spark, of_session(partitions)):
            rows = read(spark, tmp_path / "input").dropDuplicates(["k", "s"])
            writer = rows.writeStream.format("json").trigger(availableNow=True)
            writer.option("checkpointLocation", str(root)).start(str(out)).awaitTermination()

    feed(tmp_path / "input", 0)
    run(3)
    before = tree(root)
    with pytest.raises(Exception, match="the query writes files"):
        run(5)
    assert tree(root) == before
    run(3)


def test_a_query_that_runs_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    source, root = tmp_path / "input", tmp_path / "checkpoint"

    def start(partitions: int) -> StreamingQuery:
        with settings(spark, of_session(partitions)):
            counts = read(spark, source).groupBy("k").count()
            writer = counts.writeStream.outputMode("update").format("noop")
            return writer.option("checkpointLocation", str(root)).start()

    feed(source, 0)
    first = start(3)
    try:
        first.processAllAvailable()
        # Spark stops the run of before, after the plan of the new one was made.
        second = start(5)
        assert not first.isActive
        feed(source, 1)
        second.processAllAvailable()
        assert partitions_of(root) == 3
        second.stop()
        third = start(5)
        third.processAllAvailable()
        assert partitions_of(root) == 5
    finally:
        for query in spark.streams.active:
            query.stop()
    sound(root)
