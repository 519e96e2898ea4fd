"""Moves of real queries' checkpoints, each beside a twin that was never moved."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.errors import (
    DamagedFileError,
    MissingFileError,
    RefusedMoveError,
    StorageError,
)
from bucketstate.move import Report, plan
from bucketstate.move.planning import Kind
from tests.integration.applications import APPS, answer_of
from tests.integration.moved_queries import (
    BUCKETS,
    FORMAT,
    HDFS,
    OURS,
    PARTITIONS,
    PROVIDER,
    ROCKSDB,
    Moved,
    Run,
    feed,
    queries,
    read,
    ringing,
    transforming,
    tree,
)
from tests.integration.topics import ends, feed_topics, read_topics
from tests.kit.cases import at_night, cases
from tests.kit.sparks import MINOR
from tests.kit.unloading import unload

BY_NAME = {query.name: query for query in [*queries(), transforming(), ringing()]}
PROVIDERS = {"hdfs": HDFS, "rocksdb": ROCKSDB}
AVRO = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
CHANGELOGS = {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
}
CHECKSUMS = {"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}
IDS = {FORMAT: "2"}
BEFORE_4_2 = ("4.0", "4.1")
ZSTD = {"spark.sql.streaming.stateStore.compression.codec": "zstd"}
JOIN_3 = {"spark.sql.streaming.join.stateFormatVersion": "3"}
JOIN_4 = {"spark.sql.streaming.join.stateFormatVersion": "4"}

EVERY = [(query.name, provider) for query in queries() for provider in PROVIDERS]


class Twins:
    """A query that is moved, and one of the same input that is not.

    `feed` writes the input of the batch of a number, and `read` makes a stream of it.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: Moved,
        place: Path,
        feed: Callable[[Path, int], None] = feed,
        read: Callable[[SparkSession, Path], DataFrame] = read,
    ) -> None:
        self.spark = spark
        self.place = place
        self.source = place / "input"
        self.feed = feed
        self.moved = Run(spark, query, place / "moved", self.source, read)
        self.twin = Run(spark, query, place / "twin", self.source, read)
        self.fed = 0
        self.reports: list[Report] = []

    def go(self, settings: Mapping[str, str], twins: Mapping[str, str], batches: int = 3) -> None:
        for number in range(batches):
            self.feed(self.source, self.fed)
            self.fed += 1
            if self.moved.query.once or number == batches - 1:
                self.moved.run(settings)
                self.twin.run(twins)

    def move(self, name: str, kind: str, **wanted: object) -> Path:
        source = self.moved.checkpoint
        unload(self.spark)
        before = tree(source)
        target = self.place / name
        made = plan(self.spark, str(source), str(target), kind, **wanted)  # type: ignore[arg-type]
        report = made.run()
        assert report.published
        self.reports.append(report)
        assert tree(source) == before
        self.moved.on(target)
        return target

    def check(self) -> None:
        assert self.moved.rows == self.twin.rows


def _settings(provider: str, partitions: int = 3, **others: str) -> dict[str, str]:
    return {PROVIDER: provider, PARTITIONS: str(partitions), **others}


@pytest.mark.parametrize(("name", "store"), cases([("session", "hdfs")], EVERY))
def test_in_and_out_again(spark: SparkSession, tmp_path: Path, name: str, store: str) -> None:
    query, provider = BY_NAME[name], PROVIDERS[store]
    twins = Twins(spark, query, tmp_path)
    theirs = _settings(provider)
    twins.go(theirs, theirs)
    target = twins.move("in", "import", partitions=5)
    twins.go(_settings(OURS, 3), theirs)
    moved = Checkpoint(str(target))
    assert moved.verify().ok
    # The marker is written in Scala, and read here.
    origin = moved.overview().origin
    assert origin is not None
    assert origin.finished
    report = twins.reports[-1]
    assert (origin.kind, origin.batch) == ("import", report.batch)
    assert (origin.keys, origin.bytes) == (report.keys, report.bytes)
    twins.move("other", "rewrite", partitions=2, buckets=8)
    twins.go(_settings(OURS, 3) | {BUCKETS: "8"}, theirs)
    twins.move("out", "export", to=_back_to(provider), partitions=4)
    twins.go(theirs, theirs)
    twins.check()


