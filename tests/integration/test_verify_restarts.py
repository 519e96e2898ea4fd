"""What `verify` says of a damaged checkpoint, held against a query that is started on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import CheckpointError
from tests.integration.moved_queries import FORMAT
from tests.kit.cases import at_night, cases
from tests.kit.session_settings import settings
from tests.kit.unloading import unload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = 5
FAILS = "a restart fails"

Damage = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A damage; whether a query starts on what is left, and whether all of it is sound."""

    name: str
    damage: Damage
    starts: bool
    sound: bool = False
    version: int = BATCHES
    """What a restart opens."""


def _file(path: Path) -> None:
    """Also the checksum that Hadoop keeps beside it, which a copy may have left out."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def without(*names: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        for name in names:
            path = checkpoint / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
                _file(path)

    return damage


def emptied(*names: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        for name in names:
            for path in (checkpoint / name).iterdir():
                path.unlink()

    return damage


def changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    def damage(checkpoint: Path) -> None:
        path = checkpoint / name
        path.write_bytes(change(path.read_bytes()))
        _file(path)

    return damage


def lines(count: int) -> Callable[[bytes], bytes]:
    return lambda data: b"\n".join(data.split(b"\n")[:count])


def nothing(_: bytes) -> bytes:
    return b""


def newer(data: bytes) -> bytes:
    return data.replace(b"v1", b"v9", 1)


def each(pattern: str, change: Callable[[bytes], bytes] | None) -> Damage:
    """Files of any checkpoint format, of which one has ids in names; gone without a change."""

    def damage(checkpoint: Path) -> None:
        files = [file for file in checkpoint.glob(pattern) if not file.name.startswith(".")]
        assert files
        for file in files:
            name = str(file.relative_to(checkpoint))
            (without(name) if change is None else changed(name, change))(checkpoint)

    return damage


def together(*damages: Damage) -> Damage:
    def damage(checkpoint: Path) -> None:
        for one in damages:
            one(checkpoint)

    return damage


def cut(data: bytes) -> bytes:
    return data[:-9]


def flipped(data: bytes) -> bytes:
    """Within the first block of a data file."""
    return data[:40] + bytes([data[40] ^ 255]) + data[41:]


def stray(checkpoint: Path) -> None:
    for log in ("offsets", "commits"):
        shutil.copy(checkpoint / log / "4", checkpoint / log / "9")


CASES = [
    Case("nothing", lambda _: None, starts=True, sound=True),
    # What starts the query.
    Case("no metadata", without("metadata"), starts=False),
    Case("empty metadata", changed("metadata", nothing), starts=False),
    Case("other metadata", changed("metadata", lambda _: b"none"), starts=False),
    Case("metadata without an id", changed("metadata", lambda _: b"{}"), starts=False),
    # The offset log.
    Case("no offsets", emptied("offsets"), starts=False),
    Case("no folder of offsets", without("offsets"), starts=False),
    Case("no last offsets", without("offsets/4"), starts=False),
    Case("no last two offsets", without("offsets/3", "offsets/4"), starts=False),
    Case("no offsets before the last", without("offsets/3"), starts=False),
    Case("no first offsets", without("offsets/0"), starts=True, sound=True),
    Case("empty last offsets", changed("offsets/4", nothing), starts=False),
    Case("last offsets of one line", changed("offsets/4", lines(1)), starts=False),
    Case("last offsets of two lines", changed("offsets/4", lines(2)), starts=False),
    Case("empty offsets before the last", changed("offsets/3", nothing), starts=False),
    Case("empty old offsets", changed("offsets/1", nothing), starts=True),
    Case("newer last offsets", changed("offsets/4", newer), starts=False),
    # The commit log.
    Case("no commits", emptied("commits"), starts=True, version=4),
    Case("no last commit", without("commits/4"), starts=True, sound=True, version=4),
    Case("no commit before the last", without("commits/3"), starts=True),
    Case("no last two commits", without("commits/3", "commits/4"), starts=True, version=4),
    Case("no first commit", without("commits/0"), starts=True),
    Case("empty last commit", changed("commits/4", nothing), starts=False),
    Case("last commit of one line", changed("commits/4", lines(1)), starts=True, sound=True),
    Case("empty commit before the last", changed("commits/3", nothing), starts=True),
    Case("newer last commit", changed("commits/4", newer), starts=False),
    # Both.
    Case(
        "no last batch",
        without("offsets/4", "commits/4"),
        starts=True,
        sound=True,
        version=4,
    ),
    Case("no logs", emptied("offsets", "commits"), starts=False),
    Case("a stray number", stray, starts=False),
    # What describes the state.
    Case("no schema", without("state/0/0/_metadata/schema"), starts=True, sound=True),
    Case("a schema that is cut", changed("state/0/0/_metadata/schema", lambda b: b[:10]), False),
    Case("no operator's metadata", without("state/0/_metadata"), starts=True, sound=True),
    Case(
        "operator's metadata that are cut",
        changed("state/0/_metadata/metadata", lines(1)),
        starts=True,
        sound=True,
    ),
    # The state.
    Case("no last changelog", without("state/0/0/5.changelog"), starts=False),
    Case("no changelog before", without("state/0/0/3.changelog"), starts=False),
    Case("a changelog that is cut", changed("state/0/0/5.changelog", lambda b: b[:-3]), False),
    Case("no folder of a partition", without("state/0/1"), starts=False),
    Case("no state", without("state"), starts=False),
    Case("a partition too many", lambda cp: (cp / "state/0/9").mkdir(), True, sound=True),
    # What a source of files keeps.
    Case("no sources", without("sources"), starts=False),
    Case("no last entry of a source", without("sources/0/4"), starts=False),
    Case("no entry of a source before", without("sources/0/1"), starts=False),
    Case("empty last entry of a source", changed("sources/0/4", nothing), starts=False),
    Case("a file of a source that is cut", changed("sources/0/4", lambda b: b[:-9]), starts=False),
    # Which reads the files of that batch once more.
    Case("last entry of a source of one line", changed("sources/0/4", lines(1)), starts=True),
    Case("old entry of a source of one line", changed("sources/0/1", lines(1)), starts=True),
]


RUNS = "state/0/0/runs/*.sst"
MANIFEST = "state/0/0/4*.manifest"
ALONE = together(
    each("state/0/0/[1-4]*.changelog", None),
    each("state/0/0/2*.manifest", None),
)
"""What leaves version 4 to its manifest."""

OF_SNAPSHOTS = [
    # What an older manifest, or the changelogs, stand in for.
    Case("no data files", each(RUNS, None), starts=True, sound=True),
    Case("nothing", lambda _: None, starts=True, sound=True),
    Case("a cut manifest", each(MANIFEST, cut), starts=True, sound=True),
    Case("cut data files", each(RUNS, cut), starts=True, sound=True),
    Case("an empty manifest", each(MANIFEST, nothing), starts=True, sound=True),
    Case("no newest manifest", each(MANIFEST, None), starts=True, sound=True),
    Case("a manifest alone", ALONE, starts=True, sound=True),
    # It shows in the midst of a batch, which fails.
    Case("a byte of data files", each(RUNS, flipped), starts=False),
    Case("a manifest alone that is cut", together(ALONE, each(MANIFEST, cut)), False),
    Case("a manifest alone that is gone", together(ALONE, each(MANIFEST, None)), False),
    Case("a manifest alone with cut data files", together(ALONE, each(RUNS, cut)), False),
    Case("a manifest alone without data files", together(ALONE, each(RUNS, None)), False),
    Case("no changelog behind it", each("state/0/0/5*.changelog", None), False),
    Case("no changelog before it", each("state/0/0/3*.changelog", None), True),
]
"""Of versions 2 and 4 there are manifests, and changelogs of all."""


class Query:
    """A count by key over files, one for each batch."""

    def __init__(self, spark: SparkSession, folder: Path, given: Mapping[str, str]) -> None:
        self._spark = spark
        self._given = given
        self._rows = folder / "rows"
        self.checkpoint = folder / "checkpoint"
        self._files = 0

    def feed(self) -> None:
        first = self._files * 10
        rows = self._spark.range(first, first + 10).selectExpr("id % 7 as key")
        rows.coalesce(1).write.mode("append").parquet(str(self._rows))
        self._files += 1

    def runs(self, checkpoint: Path) -> bool:
        """Whether it starts there, and does what is left to do."""
        stream = self._spark.readStream.schema("key long").option("maxFilesPerTrigger", 1)
        counted = stream.parquet(str(self._rows)).groupBy("key").agg(F.count("*").alias("n"))
        writer = counted.writeStream.outputMode("update").format("noop")
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        with settings(self._spark, self._given):
            try:
                query = writer.start()
            except (PySparkException, Py4JError):
                return False
            try:
                return bool(query.awaitTermination(120))
            except PySparkException:
                return False
            finally:
                query.stop()


def stopped(spark: SparkSession, folder: Path, given: Mapping[str, str]) -> Query:
    """A query of these settings that has run, and has input left for a restart."""
    made = Query(spark, folder, given)
    for _ in range(BATCHES):
        made.feed()
    assert made.runs(made.checkpoint)
    made.feed()
    unload(spark)
    return made


@pytest.fixture(scope="module")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Query:
    return stopped(spark, tmp_path_factory.mktemp("verify"), {})


SNAPSHOTS = {
    "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions": "2",
    "spark.sql.streaming.stateStore.bucketed.snapshot.mode": "sync",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="module", params=cases(["2"], ["1"]))
def snapshots(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Query:
    """The same query with data files, by checkpoint format."""
    given = {**SNAPSHOTS, FORMAT: request.param}
    return stopped(spark, tmp_path_factory.mktemp("snapshots"), given)


@pytest.mark.parametrize("case", cases(OF_SNAPSHOTS[:1], OF_SNAPSHOTS), ids=lambda case: case.name)
def test_verify_says_what_spark_does_with_data_files(
    snapshots: Query, tmp_path: Path, case: Case
) -> None:
    held_to(snapshots, tmp_path, case)


@pytest.mark.parametrize("case", cases(CASES[::6], CASES), ids=lambda case: case.name)
def test_verify_says_what_spark_does(query: Query, tmp_path: Path, case: Case) -> None:
    held_to(query, tmp_path, case)


def held_to(query: Query, tmp_path: Path, case: Case) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(query.checkpoint, checkpoint)
    case.damage(checkpoint)
    told = verified(checkpoint)
    started = query.runs(checkpoint)
    assert started == case.starts
    # Nothing is sound that does not start, and what starts is not said to fail.
    assert told["starts"] == started
    assert told["sound"] == case.sound
    if started:
        assert told["versions"] == {case.version}
        # What is missing stays so, and what Spark writes anew is there.
        assert Checkpoint(checkpoint).verify().ok == case.sound


@at_night
@pytest.mark.parametrize(("cut", "counted"), [(None, 60), ("sources/0/4", 70)])
def test_files_of_an_entry_that_was_cut_off_are_read_once_more(
    query: Query, tmp_path: Path, cut: str | None, counted: int
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(query.checkpoint, checkpoint)
    if cut is not None:
        changed(cut, lines(1))(checkpoint)
    assert query.runs(checkpoint)
    values = Checkpoint(checkpoint).scan().to_arrow().column("value").to_pylist()
    assert sum(value["count"] for value in values) == counted


@at_night
def test_a_last_commit_that_lost_its_checkpoint_ids(spark: SparkSession, tmp_path: Path) -> None:
    made = Query(spark, tmp_path, {FORMAT: "2"})
    for _ in range(2):
        made.feed()
    assert made.runs(made.checkpoint)
    made.feed()
    assert verified(made.checkpoint)["starts"]
    changed("commits/1", lines(1))(made.checkpoint)
    assert verified(made.checkpoint) == {"starts": False, "sound": False, "versions": {2}}
    assert not made.runs(made.checkpoint)


def verified(checkpoint: Path) -> dict[str, Any]:
    """What is said: whether the query starts, from which versions, and whether all is sound."""
    try:
        report = Checkpoint(checkpoint).verify()
    except CheckpointError:
        # It is refused as what it is not, or cannot be.
        return {"starts": False, "sound": False}
    texts = [f.what for f in report.findings if f.severity == "error"]
    fails = any(FAILS in text for text in texts) or any(r.failure for r in report.restarts)
    return {
        "starts": not fails,
        "sound": report.ok,
        "versions": {r.version for r in report.restarts},
    }
