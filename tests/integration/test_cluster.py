"""Executors of their own: one is lost, and a slow attempt is overtaken by a speculative one."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pyspark
import pytest

from tests.integration.applications import APPS, answer_of, environment
from tests.integration.apps.clustered import BATCHES, ROWS, SLOW_BATCH, SLOW_SECONDS
from tests.kit.engine import VARIABLE, Engine, engine

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTS = {str(digit): BATCHES * ROWS // 10 for digit in range(10)}


def clustered(
    folder: Path, master: str, event: str, engine: str, query: str = "aggregation"
) -> dict[str, Any]:
    command = [sys.executable, str(APPS / "clustered.py"), str(folder), master, event, query]
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", VARIABLE: engine}
    answer = answer_of(command, timeout=240, **variables)
    assert (answer["native"] > 0) == (engine == "rocksdb")
    return answer


@contextmanager
def daemon(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    """A master or worker of Spark's standalone cluster; gives its log."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(script), *arguments],
            env=environment() | {"SPARK_DAEMON_MEMORY": "256m"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield log
        finally:
            process.terminate()
            process.wait(30)


def await_line(log: Path, text: str) -> None:
    for _ in range(600):
        if text in log.read_text(errors="replace"):
            return
        time.sleep(0.1)
    pytest.fail(f"no '{text}' in a minute:\n{log.read_text(errors='replace')}")


@pytest.fixture
def two_hosts(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster of two workers that Spark takes for two machines.

    On one machine, as with `local-cluster`, it never starts a speculative attempt.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        leader = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        started = daemon(tmp_path, "master", f"{deploy}.master.Master", *leader)
        await_line(stack.enter_context(started), "I have been elected leader")
        for host in ("127.0.0.1", "127.0.0.2"):
            work = str(tmp_path / host)
            follower = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            worker = f"{deploy}.worker.Worker"
            started = daemon(tmp_path, host, worker, *follower, "--work-dir", work, master)
            await_line(stack.enter_context(started), "Successfully registered with master")
        yield master


@pytest.mark.parametrize("query", ["aggregation", "transformWithState"])
@pytest.mark.parametrize("engine", get_args(Engine))
def test_executor_loss(tmp_path: Path, engine: str, query: str) -> None:
    answer = clustered(tmp_path, "local-cluster[2,1,1024]", "killed", engine, query)
    assert answer["counts"] == COUNTS
    assert answer["killed"] == 1
    assert answer["loads"] > 2, "the lost executor's store is loaded by another"


def test_a_speculative_attempt_overtakes(tmp_path: Path, two_hosts: str) -> None:
    answer = clustered(tmp_path, two_hosts, "slow", engine())
    assert answer["counts"] == COUNTS
    assert answer["attempts"][str(SLOW_BATCH)] == 1
    assert answer["slowest"] < SLOW_SECONDS * 1000, "the slow attempt was waited for"