@pytest.mark.parametrize(
    ("name", "provider", "their", "ours"),
    cases(
        [
            ("agg", ROCKSDB, IDS | CHECKSUMS, IDS),
        ],
        [
            ("transform", ROCKSDB, AVRO, {}),
            ("agg", HDFS, CHECKSUMS | ZSTD, {}),
            ("join_inner", ROCKSDB, JOIN_4, {}),
            ("transform", ROCKSDB, {}, {}),
            ("transform", ROCKSDB, CHANGELOGS | IDS, IDS),
            ("timers", ROCKSDB, {}, {}),
            ("timers", ROCKSDB, IDS, IDS),
            ("agg", ROCKSDB, CHANGELOGS, {}),
            ("join_outer", ROCKSDB, IDS, IDS),
            ("join_outer", ROCKSDB, JOIN_3, {}),
        ],
    ),
    ids=str,
)
def test_whatever_the_files_are_like(
    spark: SparkSession,
    tmp_path: Path,
    name: str,
    provider: str,
    their: dict[str, str],
    ours: dict[str, str],
) -> None:
    if (their == JOIN_4 and MINOR in BEFORE_4_2) or (their == JOIN_3 and MINOR == "4.0"):
        pytest.skip("This Spark has no joins of that state format.")
    query = BY_NAME[name]
    twins = Twins(spark, query, tmp_path)
    theirs = _settings(provider) | their
    twins.go(theirs, theirs)
    twins.move("in", "import", partitions=4)
    twins.go(_settings(OURS) | their | ours, theirs)
    to = _back_to(provider)
    if to == "rocksdb" or (name == "agg" and IDS.items().isdisjoint(their.items())):
        twins.move("out", "export", to=to, partitions=2)
        twins.go(theirs, theirs)
    twins.check()


def _back_to(provider: str) -> str:
    """Whom to export to: before 4.2 Spark's RocksDB begins with no version but the first."""
    return "hdfs" if provider == HDFS or MINOR in BEFORE_4_2 else "rocksdb"


@pytest.mark.parametrize("name", cases([], ["join_inner", "agg", "session", "transform", "timers"]))
def test_other_formats_partitions_and_buckets_there_and_back(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    query = BY_NAME[name]
    twins = Twins(spark, query, tmp_path)
    plain = _settings(OURS)
    twins.go(plain, plain)
    twins.move("ids", "rewrite", checkpoint_format=2, partitions=5, buckets=32)
    twins.go(plain | IDS | {BUCKETS: "32"}, plain)
    there = plan(spark, str(twins.moved.checkpoint), str(tmp_path / "x"), "rewrite").read()
    twins.move("plain", "rewrite", checkpoint_format=1, partitions=3, buckets=16)
    back = plan(spark, str(twins.moved.checkpoint), str(tmp_path / "x"), "rewrite").read()
    assert [s["sum"] for s in there.stores] == [s["sum"] for s in back.stores]
    twins.go(plain, plain)
    twins.check()


@at_night
def test_an_older_batch_and_one_that_was_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs, batches=4)
    (twins.moved.checkpoint / "commits" / "3").unlink()
    source = twins.moved.checkpoint
    target = tmp_path / "newest"
    made = plan(spark, str(source), str(target), "import")
    assert made.batch == 2
    assert any("Batch 3 was planned" in found.text for found in made.findings)
    made.run()
    older = tmp_path / "older"
    plan(spark, str(source), str(older), "import", batch=1, partitions=1).run()
    expected = twins.moved.rows
    for checkpoint in (target, older):
        again = Run(spark, BY_NAME["agg"], tmp_path / "again", twins.source)
        again.on(checkpoint)
        again.run(_settings(OURS))
        # What the file source has seen since an older batch comes as one.
        assert _latest(again.rows) == _latest(
            {b: expected[b] for b in expected if b >= min(again.rows)}
        )
        assert min(again.rows) == (3 if checkpoint == target else 2)


