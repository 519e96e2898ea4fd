"""A standalone cluster of Spark's own master and workers, each a process that may be killed."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyspark

from tests.chaos.processes import Process, working_below
from tests.integration.applications import environment

if TYPE_CHECKING:
    from types import TracebackType

HOSTS = ("127.0.0.2", "127.0.0.3")
"""Spark takes each for a machine of its own."""
CORES = 2
"""Of each worker, and as many executors of one core."""
EXECUTOR_CLASS = "CoarseGrainedExecutorBackend"


class Cluster:
    """A master and a worker on each of `HOSTS`; ends all of its processes with itself.

    `master` is the URL for applications, known inside of the block.

    Args:
        folder: for logs and the workers' folders, by which executors are known; no symbolic link.
        cores: of each worker.
        memory: of each worker, for its executors.
    """

    def __init__(self, folder: Path, cores: int = CORES, memory: str = "2g") -> None:
        self._folder = folder
        self._limits = ["--cores", str(cores), "--memory", memory]
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.master = ""

    def __enter__(self) -> Self:
        # It takes whichever port is free: one that was looked up before may be another's then.
        where = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self._start("master", "org.apache.spark.deploy.master.Master", *where)
        said = self._await("master", "I have been elected leader")
        (self.master,) = re.findall(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", said)
        for host in HOSTS:
            self.start_worker(host)
        for host in HOSTS:
            self._await(host, "Successfully registered with master")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait(30)
        # A worker that is gone does not end its executors; most do it themselves.
        for executor in self.executors():
            executor.send(signal.SIGKILL)

    def executors(self, host: str | None = None) -> list[Process]:
        """Those that run, of one machine or of all."""
        return working_below(self._folder / "work" / (host or ""), EXECUTOR_CLASS)

    def worker(self, host: str) -> Process:
        return Process(self._daemons[host].pid)

    def start_worker(self, host: str) -> None:
        """Starts one, or one in the place of the one that was there and ended."""
        if host in self._daemons:
            self._daemons[host].kill()
            self._daemons[host].wait(30)
        limits = [*self._limits, "--webui-port", "0"]
        work = ["--work-dir", str(self._folder / "work" / host)]
        worker = "org.apache.spark.deploy.worker.Worker"
        self._start(host, worker, "--host", host, *limits, *work, self.master)

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _start(self, name: str, *arguments: str) -> None:
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        given = {
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            # Else an application whose executors die ten times in a row is given up.
            "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
        }
        with self.log(name).open("ab") as out:
            self._daemons[name] = subprocess.Popen(
                [str(script), *arguments],
                env=environment() | given,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )

    def _await(self, name: str, text: str) -> str:
        """The log, once it has the text."""
        deadline = time.monotonic() + 120
        while text not in (said := self.log(name).read_text(errors="replace")):
            assert time.monotonic() < deadline, f"no '{text}' of {name} in two minutes:\n{said}"
            time.sleep(0.05)
        return said
