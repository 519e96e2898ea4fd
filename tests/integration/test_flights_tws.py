"""The second demo's queries, on flights so sparse that rotations end in every way."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from flights import aircraft, airports
from flights.rotations import BY_GAP, BY_TIMEOUT
from tests.integration.streams import START, run_with_restart
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.streams import Event

SCHEMA = (
    "scheduled timestamp, tailnum string, carrier string, dest string, dep_delay int, arr_delay int"
)
ARROW = pa.schema(
    [
        ("scheduled", pa.timestamp("us", tz="UTC")),
        *((name, pa.string()) for name in ("tailnum", "carrier", "dest")),
        *((name, pa.int32()) for name in ("dep_delay", "arr_delay")),
    ]
)


def sparse_flights(batches: int = 6, rows: int = 40, seed: int = 5) -> list[list[Event]]:
    """Ordered flights over four days a batch; most aircraft come in two batches only."""
    chance = random.Random(seed)
    made = []
    for n in range(batches):
        hours = sorted(chance.sample(range(96), rows))
        made.append(
            [
                {
                    "scheduled": START + timedelta(hours=96 * n + hour),
                    "tailnum": chance.choice([f"N{n}", f"N{n + 1}", "N9", None]),
                    "carrier": chance.choice(["AA", "UA"]),
                    "dest": chance.choice(["IAH", "MIA", "ORD"]),
                    "dep_delay": chance.choice([None, -3, 0, 12, 90]),
                    "arr_delay": chance.choice([None, -15, 4, 80]),
                }
                for hour in hours
            ]
        )
    return made


def test_legs_as_a_list_closed_by_a_timer(spark: SparkSession, tmp_path: Path) -> None:
    streamed = run_with_restart(
        spark,
        tmp_path,
        aircraft.query,
        sparse_flights(),
        mode="update",
        spark_schema=SCHEMA,
        arrow_schema=ARROW,
    )
    year = spark.read.schema(SCHEMA).parquet(str(tmp_path / "input"))
    expected = sorted(tuple(row) for row in aircraft.batch(year).collect())
    assert sorted(row[:-1] for row in streamed.rows()) == expected
    assert {row[-1] for row in streamed.rows()} == {BY_GAP, BY_TIMEOUT}
    assert max(len(row[6].split()) for row in streamed.rows()) > 2
    streamed.assert_on_bucketstate()


def test_delays_as_a_map_with_a_time_to_live(spark: SparkSession, tmp_path: Path) -> None:
    # By processing time there is always one more batch, to see what has expired.
    with settings(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):
        streamed = run_with_restart(
            spark,
            tmp_path,
            airports.query,
            sparse_flights(),
            mode="update",
            spark_schema=SCHEMA,
            arrow_schema=ARROW,
        )
    latest = {row[:2]: row for row in streamed.rows()}
    year = spark.read.schema(SCHEMA).parquet(str(tmp_path / "input"))
    expected = sorted(tuple(row) for row in airports.batch(year).collect())
    assert sorted(latest.values()) == expected
    assert len(streamed.rows()) > len(expected)
    streamed.assert_on_bucketstate()
