"""State that ages out, in queries that otherwise keep all of it for ever."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from tests.integration.aging_queries import (
    AFTER_TEXT,
    BASE,
    Partition,
    batch,
    figures,
    keys,
    run,
    second_of,
    sound,
    time_buckets,
)
from tests.integration.streams import events
from tests.integration.test_checkpoint import FORMAT
from tests.kit.session_settings import settings
from tests.kit.sparks import READS_IDS_UNASKED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.streams import Event

    Query = Callable[[DataFrame], DataFrame]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """With one partition: there is one newest time."""
    with settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield spark


def deduplicated(source: DataFrame) -> DataFrame:
    return source.dropDuplicates(["key", "at"]).select("key", "at")


def test_an_unbounded_drop_duplicates_forgets(session: SparkSession, tmp_path: Path) -> None:
    """By a time in the key; what is late is said each time that it comes."""
    batches = events(batches=7, rows=30)
    late = batches[0][:3]
    batches[5] = batches[5] + late + late[:1]
    batches[6] = batches[6] + late
    conf = BASE.for_query("seen", time_bucket_expire_after=AFTER_TEXT, time_bucket_column="at")

    partition, said, expected, ages = Partition(), [], [], []
    for number, of_batch in enumerate(batches):
        partition.begin()
        for event in of_batch:
            row = (event["key"], event["at"].replace(tzinfo=None))
            if row not in partition.state:
                partition.put(row, second_of(event))
                said.append((number, *row))
        expected.append(partition.figures)
        ages.append(partition.time_buckets)
    assert sum(expired for _, expired, _ in expected) > 50
    assert [late for _, _, late in expected] == [0, 0, 0, 0, 0, 4, 3]

    found = []
    for part in (slice(0, 4), slice(4, 7)):
        streamed = run(session, tmp_path, deduplicated, batches[part], conf, name="seen")
        assert figures(streamed) == expected[part]
        found += [(n, *row) for n, rows in streamed.batches.items() for row in rows]
    assert sorted(found) == sorted(said)
    checkpoint = sound(session, tmp_path)
    assert [time_buckets(checkpoint, version) for version in checkpoint.versions] == ages


def counted_in_pandas(source: DataFrame) -> DataFrame:
    """Groups that know when they were last seen; one of them says that it has no time."""

    def update(key: Any, frames: Any, state: Any) -> Any:
        n, newest, _ = state.get if state.exists else (0, 0, None)
        for frame in frames:
            n += len(frame)
            newest = max(newest, int(frame["at"].max().timestamp()))
        state.update((n, newest, None if key[0] == "k0" else datetime.fromtimestamp(newest, UTC)))
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    return source.groupBy("key").applyInPandasWithState(
        update,
        "key string, n long",
        "n long, newest long, last timestamp",
        "update",
        "NoTimeout",
    )


def test_groups_in_pandas_without_a_timeout(session: SparkSession, tmp_path: Path) -> None:
    """By a time in their state, with checkpoint ids; a null time never expires."""
    batches = events(batches=8, rows=5, seed=5)
    batches[6].append({"key": "long ago", "at": batches[0][0]["at"], "value": 1})
    conf = BASE.for_query(
        operator=0, time_bucket_expire_after=AFTER_TEXT, time_bucket_column="groupState.last"
    )

    partition, said, expected = Partition(), [], []
    for number, of_batch in enumerate(batches):
        partition.begin()
        groups = defaultdict(list)
        for event in of_batch:
            groups[event["key"]].append(second_of(event))
        for key, seconds in groups.items():
            _, (n, newest) = partition.state.get(key, (None, (0, 0)))
            n, newest = n + len(seconds), max(newest, *seconds)
            partition.put(key, None if key == "k0" else newest, (n, newest))
            said.append((number, key, n))
        expected.append(partition.figures)
    assert sum(expired for _, expired, _ in expected) > 3
    assert sum(late for _, _, late in expected) == 1

    found = []
    for part in (slice(0, 4), slice(4, 8)):
        with settings(session, {FORMAT: "2"}):
            streamed = run(session, tmp_path, counted_in_pandas, batches[part], conf, mode="update")
        assert figures(streamed) == expected[part]
        found += [(n, *row) for n, rows in streamed.batches.items() for row in rows]
    assert sorted(found) == sorted(said)
    with settings(session, {} if READS_IDS_UNASKED else {FORMAT: "2"}):
        checkpoint = sound(session, tmp_path)
    assert time_buckets(checkpoint) == partition.time_buckets
    assert None in time_buckets(checkpoint)
    state = {
        row["key"]["key"]: (row["value"]["groupState"]["n"], row["value"]["groupState"]["newest"])
        for row in checkpoint.scan().to_arrow().to_pylist()
    }
    assert state == {key: value for key, (_, value) in partition.state.items()}


def counted(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"))


def test_by_the_time_of_the_batch_where_there_is_no_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also in partitions to which no row comes any more."""
    conf = replace(BASE, time_bucket_expire_after="1s")
    old = batch(**{f"old{n}": 0 for n in range(8)})
    run(spark, tmp_path, counted, [old], conf, mode="update")
    parts = Checkpoint(tmp_path / "checkpoint").scan().to_arrow()["partition_id"]
    assert set(parts.to_pylist()) == {0, 1}
    # As many batches as it takes for some seconds to pass; pytest's timeout ends a wait in vain.
    expired = 0
    while keys(Checkpoint(tmp_path / "checkpoint")) != ["new"]:
        streamed = run(spark, tmp_path, counted, [batch(new=0)], conf, mode="update")
        expired += figures(streamed)[0][1]
    assert expired >= len(old)
    checkpoint = sound(spark, tmp_path)
    there = [len(keys(checkpoint, version)) for version in checkpoint.versions]
    assert there[0] == 8
    assert there[1:] == sorted(there[1:], reverse=True)


