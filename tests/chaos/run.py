"""Faults, one after the other, while queries run and a model says what they have to answer."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bucketstate.checkpoint import Checkpoint
from tests.chaos import events
from tests.chaos.application import FAILED, INPUT, STOP, checkpoints
from tests.chaos.checking import Checker, WrongAnswerError, is_damage, outlined, reports
from tests.chaos.cluster import HOSTS, Cluster
from tests.chaos.faults import Fault
from tests.chaos.queries import QUERIES
from tests.chaos.variants import ALWAYS, Variant
from tests.integration.applications import environment

if TYPE_CHECKING:
    from collections.abc import Callable

AT_A_TIME = 2
"""Queries of a round, of all that there are: so many run beside each other."""
AHEAD = 3
"""Files that the slowest query finds waiting."""
PATIENCE = 300
"""Seconds without any answer after which the queries are taken to be stuck."""
TRIES = 5
"""How often a move is begun: it is killed, or finds a zombie at work on what it reads."""
GIVING_UP = 3
"""Wrong answers after which there are no more rounds."""


@dataclass
class Tally:
    """What a run came to."""

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    drivers: Counter[str] = field(default_factory=Counter)
    """Lives of drivers, by variant."""
    batches: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    """Queries that were started again, by what ended them."""
    recoveries: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds from a fault to the next batch of as many queries as were waited for."""
    moves: Counter[str] = field(default_factory=Counter)
    """Tries to move a checkpoint, by their end."""
    verified: int = 0
    """Checkpoints that were verified from the outside."""
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def kills(self) -> int:
        return self.faults.total()

    def to_dict(self) -> dict[str, Any]:
        medians = {kind: round(median(of), 1) for kind, of in self.recoveries.items()}
        return {**vars(self), "kills": self.kills, "recoveries": medians}

    def text(self) -> str:
        def listed(counts: Counter[str]) -> str:
            return ", ".join(f"{name} {n}" for name, n in counts.most_common()) or "none"

        again = self.answers.total() - self.batches.total()
        lines = [
            f"seed {self.seed}, {self.seconds:.0f} s",
            f"kills: {self.kills} ({listed(self.faults)})",
            f"restarts: {self.drivers.total()} drivers, {self.failed.total()} queries",
            f"batches: {self.batches.total()} ({listed(self.batches)}), answered again: {again}",
            f"moves: {listed(self.moves)}",
            f"checkpoints verified: {self.verified}",
            *(f"a query failed, {n} times: {why}" for why, n in self.failed.most_common()),
            *self.wrong,
            f"wrong: {len(self.wrong)}",
        ]
        return "\n".join(lines)