def _latest(rows: Mapping[int, Sequence[str]]) -> dict[str, str]:
    """The last row of each key of an aggregation in update mode."""
    told = [json.loads(row) for batch in sorted(rows) for row in rows[batch]]
    return {f"{row['k']} {row['s']}": json.dumps(row) for row in told}


@at_night
def test_keys_that_a_condition_holds_for_are_left_out_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name, column, condition in (
        ("agg", "k", "k % 2 = 0 and upper(s) like 'NAME-%'"),
        ("join_inner", "field0", "field0 % 2 = 0"),
    ):
        place = tmp_path / name
        twins = Twins(spark, BY_NAME[name], place)
        plain = _settings(OURS)
        twins.go(plain, plain)
        made = plan(
            spark,
            str(twins.moved.checkpoint),
            str(place / "less"),
            "rewrite",
            delete_keys=condition,
        )
        report = made.run()
        assert report.deleted_keys > 0
        whole = plan(spark, str(twins.moved.checkpoint), str(place / "x"), "rewrite").read()
        assert report.keys + report.deleted_keys == whole.keys
        less = Checkpoint(str(place / "less"))
        sides = [
            f"{s}-{k}" for s in ("left", "right") for k in ("keyToNumValues", "keyWithIndexToValue")
        ]
        for store in ["default"] if name == "agg" else sides:
            rows = less.scan(store=store).to_arrow().to_pylist()
            assert rows
            assert all((row["key"][column] or 1) % 2 for row in rows)


