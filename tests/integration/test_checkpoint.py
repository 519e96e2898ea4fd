"""The state read without a JVM is row for row what Spark's own state reader gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.names import RunName, parse
from bucketstate.checkpoint.store.bucket_residency import NUMBERS
from bucketstate.cli import main
from tests.integration.streams import events, run_with_restart
from tests.kit.cases import cases
from tests.kit.session_settings import settings
from tests.kit.sparks import JOIN_FORMATS, READS_IDS_UNASKED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
CODEC = "spark.sql.streaming.stateStore.compression.codec"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
WATERMARK = "1 hour"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    for key in (FORMAT, CODEC, JOIN_FORMAT):
        spark.conf.unset(key)


def late(source: DataFrame) -> DataFrame:
    return source.withWatermark("at", WATERMARK)


def aggregated(source: DataFrame) -> DataFrame:
    return source.groupBy("key").agg(F.count("*").alias("n"), F.avg("value").alias("mean"))


def windowed(source: DataFrame) -> DataFrame:
    return late(source).groupBy(F.window("at", "10 minutes"), "key").agg(F.sum("value"))


def deduplicated(source: DataFrame) -> DataFrame:
    return late(source).dropDuplicates(["at", "key", "value"])


def deduplicated_within_watermark(source: DataFrame) -> DataFrame:
    return late(source).dropDuplicatesWithinWatermark(["key", "value"])


def sessions(source: DataFrame) -> DataFrame:
    return late(source).groupBy(F.session_window("at", "6 minutes"), "key").agg(F.count("*"))


def in_pandas(source: DataFrame) -> DataFrame:
    def update(key: Any, frames: Any, state: Any) -> Any:
        seen, _, _ = state.get if state.exists else (0, 0.0, None)
        for frame in frames:
            seen += len(frame)
        if seen < 20:
            state.update((seen, seen / 3, None if seen % 2 else f"{key[0]} {seen}"))
        elif state.exists:
            state.remove()
        yield pd.DataFrame({"key": [key[0]], "n": [seen]})

    return source.groupBy("key").applyInPandasWithState(
        update,
        "key string, n long",
        "seen long, third double, told string",
        "update",
        "NoTimeout",
    )


def joined(source: DataFrame) -> DataFrame:
    left = late(source).select(F.col("at").alias("la"), F.col("key").alias("lk"), "value")
    right = late(source).select(F.col("at").alias("ra"), F.col("key").alias("rk"))
    near = F.expr("lk = rk and ra between la and la + interval 10 minutes")
    return left.join(right, near, "left_outer")


JOIN_STORES = [
    f"{side}-{kind}"
    for side in ("left", "right")
    for kind in ("keyToNumValues", "keyWithIndexToValue")
]

TYPED = """
    value % 2 = 0 as bool, cast(value as byte) as tiny, cast(value as short) as small,
    cast(value as int) as medium, value as big, cast(value as float) / 3 as single,
    cast(value as double) / 3 as twice, cast(value as decimal(9, 2)) / 7 as short_decimal,
    cast(value as decimal(30, 10)) / 7 as long_decimal, -cast(value as decimal(38, 0)) as longest,
    repeat(key, cast(value as int)) as text, cast(key as binary) as raw, date(at) as day, at,
    cast(at as timestamp_ntz) as local, make_dt_interval(0, value) as hours,
    if(value % 3 = 0, null, array(key, null, 'x')) as list,
    array(named_struct('n', value, 'k', key), null) as structs,
    map(key, array(value, null), 'other', null) as named,
    named_struct('k', key, 'inner', named_struct('v', value, 'none', null)) as nested,
    array(array(cast(value as byte)), array()) as lists
"""


def typed(source: DataFrame) -> DataFrame:
    """A state with a value of every type that a row can hold."""
    rows = source.selectExpr("key as k", *split(TYPED))
    return rows.groupBy("k").agg(*[F.last(c).alias(c) for c in rows.columns[1:]])


def typed_keys(source: DataFrame) -> DataFrame:
    rows = source.selectExpr("key as k", *split(TYPED)).drop("named")
    return rows.dropDuplicates()


def split(expressions: str) -> list[str]:
    """At the commas that are not inside of brackets."""
    found, depth = [""], 0
    for char in " ".join(expressions.split()):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return found


def of_all(source: DataFrame) -> DataFrame:
    """Lies in one partition, for which Spark records the query's number all the same."""
    return source.groupBy().agg(F.count("*"), F.sum("value"))


