"""`transformWithState` of PySpark, restarted and killed, against the same query on RocksDB."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.config import PROVIDER_KEY
from tests.integration.applications import APPS, environment
from tests.integration.following import BEST, FLAVOURS, needs_rows
from tests.integration.streams import (
    EVENTS,
    Event,
    Streamed,
    events,
    offset_log,
    run_with_restart,
    write_batches,
)
from tests.kit.cases import at_night, cases
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Said = dict[int, list[tuple[Any, ...]]]
    Answered = Callable[..., Said]

STATE_STORE = "spark.sql.streaming.stateStore."
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
KILLS = int(os.environ.get("BUCKETSTATE_KILLS", "2"))


def said(streamed: Streamed) -> Said:
    return {batch: sorted(rows) for batch, rows in streamed.batches.items()}


def answers(
    spark: SparkSession,
    folder: Path,
    flavour: str,
    batches: list[list[Event]] | None = None,
    **options: Any,
) -> Streamed:
    query = partial(FLAVOURS[flavour], **options)
    # By processing time there is always one more batch, to see what has expired.
    with settings(spark, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}):
        return run_with_restart(spark, folder, query, batches or events(), mode="update")


@pytest.fixture(scope="module")
def on_rocksdb(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """What Spark's own provider makes the query say, by event time or not.

    Takes how many files are read after each batch, too, if that is not one more each time.
    """

    @cache
    def answered(by_event_time: bool, read: tuple[int, ...]) -> Said:
        files = events()
        batches = [
            [event for file in files[since:until] for event in file]
            for since, until in pairwise((0, *read))
        ]
        folder = tmp_path_factory.mktemp("rocksdb")
        with settings(spark, {PROVIDER_KEY: ROCKSDB}):
            streamed = answers(spark, folder, BEST, batches, by_event_time=by_event_time)
        ended = {row[-1] for row in streamed.rows()}
        assert ended == ({False, True} if by_event_time else {False})
        assert all("rocksdbGetCount" in o["customMetrics"] for o in operators(streamed))
        return said(streamed)

    each_file = tuple(range(1, len(events()) + 1))
    return lambda by_event_time, read=each_file: answered(by_event_time, read)


def operators(streamed: Streamed) -> list[dict[str, Any]]:
    return [o for p in streamed.progress for o in p["stateOperators"]]


@pytest.mark.parametrize(
    ("flavour", "by_event_time", "configured"),
    cases(
        [
            ("pandas", True, {}),
            pytest.param("rows", True, {"encodingFormat": "avro"}, marks=needs_rows),
        ],
        [
            pytest.param("rows", False, {"checkpointFormatVersion": "2"}, marks=needs_rows),
            ("pandas", False, {"checkpointFormatVersion": "2"}),
            pytest.param("rows", True, {"checkpointFormatVersion": "2"}, marks=needs_rows),
            pytest.param("rows", False, {}, marks=needs_rows),
            pytest.param("rows", True, {"rowChecksum.enabled": "true"}, marks=needs_rows),
        ],
    ),
)
def test_the_same_answers_over_a_restart(
    spark: SparkSession,
    tmp_path: Path,
    on_rocksdb: Answered,
    flavour: str,
    by_event_time: bool,
    configured: dict[str, str],
) -> None:
    with settings(spark, {STATE_STORE + key: value for key, value in configured.items()}):
        streamed = answers(spark, tmp_path, flavour, by_event_time=by_event_time)
    assert said(streamed) == on_rocksdb(by_event_time)
    streamed.assert_on_bucketstate()
    assert max(o["numRowsTotal"] for o in operators(streamed)) > 0


@at_night
@pytest.mark.timeout(400)
def test_a_driver_that_is_killed_again_and_again(tmp_path: Path, on_rocksdb: Answered) -> None:
    """The process of driver and executor dies in the middle of whatever it does.

    A batch is said again after a kill, by the same rows: what counts is the last time.
    """
    batches = events()
    chance = random.Random(KILLS)
    write_batches(tmp_path / "input", EVENTS, batches)
    command = [sys.executable, str(APPS / "following_files.py"), str(tmp_path)]
    output = tmp_path / "said"
    output.mkdir()
    log = tmp_path / "log"
    for kill in range(KILLS + 1):
        at_least = len(list(output.iterdir()))
        with log.open("ab") as out:
            process = subprocess.Popen(command, env=environment(), stdout=out, stderr=out)
        if kill == KILLS:
            assert process.wait(150) == 0, log.read_text(errors="replace")
            break
        # Once there is one batch more, or the first, anything may be under way.
        deadline = time.monotonic() + 120
        while len(list(output.iterdir())) <= at_least and process.poll() is None:
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    told = {int(f.stem): json.loads(f.read_text()) for f in output.glob("*.json")}
    read = tuple(files for _, files in offset_log(tmp_path))
    assert read[-1] == len(batches)
    assert {n: sorted(map(tuple, rows)) for n, rows in told.items()} == on_rocksdb(True, read)