def test_each_partition_by_its_own_newest_time(spark: SparkSession, tmp_path: Path) -> None:
    conf = replace(BASE, time_bucket_expire_after="100s", time_bucket_column="at")
    run(spark, tmp_path, deduplicated, [batch(**{f"k{n}": 1000 for n in range(20)})], conf)
    run(spark, tmp_path, deduplicated, [batch(ahead=1500)], conf)
    rows = Checkpoint(tmp_path / "checkpoint").scan().to_arrow().to_pylist()
    assert len(rows) == 21
    partition_of = {row["key"]["key"]: row["partition_id"] for row in rows}
    run(spark, tmp_path, deduplicated, [batch(ahead=1500)], conf)
    left = [key for key, part in partition_of.items() if part != partition_of["ahead"]]
    assert 0 < len(left) < 20
    assert keys(sound(spark, tmp_path)) == sorted([*left, "ahead"])


BATCHES = [batch(a=1000, b=1000), batch(a=1200), batch(a=1201), batch(b=1202)]


def test_one_query_of_two_by_its_name(session: SparkSession, tmp_path: Path) -> None:
    conf = BASE.for_query("short", time_bucket_expire_after="100s", time_bucket_column="max")

    def last_seen(source: DataFrame) -> DataFrame:
        return source.groupBy("key").agg(F.count("*").alias("n"), F.max("at").alias("last"))

    last = {}
    for name in ("short", "others"):
        (tmp_path / name).mkdir()
        streamed = run(session, tmp_path / name, last_seen, BATCHES, conf, mode="update", name=name)
        last[name] = {row[0]: row[1] for row in streamed.rows()}
        found = sound(session, tmp_path / name)
        (store,) = found.overview().operators[0].stores
        assert [f.expiry is not None for f in store.families] == [name == "short"]
    assert last == {"short": {"a": 3, "b": 1}, "others": {"a": 3, "b": 2}}


def test_one_operator_of_two_by_its_number(session: SparkSession, tmp_path: Path) -> None:
    """Duplicates are forgotten, what was counted is not."""

    def chained(source: DataFrame) -> DataFrame:
        return counted(source.dropDuplicates(["key", "at"]))

    names = ["stateStoreSave", "dedupe"]
    conf = BASE.for_query(
        "chained", operator=1, time_bucket_expire_after="100s", time_bucket_column="at"
    )
    batches = [*BATCHES, batch(a=1000)]
    streamed = run(session, tmp_path, chained, batches, conf, mode="update", name="chained")
    operators = streamed.progress[-1]["stateOperators"]
    assert [operator["operatorName"] for operator in operators] == names
    assert [sum(expired for _, expired, _ in figures(streamed, n)) for n in (0, 1)] == [0, 2]
    assert {row[0]: row[1] for row in streamed.rows()} == {"a": 4, "b": 2}
    for operator in (0, 1):
        sound(session, tmp_path, operator)