def limited(source: DataFrame) -> DataFrame:
    return source.limit(7)


KINDS: list[tuple[Callable[[DataFrame], DataFrame], str, list[str]]] = [
    (aggregated, "update", ["default"]),
    (of_all, "update", ["default"]),
    (limited, "append", ["default"]),
    (windowed, "append", ["default"]),
    (deduplicated, "append", ["default"]),
    (deduplicated_within_watermark, "append", ["default"]),
    (sessions, "append", ["default"]),
    (in_pandas, "update", ["default"]),
    (joined, "append", JOIN_STORES),
    (typed, "update", ["default"]),
    (typed_keys, "append", ["default"]),
]


each_kind = pytest.mark.parametrize(
    ("checkpoint_format", "query", "mode", "stores"),
    [
        pytest.param(checkpoint_format, *kind, id=f"{checkpoint_format}-{kind[0].__name__}")
        for checkpoint_format, kind in cases(
            [(1, KINDS[0]), *[(2, kind) for kind in KINDS]], [(1, kind) for kind in KINDS]
        )
    ],
)


def written(
    session: SparkSession,
    folder: Path,
    query: Callable[[DataFrame], DataFrame],
    mode: str,
    checkpoint_format: int,
) -> Checkpoint:
    session.conf.set(FORMAT, checkpoint_format)
    run_with_restart(session, folder, query, events(), mode=mode)
    if READS_IDS_UNASKED:
        session.conf.unset(FORMAT)
    return Checkpoint(folder / "checkpoint")


@each_kind
def test_the_state_is_what_spark_reads(
    session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    mode: str,
    stores: list[str],
    checkpoint_format: int,
) -> None:
    found = written(session, tmp_path, query, mode, checkpoint_format)
    last = found.restart_version
    for store in stores:

        def spark_s(store: str = store, **options: Any) -> DataFrame:
            read = session.read.format("statestore").option("storeName", store)
            return read.options(**options).load(found.location)

        for version in (last, 2):
            same(spark_s(batchId=version - 1), found.scan(version=version, store=store).to_arrow())
        feed = spark_s(readChangeFeed=True, changeStartBatchId=1, changeEndBatchId=3)
        same(feed, found.scan("changes", since=1, version=4, store=store).to_arrow())
        assert found.scan(store=store).to_arrow().num_rows > 0


@pytest.fixture
def snapshots(session: SparkSession) -> Iterator[None]:
    """Every two versions a snapshot, inside the commit: it is there when the batch is done."""
    often = Conf(snapshot_mode="sync", snapshot_max_versions=2)
    with settings(session, often.to_spark()):
        yield


@each_kind
@pytest.mark.usefixtures("snapshots")
def test_snapshots_are_read_and_are_sound(
    session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    mode: str,
    stores: list[str],
    checkpoint_format: int,
) -> None:
    found = written(session, tmp_path, query, mode, checkpoint_format)
    bases = set()
    for store in stores:
        plan = found.plan(store=store)
        assert plan.skipped == ()
        bases.add(plan.base.version if plan.base else 0)
        read = session.read.format("statestore").option("storeName", store)
        same(read.load(found.location), found.scan(store=store).to_arrow())
        buckets_add_up(found, store)
    assert min(bases) >= found.restart_version - 3
    report = found.verify()
    assert report.ok, report.findings
    assert not [f for f in report.findings if f.severity == "warning"]


