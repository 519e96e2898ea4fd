"""Executors of their own: one is lost, and a slow attempt is overtaken by a speculative one."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chaos.cluster import Cluster
from tests.integration.applications import APPS, answer_of
from tests.integration.apps.clustered import BATCHES, ROWS, SLOW_BATCH, SLOW_SECONDS
from tests.integration.apps.moved import KEYS
from tests.integration.following import needs_rows
from tests.kit.cases import at_night, cases
from tests.kit.engine import VARIABLE, engine

if TYPE_CHECKING:
    from collections.abc import Iterator

_COUNT = re.compile(r"bucketstate_(?!partition_)\w+_(total|count|sum|bucket)\{")

COUNTS = {str(digit): BATCHES * ROWS // 10 for digit in range(10)}


def clustered(
    folder: Path, master: str, event: str, engine: str, query: str = "aggregation"
) -> dict[str, Any]:
    command = [sys.executable, str(APPS / "clustered.py"), str(folder), master, event, query]
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", VARIABLE: engine}
    answer = answer_of(command, timeout=240, **variables)
    assert (answer["native"] > 0) == (engine == "rocksdb")
    return answer


@pytest.fixture
def two_hosts(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster of two workers that Spark takes for two machines.

    On one machine, as with `local-cluster`, it never starts a speculative attempt.
    """
    with Cluster(tmp_path, cores=1, memory="1g") as cluster:
        yield cluster.master


@pytest.mark.parametrize(
    ("engine", "query", "event"),
    cases(
        [pytest.param("heap", "transformWithState", "killed", marks=needs_rows)],
        [("rocksdb", "aggregation", "seen")],
    ),
)
def test_executor_loss(tmp_path: Path, engine: str, query: str, event: str) -> None:
    answer = clustered(tmp_path, "local-cluster[2,1,1024]", event, engine, query)
    assert answer["counts"] == COUNTS
    assert answer["killed"] == 1
    assert answer["loads"] > 2, "the lost executor's store is loaded by another"
    if event == "seen":
        check_seen(answer)


def check_seen(answer: dict[str, Any]) -> None:
    """An operator sees who was lost, and no count falls."""
    before, after = answer["scrapes"]
    first, later = (set(names) for names in answer["executors"])
    assert len(first) == len(later) == 2
    assert first != later
    (lost,) = first - later
    counts = {name: n for name, n in before.items() if _COUNT.match(name)}
    assert any(counts.values())
    assert {name: n for name, n in counts.items() if after.get(name, -1) < n} == {}
    (page,) = answer["tab"]
    assert f"{lost} (lost)" in page
    assert not any(f"{name} (lost)" in page for name in later)


@at_night
def test_a_speculative_attempt_overtakes(tmp_path: Path, two_hosts: str) -> None:
    answer = clustered(tmp_path, two_hosts, "slow", engine(), "manyKeys")
    assert answer["counts"] == COUNTS
    assert answer["attempts"][str(SLOW_BATCH)] == 1
    assert answer["slowest"] < SLOW_SECONDS * 1000, "the slow attempt was waited for"


@pytest.mark.parametrize("door", cases(["configure"], ["enable"]))
def test_the_next_session_s_executors_get_the_jar_too(tmp_path: Path, door: str) -> None:
    app = [str(APPS / "enabled_again.py"), str(tmp_path), "local-cluster[1,1,1024]", door]
    answer = answer_of([sys.executable, *app], timeout=240, SPARK_LOCAL_IP="127.0.0.1")
    assert answer["counts"] == {str(digit): 10 for digit in range(10)}
    assert len(answer["metrics"]) >= 2


def moved(folder: Path, master: str, event: str) -> dict[str, Any]:
    command = [sys.executable, str(APPS / "moved.py"), str(folder), master, event]
    return answer_of(command, timeout=240, SPARK_LOCAL_IP="127.0.0.1")


def check_moved(answer: dict[str, Any]) -> None:
    assert answer["reports"] == [{"keys": KEYS, "published": True}] * 2
    assert answer["told"] == {"keys": KEYS, "sum": 3 * KEYS}


@at_night
def test_a_move_on_two_workers(tmp_path: Path, two_hosts: str) -> None:
    check_moved(moved(tmp_path, two_hosts, "nothing"))


@at_night
def test_a_move_that_loses_an_executor(tmp_path: Path) -> None:
    answer = moved(tmp_path, "local-cluster[2,1,1024]", "killed")
    assert answer["killed"] == 1
    check_moved(answer)