def test_turned_on_and_off_and_on_again(session: SparkSession, tmp_path: Path) -> None:
    on = BASE.for_query(operator=0, time_bucket_expire_after="100s", time_bucket_column="at")

    def more(conf: Conf, *batches: list[Event]) -> list[str]:
        run(session, tmp_path, deduplicated, list(batches), conf)
        return keys(Checkpoint(tmp_path / "checkpoint"))

    assert more(BASE, batch(old=1000, older=10), batch(more=20)) == ["more", "old", "older"]
    # What has no time ages from the newest time of the first batch, not from its own.
    there = ["more", "new", "newer", "old", "older"]
    assert more(on, batch(new=2000), batch(newer=2090)) == there
    assert more(on, batch(newest=2110), batch(newest=2110)) == ["newer", "newest"]
    # What has expired stays away; what is written now never expires.
    off = more(BASE, batch(ageless=1), batch(far=9000), batch(far=9000))
    assert off == ["ageless", "far", "newer", "newest"]
    assert more(on, batch(later=9500), batch(later=9500)) == ["ageless", "far", "later"]
    # Another time and another span are no matter, either.
    longer = on.for_query(operator=0, time_bucket_expire_after="1h", time_bucket_span="5min")
    last = ["ageless", "far", "last", "later"]
    assert more(longer, batch(last=12000), batch(last=12000)) == last
    sound(session, tmp_path)
    formats = {
        json.loads(manifest.read_text(encoding="utf-8"))["formatVersion"]
        for manifest in tmp_path.glob("checkpoint/state/0/0/*.manifest")
    }
    assert formats == {1, 2}


def late(source: DataFrame) -> DataFrame:
    return source.withWatermark("at", "1 hour")


def joined(source: DataFrame) -> DataFrame:
    left = late(source).select(F.col("at").alias("la"), F.col("key").alias("lk"))
    right = late(source).select(F.col("at").alias("ra"), F.col("key").alias("rk"))
    return left.join(right, F.expr("lk = rk and ra between la and la + interval 10 minutes"))


def in_sessions(source: DataFrame) -> DataFrame:
    return late(source).groupBy(F.session_window("at", "6 minutes"), "key").count()


def with_timeouts(source: DataFrame) -> DataFrame:
    def update(key: Any, frames: Any, state: Any) -> Any:
        state.update((sum(map(len, frames)),))
        yield pd.DataFrame({"key": [key[0]]})

    return source.groupBy("key").applyInPandasWithState(
        update, "key string", "n long", "update", "ProcessingTimeTimeout"
    )


def within_watermark(source: DataFrame) -> DataFrame:
    return late(source).dropDuplicatesWithinWatermark(["key"])


def behind_watermark(source: DataFrame) -> DataFrame:
    return deduplicated(late(source))


def windowed(source: DataFrame) -> DataFrame:
    return late(source).groupBy(F.window("at", "10 minutes"), "key").count()


@pytest.mark.parametrize(
    ("query", "mode", "why"),
    [
        (joined, "append", "whose rows would be lost on one side alone"),
        (in_sessions, "append", "by a part of the key (session windows)"),
        (with_timeouts, "update", "a group that has expired would never time out"),
        (within_watermark, "append", "dropDuplicatesWithinWatermark removes its state by itself"),
        (behind_watermark, "append", "removes state by the watermark of 'at'"),
        (windowed, "append", "removes state by the watermark of 'window'"),
    ],
    ids=["join", "session", "timeout", "within watermark", "watermark", "window"],
)
def test_an_operator_that_counts_on_its_state_is_refused(
    session: SparkSession, tmp_path: Path, query: Query, mode: str, why: str
) -> None:
    conf = replace(BASE, time_bucket_expire_after="7d")
    with pytest.raises(StreamingQueryException) as failure:
        run(session, tmp_path, query, BATCHES[:1], conf, mode=mode)
    message = str(failure.value)
    assert why in message
    assert "timeBucket.expireAfter is set for store" in message
    assert "'never' with the suffix .operator.0 takes this operator out" in message


def test_what_was_refused_runs_when_it_is_taken_out(session: SparkSession, tmp_path: Path) -> None:
    conf = BASE.for_query(
        "windows",
        time_bucket_expire_after="7d",
        time_bucket_column="at",
        time_bucket_span="1d",
    )
    with pytest.raises(StreamingQueryException, match=r"\.query\.<name>\.operator\.0"):
        run(session, tmp_path, windowed, BATCHES[:1], conf, name="windows")
    # The batch that failed is done now, too.
    out = conf.for_query("windows", operator=0, time_bucket_expire_after="never")
    run(session, tmp_path, windowed, BATCHES[1:2], out, name="windows")
    assert keys(sound(session, tmp_path)) == ["a", "a", "b"]


def test_a_column_that_is_not_there_says_what_there_is(
    session: SparkSession, tmp_path: Path
) -> None:
    conf = BASE.for_query("windows", time_bucket_expire_after="7d", time_bucket_column="end")

    def windows(source: DataFrame) -> DataFrame:
        return source.groupBy(F.window("at", "10 minutes"), "key").agg(F.max("at"))

    with pytest.raises(StreamingQueryException) as failure:
        run(session, tmp_path, windows, BATCHES[:1], conf, mode="update", name="windows")
    there = "in the key: window.start, window.end; in the value: max"
    assert there in str(failure.value)