def buckets_add_up(found: Checkpoint, store: str) -> dict[str, int]:
    """What buckets have is what their store has; the keys that each column family has."""
    (operator,) = found.overview().operators
    table = found.scan(store=store).residency_per_bucket()
    sums = table.group_by("partition_id").aggregate([(name, "sum") for name in NUMBERS])
    by_partition = {row["partition_id"]: row for row in sums.to_pylist()}
    for of in operator.stores:
        if of.store == store:
            row = by_partition[of.partition]
            assert of.residency is not None
            assert row["keys_sum"] == of.keys
            for name in ("cold_entries", "cold_bytes", "warm_records", "warm_bytes"):
                assert row[f"{name}_sum"] == getattr(of.residency, name)
    keys = table.group_by("column_family").aggregate([("keys", "sum")]).to_pylist()
    return {row["column_family"]: row["keys_sum"] for row in keys}


@pytest.mark.skipif(3 not in JOIN_FORMATS, reason="this Spark begins no join of ours in format 3")
@pytest.mark.usefixtures("snapshots")
def test_buckets_of_several_column_families(session: SparkSession, tmp_path: Path) -> None:
    """In format 3 a join has one store, whose column family `default` no schema describes."""
    session.conf.set(JOIN_FORMAT, 3)
    found = written(session, tmp_path, joined, "append", 1)
    keys = buckets_add_up(found, "default")
    assert keys == {"default": 0} | {
        family: found.scan(column_family=family).to_arrow().num_rows for family in JOIN_STORES
    }
    assert main(["inspect", found.location, "--buckets"]) == 0


@pytest.fixture
def spans(session: SparkSession) -> Iterator[None]:
    """A snapshot with each version, and no more merged at a time than some buckets."""
    every = Conf(snapshot_mode="sync", snapshot_max_versions=1)
    merged = replace(every, compaction_max_runs=2, compaction_max_bytes=1)
    with settings(session, merged.to_spark()):
        yield


@pytest.mark.usefixtures("spans")
def test_state_merged_by_spans_is_read_and_is_sound(session: SparkSession, tmp_path: Path) -> None:
    run_with_restart(session, tmp_path, joined, events(batches=12), mode="append")
    found = Checkpoint(tmp_path / "checkpoint")
    younger = 0
    for store in JOIN_STORES:
        plan = found.plan(store=store)
        assert plan.base is not None
        names = [(parse(f.name), r) for r in plan.base.runs for f in r.files]
        younger += sum(isinstance(n, RunName) and n.version > r.last_version for n, r in names)
        read = session.read.format("statestore").option("storeName", store)
        same(read.load(found.location), found.scan(store=store).to_arrow())
    assert younger, "no run has what newer versions changed in some of its buckets"
    report = found.verify()
    assert report.ok, report.findings
    assert not [f for f in report.findings if f.severity == "warning"]


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy", "lzf"])
def test_every_codec_of_spark(session: SparkSession, tmp_path: Path, codec: str) -> None:
    session.conf.set(CODEC, codec)
    run_with_restart(session, tmp_path, typed, events(batches=2, rows=400), mode="update")
    found = Checkpoint(tmp_path / "checkpoint")
    expected = session.read.format("statestore").load(found.location)
    same(expected, found.scan().to_arrow())


def same(expected: DataFrame, found: pa.Table) -> None:
    assert expected.columns == found.column_names
    columns = [[plain(v.as_py(), v.type) for v in column] for column in found.columns]
    ours = [list(row) for row in zip(*columns, strict=True)]
    assert sorted(map(repr, ours)) == sorted(repr(collected(r)) for r in expected.collect())


def collected(value: Any) -> Any:
    """What Spark gives, with structs as lists: the names of their fields may occur twice."""
    match value:
        case dict():
            return sorted([[collected(k), collected(v)] for k, v in value.items()], key=repr)
        case list() | tuple():
            return [collected(v) for v in value]
        case bytearray():
            return bytes(value)
    return value


def plain(value: Any, kind: pa.DataType) -> Any:
    """What pyarrow gives, in the same shape."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return [plain(v, f.type) for v, f in zip(value.values(), kind, strict=True)]
    if pa.types.is_map(kind):
        items = [[plain(k, kind.key_type), plain(v, kind.item_type)] for k, v in value]
        return sorted(items, key=repr)
    if pa.types.is_list(kind):
        return [plain(v, kind.value_type) for v in value]
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # Spark's are in the process's own time zone, without saying so.
        return value.astimezone().replace(tzinfo=None)
    return value