@at_night
def test_the_state_is_handed_over_to_sources_that_begin_anew(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = BY_NAME["agg"]
    twins = Twins(spark, query, tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs)
    moved = Run(spark, query, tmp_path / "other", tmp_path / "fresh")
    plan(
        spark,
        str(twins.moved.checkpoint),
        str(moved.checkpoint),
        "handover",
        offsets="options",
    ).run()
    for batch in (3, 4):
        feed(twins.source, batch)
        feed(tmp_path / "fresh", batch)
    twins.twin.run(theirs)
    moved.run(_settings(OURS))
    assert moved.rows == {b: twins.twin.rows[b] for b in (3, 4)}


# By night alone: Spark gives a process of such a source ten seconds to begin, and no more.
@pytest.mark.parametrize("store", cases([], list(PROVIDERS)))
def test_offsets_that_are_maps_go_over(spark: SparkSession, tmp_path: Path, store: str) -> None:
    """Such as Kafka's: the batches after a move begin at the very rows."""
    agg = replace(BY_NAME["agg"], once=True)
    twins = Twins(spark, agg, tmp_path, feed_topics, read_topics)
    theirs = _settings(PROVIDERS[store])
    twins.go(theirs, theirs, batches=2)
    source = twins.moved.checkpoint
    target = twins.move("in", "import", partitions=2)
    assert json.loads(_offset(target, 1)) == ends(twins.source)
    assert _offset(target, 1) == _offset(source, 1)
    twins.go(_settings(OURS), theirs, batches=2)
    assert json.loads(_offset(target, 3)) == ends(twins.source)
    twins.check()


@at_night
def test_the_state_is_handed_over_at_offsets_that_are_maps(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The new source has other numbers for its rows, and something of before that is passed over.

    The old one goes on beside it.
    """
    agg = replace(BY_NAME["agg"], once=True)
    twins = Twins(spark, agg, tmp_path, feed_topics, read_topics)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs, batches=2)
    fresh = tmp_path / "fresh"
    for batch in (7, 8, 9):
        feed_topics(fresh, batch)
    file = tmp_path / "offsets"
    file.write_text(json.dumps(ends(fresh)) + "\n")
    moved = Run(spark, agg, tmp_path / "other", fresh, read_topics)
    words = ["move", "handover", str(twins.moved.checkpoint), str(moved.checkpoint)]
    unload(spark)
    assert main([*words, "--offsets", str(file), "--partitions", "4"]) == 0
    assert _offset(moved.checkpoint, 1) == file.read_text().strip()
    for batch in (2, 3):
        feed_topics(twins.source, batch)
        feed_topics(fresh, batch)
        twins.twin.run(theirs)
        moved.run(_settings(OURS))
    assert moved.rows == {b: twins.twin.rows[b] for b in (2, 3)}


def _offset(checkpoint: Path, batch: int) -> str:
    """Where the only source was, as Spark has it."""
    (line,) = (checkpoint / "offsets" / str(batch)).read_text().split("\n")[2:]
    return line.partition(":")[2] if line.startswith("0:") else line


def test_what_cannot_be_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(ROCKSDB)
    twins.go(theirs, theirs, batches=1)
    source = str(twins.moved.checkpoint)
    before = tree(twins.moved.checkpoint)
    target = tmp_path / "target"
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    for wanted, said in (
        ({"kind": "rewrite"}, "use import or export"),
        ({"kind": "export"}, "give --to"),
        ({"kind": "handover"}, "give --offsets"),
        ({"kind": "export", "to": "hdfs", "checkpoint_format": 2}, "no checkpoint ids"),
        ({"kind": "import", "target": str(full)}, "is not empty"),
        ({"kind": "import", "target": f"{source}/inside"}, "apart from the source"),
        ({"kind": "import", "batch": 9}, "no finished batch 9"),
        ({"kind": "import", "delete_keys": "nothing = 1"}, "k bigint"),
        ({"kind": "import", "delete_keys": "k = 1", "operator": 7}, "no operator 7"),
        ({"kind": "import", "source_provider": "redis"}, "'redis'"),
        ({"kind": "import", "partitions": 0}, "partitions is 0"),
        ({"kind": "handover", "offsets": ["-", "-"]}, "2 offsets were given"),
    ):
        arguments = {"source": source, "target": str(target), **wanted}
        with pytest.raises(RefusedMoveError, match=said):
            plan(spark, **arguments).run()  # type: ignore[arg-type]
        assert not target.exists()
    assert tree(full) == {"mine.txt": b"mine"}
    assert tree(twins.moved.checkpoint) == before


LAX = Moved(
    "lax",
    lambda f: f.repartition("k").groupBy("s", "k").count(),
    "update",
    {"spark.sql.streaming.statefulOperator.useStrictDistribution": "false"},
)


MISPLACED = r"[1-9]\d* of \d+ keys of operator 0.* do not lie in the partition of their hash"
BY_NONE = "operator 0 do not lie by all of their 2 columns, and by no others, either"


@pytest.mark.parametrize(
    ("query", "provider", "said"),
    cases(
        [pytest.param(BY_NAME["agg"], OURS, MISPLACED, id="agg-ours")],
        [
            pytest.param(BY_NAME["agg"], HDFS, MISPLACED, id="agg-hdfs"),
            pytest.param(BY_NAME["agg"], ROCKSDB, MISPLACED, id="agg-rocksdb"),
            pytest.param(BY_NAME["join_inner"], ROCKSDB, MISPLACED, id="join-rocksdb"),
            pytest.param(LAX, ROCKSDB, BY_NONE, id="lax-rocksdb"),
            pytest.param(LAX, OURS, BY_NONE, id="lax-ours"),
        ],
    ),
)
def test_keys_that_lie_by_no_rule_are_refused(
    spark: SparkSession, tmp_path: Path, query: Moved, provider: str, said: str
) -> None:
    run = Run(spark, query, tmp_path, tmp_path / "input")
    for batch in range(2):
        feed(tmp_path / "input", batch)
    run.run(_settings(provider))
    unload(spark)
    _swap(run.checkpoint / "state" / "0", "0", "1")
    before = tree(run.checkpoint)
    kind: Kind = "rewrite" if provider == OURS else "import"
    target = tmp_path / "target"
    made = plan(spark, str(run.checkpoint), str(target), kind, partitions=5)
    with pytest.raises(RefusedMoveError, match=said):
        made.read()
    assert not target.exists()
    with pytest.raises(RefusedMoveError, match=said):
        made.run()
    assert not (target / "commits").exists()
    assert tree(run.checkpoint) == before


def _swap(operator: Path, one: str, other: str) -> None:
    """Lets the states of two partitions change places; the schema stays where Spark keeps it."""
    (operator / one).rename(operator / "aside")
    (operator / other).rename(operator / one)
    (operator / "aside").rename(operator / other)
    for schema in [*(operator / other).rglob("_metadata")]:
        schema.rename(operator / one / schema.relative_to(operator / other))


@at_night
@pytest.mark.parametrize(
    ("provider", "files", "harm"),
    [
        (ROCKSDB, "*.zip", "cut"),
        (ROCKSDB, "*.zip", "gone"),
        (OURS, "*.sst", "flipped"),
        (OURS, "3.changelog", "cut"),
        (OURS, "3.changelog", "gone"),
        (HDFS, "3.delta", "cut"),
        (HDFS, "2.delta", "gone"),
    ],
)
def test_of_a_damaged_source_nothing_is_published(
    spark: SparkSession, tmp_path: Path, provider: str, files: str, harm: str
) -> None:
    # Where there is a snapshot of a version, its changelog is not asked for.
    often = Conf(snapshot_mode="sync", snapshot_max_versions=1).to_spark()
    snapshots = often if files == "*.sst" else {}
    run = Run(spark, BY_NAME["agg"], tmp_path, tmp_path / "input")
    for batch in range(3):
        feed(tmp_path / "input", batch)
    run.run(snapshots | _settings(provider))
    unload(spark)
    file = max((run.checkpoint / "state/0/1").rglob(files), key=lambda f: f.stat().st_mtime_ns)
    whole = file.read_bytes()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    half = len(whole) // 2
    if harm == "gone":
        file.unlink()
    elif harm == "cut":
        file.write_bytes(whole[:half])
    else:
        file.write_bytes(whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :])
    before = tree(run.checkpoint)
    target = tmp_path / "target"
    kind: Kind = "rewrite" if provider == OURS else "import"
    with pytest.raises((DamagedFileError, MissingFileError, StorageError)):
        plan(spark, str(run.checkpoint), str(target), kind, partitions=2).run()
    assert not (target / "commits").exists()
    assert tree(run.checkpoint) == before
    file.write_bytes(whole)
    assert plan(spark, str(run.checkpoint), str(target), kind, partitions=2).run().published


@at_night
def test_a_source_that_goes_on_meanwhile_is_not_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs, batches=2)
    source = twins.moved.checkpoint
    made = plan(spark, str(source), str(tmp_path / "target"), "import")

    def disturb(_: object) -> None:
        (source / "offsets" / "2").write_text((source / "offsets" / "1").read_text())

    with pytest.raises(RefusedMoveError, match="has changed since"):
        made.run(progress=disturb)
    assert not (tmp_path / "target" / "commits").exists()
    (source / "offsets" / "2").unlink()
    plan(spark, str(source), str(tmp_path / "target"), "import").run()


def test_a_target_that_is_all_there_is_not_emptied(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs, batches=2)
    source = twins.moved.checkpoint
    target = twins.move("in", "import")
    twins.go(_settings(OURS), theirs, batches=1)
    marker = target / "_bucketstate" / "move.json"
    marker.write_text(marker.read_text().replace('"finished"', '"begun"'))
    before = tree(target)
    again = plan(spark, str(source), str(target), "import")
    with pytest.raises(RefusedMoveError, match="a move that was made before"):
        again.run()
    after = tree(target)
    assert '"finished"' in marker.read_text()
    assert {n: of for n, of in after.items() if "move.json" not in n} == {
        n: of for n, of in before.items() if "move.json" not in n
    }
    twins.go(_settings(OURS), theirs, batches=1)
    twins.check()


@at_night
def test_a_query_that_lies_by_some_of_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    query = LAX
    twins = Twins(spark, query, tmp_path)
    theirs = _settings(ROCKSDB)
    twins.go(theirs, theirs)
    stays = tmp_path / "stays"
    plan(spark, str(twins.moved.checkpoint), str(stays), "import").run()
    twins.move("elsewhere", "import", partitions=5)
    needs = plan(spark, str(twins.moved.checkpoint), str(tmp_path / "x"), "rewrite").session
    assert needs[PARTITIONS] == "5"
    twins.go(_settings(OURS, 5), theirs)
    twins.check()
    again = Run(spark, query, tmp_path / "again", twins.source)
    again.on(stays)
    again.run(_settings(OURS))
    assert again.rows == {batch: twins.twin.rows[batch] for batch in again.rows}


@at_night
def test_state_that_ages_goes_on_ageing(spark: SparkSession, tmp_path: Path) -> None:
    bucketed = "spark.sql.streaming.stateStore.bucketed.timeBucket"
    ageing = {
        f"{bucketed}.column": "t",
        f"{bucketed}.span": "10s",
        f"{bucketed}.expireAfter": "50s",
    }
    query = Moved("ageing", lambda f: f.dropDuplicates(["k", "t"]), "append", ageing)
    twins = Twins(spark, query, tmp_path)
    ours = _settings(OURS)
    twins.go(ours, ours)
    twins.move("wider", "rewrite", partitions=5)
    twins.go(ours, ours, batches=1)
    assert _keys(twins.moved.checkpoint) == _keys(twins.twin.checkpoint)
    twins.move("narrower", "rewrite", partitions=2)
    twins.go(ours, ours, batches=3)
    left = _keys(twins.moved.checkpoint)
    assert left == _keys(twins.twin.checkpoint)
    # Some have expired, of those before the moves, too.
    assert 0 < len(left) < sum(len(rows) for rows in twins.twin.rows.values())
    twins.check()


def _keys(checkpoint: Path) -> list[str]:
    rows = Checkpoint(str(checkpoint)).scan().to_arrow().to_pylist()
    return sorted(json.dumps(row["key"], default=str) for row in rows)


@at_night
def test_ctrl_c_ends_a_move_while_its_spark_starts(tmp_path: Path) -> None:
    """The program's own Spark goes with it."""
    words = ["move", "import", str(tmp_path / "source"), str(tmp_path / "target")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bucketstate", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        own = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (children := own.read_text().split()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT
    finally:
        process.kill()
        process.wait()
    while any(Path("/proc", child).exists() for child in children):
        # It looks whether the program is there still once it has started: pytest has a limit.
        time.sleep(0.1)


@at_night
def test_a_jvm_that_is_killed_under_a_move(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, BY_NAME["agg"], tmp_path)
    theirs = _settings(HDFS)
    twins.go(theirs, theirs, batches=1)
    unload(spark)
    source, target = twins.moved.checkpoint, tmp_path / "target"
    before = tree(source)
    command = [sys.executable, str(APPS / "ended.py"), str(source), str(target)]
    said = answer_of(command, timeout=170)["said"]
    assert said.startswith("The session's JVM has ended")
    assert "run the same move again" in said
    assert tree(source) == before
    assert not (target / "commits").exists()
    twins.move("target", "import")
    twins.go(_settings(OURS), theirs, batches=1)
    twins.check()
