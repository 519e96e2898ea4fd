"""State variables of real transformWithState queries: Spark's source and ours give the same."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from tests.integration.state_processors import FULL, Evolved, Keeping, KeepingRows
from tests.integration.streams import Event, events, run_with_restart
from tests.integration.test_checkpoint import same
from tests.kit.cases import cases
from tests.kit.session_settings import settings
from tests.kit.sparks import HAS_ROWS
from tests.kit.values.own_types import own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
OUTPUT = "key string, n long"
EXPIRING = {"last", "recent", "by_value"}
BATCHES = 4


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    # By processing time there is always one more batch to run.
    spark.conf.set(NO_DATA, "false")
    yield spark
    for key in (FORMAT, ENCODING, NO_DATA):
        spark.conf.unset(key)


def expiring_in_pandas(source: DataFrame) -> DataFrame:
    grouped = source.groupBy("key")
    return grouped.transformWithStateInPandas(Keeping(ttl=True), OUTPUT, "update", "processingTime")


def by_event_time_of_rows(source: DataFrame) -> DataFrame:
    grouped = source.withWatermark("at", "1 hour").groupBy("key")
    return grouped.transformWithState(KeepingRows(ttl=False), OUTPUT, "update", "eventTime")


def by_event_time_in_pandas(source: DataFrame) -> DataFrame:
    grouped = source.withWatermark("at", "1 hour").groupBy("key")
    return grouped.transformWithStateInPandas(Keeping(ttl=False), OUTPUT, "update", "eventTime")


QUERIES: list[tuple[Callable[[DataFrame], DataFrame], int, str]] = [
    (expiring_in_pandas, 1, "unsaferow"),
    (expiring_in_pandas, 2, "avro"),
    (by_event_time_of_rows if HAS_ROWS else by_event_time_in_pandas, 2, "unsaferow"),
    (by_event_time_of_rows if HAS_ROWS else by_event_time_in_pandas, 1, "avro"),
]
each_query = pytest.mark.parametrize(
    ("query", "checkpoint_format", "encoding"),
    cases(QUERIES[1:3], QUERIES),
)


def written(
    session: SparkSession,
    folder: Path,
    query: Callable[[DataFrame], DataFrame],
    checkpoint_format: int,
    encoding: str,
) -> Checkpoint:
    session.conf.set(FORMAT, checkpoint_format)
    session.conf.set(ENCODING, encoding)
    streamed = run_with_restart(session, folder, query, batches(), mode="update")
    streamed.assert_on_bucketstate()
    # The checkpoint's format stays: Spark's reader opens state variables for writing, for which the
    # provider looks at checkpoint ids only where the session has them.
    session.conf.unset(ENCODING)
    return Checkpoint(folder / "checkpoint")


def batches() -> list[list[Event]]:
    return events(batches=BATCHES, rows=30)


def spark_s(session: SparkSession, found: Checkpoint, **options: Any) -> DataFrame:
    return session.read.format("statestore").options(**options).load(found.location)


def counts() -> dict[str, int]:
    """How many values each key has, and 0 for those that were forgotten with the last batch."""
    kept: dict[str, int] = {}
    for batch in batches():
        new: dict[str, int] = defaultdict(int)
        for event in batch:
            new[event["key"]] += 1
        for key, n in new.items():
            kept[key] = 0 if kept.get(key, 0) + n > FULL else kept.get(key, 0) + n
    return kept


@each_query
@pytest.mark.timeout(400)
def test_state_variables_are_what_spark_reads(
    session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    checkpoint_format: int,
    encoding: str,
) -> None:
    found = written(session, tmp_path, query, checkpoint_format, encoding)
    variables = {v.name: v for v in found.state_variables()}
    ttl = query is expiring_in_pandas
    assert variables.keys() == {"count", "every", "plain"} | (EXPIRING if ttl else set())
    assert {v.name for v in variables.values() if v.ttl} == (EXPIRING if ttl else set())

    table = found.scan(state_var="count").to_arrow()
    told = {row["key"]["key"]: row["value"]["n"] for row in table.to_pylist()}
    assert told == {key: n for key, n in counts().items() if n}
    assert 0 < len(told) < len(counts())

    for name, variable in variables.items():
        read = spark_s(session, found, stateVarName=name)
        same(read, found.scan(state_var=name).to_arrow())
        assert read.count() > 0
        if variable.kind != "value":
            whole = spark_s(session, found, stateVarName=name, flattenCollectionTypes=False)
            same(whole, found.scan(state_var=name, flatten=False).to_arrow())
        feed = spark_s(
            session,
            found,
            stateVarName=name,
            readChangeFeed=True,
            changeStartBatchId=1,
            changeEndBatchId=3,
        )
        same(feed, found.scan("changes", since=1, version=4, state_var=name).to_arrow())

    earlier = spark_s(session, found, stateVarName="every", batchId=1)
    same(earlier, found.scan(version=2, state_var="every").to_arrow())
    for name in ("count", "plain"):
        from_snapshot = spark_s(
            session,
            found,
            stateVarName=name,
            snapshotStartBatchId=1,
            snapshotPartitionId=1,
            batchId=3,
        )
        same(from_snapshot, found.scan(state_var=name, partition=1, version=4).to_arrow())

    timers = spark_s(session, found, readRegisteredTimers=True)
    same(timers, found.scan("timers").to_arrow())
    assert timers.count() > 0
    report = found.verify()
    assert [f for f in report.findings if f.severity != "note"] == []


@pytest.fixture
def snapshots(session: SparkSession) -> Iterator[None]:
    """Every two versions a snapshot, inside the commit: it is there when the batch is done."""
    often = Conf(snapshot_mode="sync", snapshot_max_versions=2)
    with settings(session, often.to_spark()):
        yield


@pytest.mark.usefixtures("snapshots")
@pytest.mark.timeout(400)
def test_snapshots_of_state_variables_are_read_and_are_sound(
    session: SparkSession, tmp_path: Path
) -> None:
    found = written(session, tmp_path, expiring_in_pandas, 1, "unsaferow")
    base = found.plan().base
    assert base is not None
    for name in ("recent", "by_value"):
        same(spark_s(session, found, stateVarName=name), found.scan(state_var=name).to_arrow())
    same(spark_s(session, found, readRegisteredTimers=True), found.scan("timers").to_arrow())
    report = found.verify()
    assert [f for f in report.findings if f.severity != "note"] == []


@pytest.mark.timeout(400)
def test_values_of_older_schemas_are_what_spark_reads(
    session: SparkSession, tmp_path: Path
) -> None:
    processors = iter([Keeping(ttl=False), Evolved()])

    def query(source: DataFrame) -> DataFrame:
        grouped = source.withWatermark("at", "1 hour").groupBy("key")
        return grouped.transformWithStateInPandas(next(processors), OUTPUT, "update", "eventTime")

    found = written(session, tmp_path, query, 1, "avro")
    for name in ("count", "every", "plain"):
        same(spark_s(session, found, stateVarName=name), found.scan(state_var=name).to_arrow())
    assert found.state_variable("count").schema_ids == (0, 1)
    values = found.scan(state_var="count").to_arrow().column("value").to_pylist()
    assert {v["came"] is None for v in values} == {True, False}
    earlier = spark_s(session, found, stateVarName="count", batchId=1)
    value = earlier.schema["value"].dataType
    assert own(value) == found.state_variable("count", version=2).value
    same(earlier, found.scan(version=2, state_var="count").to_arrow())
    report = found.verify()
    assert [f for f in report.findings if f.severity != "note"] == []


def test_what_spark_records_of_the_operator_is_what_we_tell(
    session: SparkSession, tmp_path: Path
) -> None:
    found = written(session, tmp_path, by_event_time_in_pandas, 1, "unsaferow")
    (row,) = session.read.format("state-metadata").load(found.location).collect()
    operator = found.operator(0)
    assert (operator.id, operator.name) == (row["operatorId"], row["operatorName"])
    assert row["stateStoreName"] == "default"
    assert row["numPartitions"] == operator.stores[0].partitions
    assert (row["minBatchId"], row["maxBatchId"]) == (found.versions[0] - 1, found.last_batch)
    assert all(v.name in row["operatorProperties"] for v in operator.state_variables)
