"""The harness against Spark: the same random batches through both, compared batch by batch."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.testing import Harness
from tests.integration.scripted import OPERATIONS, SCHEMA, Memory, Report, Scripted, Step
from tests.integration.streams import START, Streamed, plain, start, write_batches
from tests.kit.cases import cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bucketstate.stateful.run.handle import Timeout

DELAY = timedelta(minutes=20)
STEPS = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),
        ("key", pa.string()),
        ("seq", pa.int64()),
        ("op", pa.string()),
        ("value", pa.int64()),
    ]
)


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Batches whose event time moves on unevenly, some rows late, some batches empty."""
    chance = draw(st.randoms(use_true_random=False))
    sizes = draw(st.lists(st.sampled_from([0, 3, 12, 20]), min_size=4, max_size=6))
    return [
        [
            {
                "at": START + timedelta(minutes=45 * number + chance.randrange(-90, 45)),
                "key": f"k{chance.randrange(6)}",
                "seq": seq,
                "op": chance.choice(OPERATIONS),
                "value": chance.randrange(120),
            }
            for seq in range(size)
        ]
        for number, size in enumerate(sizes)
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("timeout", cases(["event"], ["processing"]))
def test_the_harness_does_what_spark_does(
    spark: SparkSession, tmp_path: Path, timeout: Timeout
) -> None:
    compared = 0
    # By the clock there is always one more batch to run, and the query would never end.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", timeout == "event")
    spark.conf.set("spark.sql.shuffle.partitions", 1)

    @seed(20240301)
    @settings(
        max_examples=4,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(histories())
    def run(batches: list[list[dict[str, Any]]]) -> None:
        nonlocal compared
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        compared += compare(spark, folder, batches, timeout)

    try:
        run()
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
        spark.conf.set("spark.sql.shuffle.partitions", 2)
    assert compared > 10


def compare(
    spark: SparkSession, folder: Path, batches: list[list[dict[str, Any]]], timeout: Timeout
) -> int:
    """Runs both, and returns how many output rows they agreed on."""
    streamed = run_in_spark(spark, folder, batches, timeout)
    harness = Harness(
        Scripted(timeout == "event"),
        by="key",
        schema=Step,
        timeout=timeout,
        event_time="at",
        delay=DELAY,
    )
    agreed = 0
    for number, offsets in enumerate(offset_log(folder)):
        assert moment(offsets["batchWatermarkMs"]) == harness.watermark
        harness.clock = moment(offsets["batchTimestampMs"])
        expected = harness.run(batches[number] if number < len(batches) else ())
        assert sorted(map(repr, streamed[number])) == sorted(
            repr({name: plain(value) for name, value in row.items()}) for row in expected
        )
        agreed += len(expected)
    assert harness.watermark is not None
    assert final_states(spark, folder, harness.watermark) == {
        key[0]: (value.total, value.seen, [*value.recent.get()], dict(value.marks.iterator()))
        for key, value in harness.states().items()
    }
    return agreed


def run_in_spark(
    spark: SparkSession, folder: Path, batches: list[list[dict[str, Any]]], timeout: Timeout
) -> dict[int, list[dict[str, Any]]]:
    write_batches(folder / "input", STEPS, batches)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    steps = source.parquet(str(folder / "input")).withWatermark("at", f"{DELAY.seconds} seconds")
    reports = steps.transform(
        stateful.apply,
        by="key",
        fn=Scripted(timeout == "event"),
        output_mode="update",
        timeout=timeout,
    )
    streamed = Streamed()
    query = start(reports, folder / "checkpoint", streamed, "update")
    assert query.awaitTermination(150)
    names = stateful.output_schema(Report).names
    return {
        number: [dict(zip(names, row, strict=True)) for row in rows]
        for number, rows in streamed.batches.items()
    }


def offset_log(folder: Path) -> list[dict[str, Any]]:
    """What Spark decided for each batch before it ran: its clock and its watermark."""
    files = sorted((folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda f: int(f.name))
    return [json.loads(f.read_text().splitlines()[1]) for f in files]


def final_states(spark: SparkSession, folder: Path, watermark: datetime) -> dict[str, Any]:
    """What the checkpoint holds, without what has expired."""
    now = watermark.timestamp() * 1000
    rows: DataFrame = spark.read.format("statestore").load(str(folder / "checkpoint"))
    found = rows.selectExpr("key.key", "value.groupState.state").where("state is not null")
    made = {}
    for key, text in found.collect():
        document = json.loads(text)
        assert set(document) == set(Memory.__dataclass_fields__)
        made[key] = (
            document["total"],
            document["seen"],
            [i["value"] for i in document["recent"] if i.get("expires", now + 1) > now],
            {i["key"]: i["value"] for i in document["marks"] if i.get("expires", now + 1) > now},
        )
    return made


def moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
