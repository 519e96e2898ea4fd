"""On real Spark: times are points in time, and whole numbers come as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import stateful
from bucketstate.stateful.run.chunks import ROWS_PER_BATCH
from bucketstate.stateful.run.frames import EXTENSION
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness, compare
from bucketstate.testing.rows import INSTANT
from tests.integration.streams import Streamed, start, write_batches
from tests.kit.cases import at_night, cases
from tests.kit.values.exact import (
    ROWS,
    SCHEMA,
    Answer,
    Ending,
    apart,
    ends_of_dicts,
    ends_of_frames,
    ends_of_records,
    in_chunks,
    in_windows,
    of_dicts,
    of_frames,
    of_records,
)
from tests.kit.values.instants import CHANGES, GAP, MINUTE, SHAPES, Event, Told, batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
ROOT = Path(__file__).resolve().parents[2]
OPERATORS = ["applyInPandasWithState", "transformWithState"]
operators = pytest.mark.parametrize("operator", cases(OPERATORS[1:], OPERATORS))
TURNS = [
    ("Europe/Berlin", 0, SHAPES[0]),
    ("America/New_York", 0, SHAPES[1]),
    ("Australia/Lord_Howe", 0, SHAPES[2]),
    ("Europe/Berlin", 1, SHAPES[2]),
]


@pytest.fixture
def zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    spark.conf.set(ZONE, request.param)
    yield request.param
    spark.conf.set(ZONE, "UTC")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("zone", "turn", "made", "operator"),
    cases(
        [(*turn, op) for turn, op in zip(TURNS, cycle(OPERATORS), strict=False)],
        [(*turn, op) for turn, op in product(TURNS, OPERATORS)],
    ),
    indirect=["zone"],
)
def test_a_change_of_the_clock_changes_nothing(
    spark: SparkSession, operator: Operator, zone: str, turn: int, made: Any
) -> None:
    change = CHANGES[zone][turn]
    answers = compare(
        spark,
        made(),
        batches(change),
        by="key",
        operator=operator,
        schema=Event,
        timeout="event",
        event_time="at",
        output=Told,
    )
    newest = change + 20 * MINUTE
    fired = [r["fired"] for rows in answers for r in rows if r["key"] == "a" and r["fired"]]
    assert fired == [newest + GAP, newest + GAP + MINUTE]


@pytest.mark.parametrize(
    ("operator", "extension"),
    cases(
        list(zip(OPERATORS, ["false", "true"], strict=True)),
        list(product(OPERATORS, ["false", "true"])),
    ),
)
def test_whole_numbers_beside_nulls_come_as_they_are(
    spark: SparkSession, operator: Operator, extension: str
) -> None:
    spark.conf.set(EXTENSION, extension)
    try:
        for fn in (of_dicts, of_records, of_frames):
            rows = [
                row for row in ROWS if fn is not of_frames or extension == "true" or row["exact"]
            ]
            defined = stateful.define(fn, output=Answer)
            found = compare(spark, defined, [rows], by="key", operator=operator, schema=SCHEMA)
            running = Harness(defined, by="key", operator=operator, schema=SCHEMA)
            running._query.extension = extension == "true"
            assert found == [running.run(rows)]
            assert [a["missing"] for a in found[0]] == [sum(r["id"] is None for r in rows)]
            assert [a["largest"] for a in found[0]] == [max(r["id"] or 0 for r in rows)]
    finally:
        spark.conf.unset(EXTENSION)


@operators
def test_keys_that_are_floats_are_apart_as_in_the_harness(
    spark: SparkSession, operator: Operator
) -> None:
    nan = float("nan")
    given: list[list[Any]] = [
        [0.0, 1.5, -0.0, nan],
        [-0.0, 1.5],
        [0.0, -0.0, None, nan, nan],
        [nan, -nan],
    ]
    found = compare(
        spark,
        stateful.define(apart, output="key string, n long, total long"),
        [[{"key": k} for k in batch] for batch in given],
        by="key",
        operator=operator,
        schema="key double",
    )
    assert sorted(r["key"] for r in found[1]) == ["-0.0", "1.5"]


def readings(_key: Any, _rows: pd.DataFrame, _state: Any) -> pd.DataFrame:
    """Times without a zone in hours that Berlin has twice and not at all."""
    at = pd.to_datetime(["2025-10-26 02:30", "2025-03-30 02:30", "2025-07-01 12:00"])
    return pd.DataFrame({"n": range(3), "at": at, "object": at.astype(object)})


@pytest.mark.parametrize("many_keys", [True, False])
@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.parametrize("operator", OPERATORS)
def test_times_without_a_zone_in_a_frame_are_as_in_the_harness(
    spark: SparkSession, operator: Operator, zone: str, many_keys: bool
) -> None:
    output = "n long, at timestamp, object timestamp"
    fn = stateful.define(readings, state="n long", output=output)
    given: dict[str, Any] = {"by": "key", "operator": operator, "schema": "key string"}
    (found,) = compare(spark, fn, [[{"key": "a"}]], many_keys=many_keys, **given)
    instants = [datetime(2025, 10, 26, 1, 30), datetime(2025, 3, 30, 1), datetime(2025, 7, 1, 10)]
    assert zone == "Europe/Berlin"
    assert [r["at"] for r in sorted(found, key=lambda r: r["n"])] == [
        at.replace(tzinfo=UTC) for at in instants
    ]


@operators
def test_a_group_is_cut_into_chunks_alike(spark: SparkSession, operator: Operator) -> None:
    before = spark.conf.get(ROWS_PER_BATCH)
    spark.conf.set(ROWS_PER_BATCH, "2")
    try:
        defined = stateful.define(in_chunks, output="key string, sizes array<int>")
        batch = [{"key": "a", "value": n} for n in range(7)]
        found = compare(spark, defined, [batch], by="key", operator=operator)
    finally:
        spark.conf.set(ROWS_PER_BATCH, str(before))
    assert found == [[{"key": "a", "sizes": [2, 2, 2, 1]}]]


@operators
@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_groups_by_windows_of_the_event_time(
    spark: SparkSession, operator: Operator, zone: str, tmp_path: Path
) -> None:
    """Of the two hours that the clock shows as the same one."""
    assert zone
    change = CHANGES["Europe/Berlin"][0]
    given = [[{"key": "a", "at": change + minute * MINUTE}] for minute in (-50, 20, 200, 400)]
    write_batches(tmp_path / "input", pa.schema([("key", pa.string()), ("at", INSTANT)]), given)
    source = spark.readStream.schema("key string, at timestamp").option("maxFilesPerTrigger", 1)
    rows = source.parquet(str(tmp_path / "input")).withWatermark("at", "0 seconds")
    applied = stateful.apply(
        rows,
        by=[F.window("at", "1 hour").alias("hour"), "key"],
        fn=in_windows,
        operator=operator,
        output_mode="update",
        timeout="event",
        output="start timestamp, n long, over boolean",
    )
    streamed = Streamed()
    query = start(applied, tmp_path / "checkpoint", streamed, "update")
    assert query.awaitTermination(150)
    over = [began.replace(tzinfo=UTC) for began, _, ended in streamed.rows() if ended]
    assert over == [change + minute * MINUTE for minute in (-60, 0, 180)]


@at_night
@pytest.mark.timeout(600)
@pytest.mark.parametrize("machine", cases(["America/New_York"], ["Europe/Berlin"]))
def test_a_key_with_times_is_the_same_whatever_zone_the_machine_has(machine: str) -> None:
    """The JVM has one for its lifetime, so this is a Spark of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.integration.keys_with_times"],
        cwd=ROOT,
        env={**os.environ, "TZ": machine},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.splitlines()[-1] == "all alike"


@operators
@at_night
def test_the_end_of_time_is_a_time(spark: SparkSession, operator: Operator) -> None:
    last = datetime(9999, 12, 31)
    for fn in (ends_of_dicts, ends_of_records, ends_of_frames):
        found = compare(
            spark,
            stateful.define(fn, output=Ending),
            [[{"key": "a", "at": last, "wall": last}, {"key": "a", "at": None, "wall": None}]],
            by="key",
            operator=operator,
            schema="key string, at timestamp, wall timestamp_ntz",
        )
        assert [row["texts"] for row in found[0]] == [
            ["9999-12-31 00:00:00+00:00", "9999-12-31 00:00:00"]
        ]
