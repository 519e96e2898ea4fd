"""A query whose checkpoint's disk is full, or turns read-only, for real."""

from __future__ import annotations

import random
import string
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812

from tests.integration.streams import Streamed, start, write_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NOTES = pa.schema([("key", pa.int64()), ("note", pa.string())])
BATCHES, KEYS, LETTERS = 12, 40, 1500


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that is soon full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("nothing may be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def notes() -> list[list[dict[str, Any]]]:
    """Of each batch: about one of each key, of letters that cannot be compressed."""
    chance = random.Random(11)
    letters = string.ascii_letters + string.digits
    return [
        [
            {"key": chance.randrange(KEYS), "note": "".join(chance.choices(letters, k=LETTERS))}
            for _ in range(KEYS)
        ]
        for _ in range(BATCHES)
    ]


def run(spark: SparkSession, folder: Path, disk: Path, into: Streamed) -> None:
    source = spark.readStream.schema("key long, note string").option("maxFilesPerTrigger", 1)
    rows = source.parquet(str(folder / "input"))
    latest = rows.groupBy("key").agg(F.count("*").alias("n"), F.max("note").alias("last"))
    query = start(latest, disk / "checkpoint", into, "update")
    try:
        assert query.awaitTermination(150)
    finally:
        query.stop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("breaks", "mends", "words"),
    [(None, "size=64m", "No space left on device"), ("ro", "rw,size=64m", "Read-only file system")],
)
def test_the_query_says_so_and_goes_on_when_it_is_mended(
    spark: SparkSession, tmp_path: Path, disk: Path, breaks: str | None, mends: str, words: str
) -> None:
    batches = notes()
    streamed = Streamed()
    write_batches(tmp_path / "input", NOTES, batches[:3])
    run(spark, tmp_path, disk, streamed)
    write_batches(tmp_path / "input", NOTES, batches[3:])
    if breaks:
        remount(disk, breaks)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=words) as failure:
            run(spark, tmp_path, disk, streamed)
        assert str(disk) in str(failure.value)
    assert len(streamed.batches) < BATCHES

    remount(disk, mends)
    run(spark, tmp_path, disk, streamed)
    given: dict[int, list[str]] = defaultdict(list)
    for number, batch in enumerate(batches):
        for note in batch:
            given[note["key"]].append(note["note"])
        touched = sorted({note["key"] for note in batch})
        expected = [(key, len(given[key]), max(given[key])) for key in touched]
        assert sorted(streamed.batches[number]) == expected