class Round:
    """One set of queries from their first batch on, with as many faults as asked for.

    Args:
        folder: for input, checkpoints and answers; removed when all was right.
        say: told of each fault.
        goes_on: whether there are to be more faults.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        chance: random.Random,
        tally: Tally,
        say: Callable[[str], None],
        goes_on: Callable[[], bool],
    ) -> None:
        self._cluster = cluster
        self._goes_on = goes_on
        self._root = folder
        self._chance = chance
        self._tally = tally
        self._say = say
        self._seed = chance.randrange(2**32)
        self._format = chance.choice((1, 2))
        self._variant = Variant.drawn(chance, self._format)
        self._queries = chance.sample(list(QUERIES), AT_A_TIME)
        self._buckets = 16
        self._written = 0
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._driver: subprocess.Popen[bytes] | None = None
        for name in (FAILED, *(f"{INPUT}/{side}" for side in events.SIDES)):
            (folder / name).mkdir(parents=True)
        self._checkers = {name: Checker(folder, name, self._seed) for name in self._queries}

    def run(self, kills: int) -> None:
        """Raises WrongAnswerError."""
        try:
            self._feed()
            self._start_driver()
            self._await_batches(AT_A_TIME)
            for _ in range(kills):
                if self._goes_on():
                    self._fault()
            self._finish()
        finally:
            self._end_driver()
            for _, action in self._later:
                action()
            for name, checker in self._checkers.items():
                self._tally.batches[name] += checker.batches
                self._tally.answers[name] += checker.answers
        self._verify()
        shutil.rmtree(self._root)

    def kill(self) -> None:
        """The driver dies, and is started as another variant."""
        self._end_driver()
        self._start_another()

    def _start_another(self) -> None:
        self._variant = Variant.drawn(self._chance, self._format)
        self._start_driver()

    def move(self) -> None:
        """The driver dies, and another variant of it starts on what was moved meanwhile."""
        self._await("no commit", self._have_committed)
        self._end_driver()
        # By the offsets of the checkpoint that it was answered from.
        for checker in self._checkers.values():
            checker.check()
        self._buckets = self._chance.choice((8, 16, 32))
        for name in self._queries:
            partitions = self._chance.choice((1, 2, 3, 5))
            dies_after = self._chance.uniform(3, 30)
            self._move(name, partitions, dies_after if self._chance.random() < 0.5 else math.inf)
        self._start_another()

    def _move(self, name: str, partitions: int, dies_after: float) -> None:
        source = checkpoints(self._root, name)[-1]
        target = source.with_name(str(int(source.name) + 1))
        words = ["rewrite", str(source), str(target), "--master", self._cluster.master]
        words += ["--partitions", str(partitions), "--buckets", str(self._buckets)]
        for key, value in (ALWAYS | {"spark.speculation": "true"}).items():
            words += ["--conf", f"{key}={value}"]
        for _ in range(TRIES):
            process = self._started([sys.executable, "-m", "bucketstate", "move", *words])
            began = time.monotonic()
            try:
                while process.poll() is None and time.monotonic() - began < dies_after:
                    self._wait(0.2)
            finally:
                if _killed(process):
                    dies_after = math.inf
            ends = {0: "moved", -signal.SIGKILL: "killed"}
            self._tally.moves[ends.get(process.returncode, "refused")] += 1
            if process.returncode == 0:
                return
        raise WrongAnswerError(f"{name} could not be moved, {self._log}")

    def _fault(self) -> None:
        # Mostly when a query or two have just come through, now and then while they have not.
        through = self._chance.choices((0, 1, AT_A_TIME), (20, 50, 30))[0]
        fault = Fault.drawn(self._chance)
        self._wait(self._chance.uniform(0, 1.5))
        began = time.monotonic()
        while not fault.happens(self._cluster, self, self._do_later):
            self._wait(0.2)
        self._tally.faults[fault.kind] += 1
        batches = ", ".join(f"{name} {of.batches}" for name, of in self._checkers.items())
        self._say(f"{fault.kind} of {fault.host}; batches: {batches}; {self._variant}")
        self._await_batches(through)
        if through:
            self._tally.recoveries[fault.kind].append(time.monotonic() - began)

    def _await_batches(self, queries: int) -> None:
        """Until so many queries have come one batch further."""
        before = {name: checker.batches for name, checker in self._checkers.items()}

        def have_come() -> bool:
            further = (self._checkers[name].batches > n for name, n in before.items())
            return sum(further) >= queries

        self._await("no answer", have_come)

    def _have_committed(self) -> bool:
        """Whether each query has a batch that a move may take."""
        newest = (checkpoints(self._root, name)[-1] for name in self._queries)
        return all(any(checkpoint.glob("commits/[0-9]*")) for checkpoint in newest)

    def _await(self, otherwise: str, holds: Callable[[], bool], *, feed: bool = True) -> None:
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > PATIENCE:
                raise WrongAnswerError(f"stuck: {otherwise} in {PATIENCE} s, {self._root}")
            self._wait(0.1, feed=feed)

    def _finish(self) -> None:
        """Until all that was written is read, with nothing going wrong any more."""
        self._written += 1
        self._write(self._written - 1)

        def all_is_read() -> bool:
            ends = (end for of in self._checkers.values() for end in of.reached or [-1])
            return min(ends) >= self._written - 1

        self._await("not all was read", all_is_read, feed=False)
        (self._root / STOP).touch()
        assert self._driver is not None
        if self._driver.wait(PATIENCE) != 0:
            raise WrongAnswerError(f"the driver ended with an error, {self._log}")

    def _wait(self, seconds: float, *, feed: bool = True) -> None:
        """Goes on with all that goes on, for so long."""
        until = time.monotonic() + seconds
        while True:
            for checker in self._checkers.values():
                checker.check()
            self._look_at_failures()
            for due in [one for one in self._later if one[0] <= time.monotonic()]:
                self._later.remove(due)
                due[1]()
            if feed:
                self._feed()
            if time.monotonic() >= until:
                return
            time.sleep(0.05)

    def _look_at_failures(self) -> None:
        for report in reports(self._root / FAILED):
            self._tally.failed[f"{report['query']}: {outlined(report['error'])}"] += 1
            if is_damage(report["error"]):
                raise WrongAnswerError(f"{report['query']}: {report['error']}\n{self._root}")
        if self._driver is not None and self._driver.poll() is not None:
            raise WrongAnswerError(f"the driver ended by itself, {self._log}")

    def _feed(self) -> None:
        slowest = min(min(of.reached or [-1]) for of in self._checkers.values())
        while self._written <= slowest + AHEAD:
            self._write(self._written)
            self._written += 1

    def _write(self, number: int) -> None:
        for side in events.SIDES:
            events.write(self._root / INPUT, self._seed, side, number)

    def _do_later(self, seconds: float, action: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + seconds, action))

    @property
    def _log(self) -> Path:
        return self._root.with_suffix(".driver.log")

    def _start_driver(self) -> None:
        self._tally.drivers[str(self._variant)] += 1
        settings = json.dumps(ALWAYS | self._path() | self._variant.settings(self._buckets))
        command = [sys.executable, "-m", "tests.chaos.application", str(self._root)]
        command += [self._cluster.master, settings, *self._queries]
        self._driver = self._started(command)

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as out:
            return subprocess.Popen(
                command,
                env=environment() | {"SPARK_LOCAL_IP": "127.0.0.1"} | self._python_path(),
                stdout=out,
                stderr=subprocess.STDOUT,
                # A group of its own: Python and its JVM die together.
                start_new_session=True,
            )

    @staticmethod
    def _python_path() -> dict[str, str]:
        return {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def _path(self) -> dict[str, str]:
        return {f"spark.executorEnv.{key}": value for key, value in self._python_path().items()}

    def _end_driver(self) -> None:
        if self._driver is not None:
            _killed(self._driver)
        self._driver = None

    def _verify(self) -> None:
        """From the outside, by the files: no query has the state, and all of it is right."""
        for name in self._queries:
            for checkpoint in checkpoints(self._root, name):
                report = Checkpoint(checkpoint).verify()
                if not report.ok:
                    raise WrongAnswerError(f"{name}: {report.to_dict()}")
                self._tally.verified += 1


def _killed(process: subprocess.Popen[bytes]) -> bool:
    """Ends a process and all of its group, if it has not ended by itself."""
    runs = process.poll() is None
    if runs:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    return runs


def chaos(
    folder: Path,
    kills: int,
    seed: int,
    say: Callable[[str], None],
    *,
    per_round: int = 20,
    goes_on: Callable[[], bool] = lambda: True,
) -> Tally:
    """Lets so many faults happen; what was wrong is in the result.

    Args:
        folder: an empty one. What is left in it belongs to what was wrong.
        say: told of each fault as it happens.
        per_round: faults until other queries begin, from nothing.
        goes_on: asked before each fault; when it says no, there are no more.
    """
    tally = Tally(seed)
    chance = random.Random(seed)
    began = time.monotonic()

    def told(text: str) -> None:
        say(f"[{tally.kills:3}/{kills}] {time.monotonic() - began:5.0f} s  {text}")

    with Cluster(folder) as cluster:
        number = 0
        while tally.kills < kills and len(tally.wrong) < GIVING_UP and goes_on():
            number += 1
            root = folder / f"round-{number}"
            try:
                of_it = min(per_round, kills - tally.kills)
                Round(cluster, root, chance, tally, told, goes_on).run(of_it)
            except WrongAnswerError as error:
                tally.wrong.append(str(error))
                say(f"WRONG: {error}")
            shutil.rmtree(folder / "work", ignore_errors=True)
            for host in HOSTS:
                (folder / "work" / host).mkdir(parents=True)
    tally.seconds = time.monotonic() - began
    return tally
