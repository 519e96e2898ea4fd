"""What happens to processes: kinds of faults, drawn by seed."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tests.chaos.cluster import HOSTS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.chaos.cluster import Cluster

    Later = Callable[[float, Callable[[], None]], None]
    """Does something so many seconds from now."""


class Driver(Protocol):
    def kill(self) -> None:
        """Ends its processes by SIGKILL, and starts it again from the same checkpoints."""

    def move(self) -> None:
        """Ends its processes by SIGKILL, moves the checkpoints, and starts it from those."""


KINDS = {
    "executor": 45,
    "worker": 16,
    "machine": 12,
    "driver": 9,
    "move": 3,
    "zombie executor": 10,
    "zombie machine": 5,
}
"""Of a hundred faults. A worker's executors end when they find that it is gone; a machine loses
both at once. A move is one to other partitions and buckets, and is killed itself at times. A zombie
is stopped, and goes on some seconds later, with whatever it was at."""


@dataclass(frozen=True)
class Fault:
    kind: str
    host: str
    choice: float
    """Which of the executors, as a share of them."""
    seconds: float
    """Until the worker is started again, or the zombie wakes up."""

    @classmethod
    def drawn(cls, chance: random.Random) -> Fault:
        kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
        # Up to beyond `spark.network.timeout`: some wake up when all others have given them up.
        seconds = chance.uniform(0.5, 18) if "zombie" in kind else chance.uniform(0, 2)
        return cls(kind, chance.choice(HOSTS), chance.random(), seconds)

    def happens(self, cluster: Cluster, driver: Driver, later: Later) -> bool:
        """Whether there was a process for it to happen to."""
        if self.kind == "driver":
            driver.kill()
            return True
        if self.kind == "move":
            driver.move()
            return True
        executors = cluster.executors(self.host)
        if self.kind.endswith("executor") and not executors:
            executors = cluster.executors()  # allocation is dynamic: all may be elsewhere
        worker = cluster.worker(self.host)
        if self.kind == "worker":
            hit = [worker]
        elif "machine" in self.kind:
            hit = [worker, *executors]
        elif executors:
            hit = [executors[int(self.choice * len(executors))]]
        else:
            return False
        if "zombie" in self.kind:
            stopped = [process for process in hit if process.send(signal.SIGSTOP)]
            for process in stopped:
                later(self.seconds, lambda process=process: process.send(signal.SIGCONT))  # type: ignore[misc]
            return bool(stopped)
        killed = [process for process in hit if process.send(signal.SIGKILL)]
        if worker in killed:
            later(self.seconds, lambda: cluster.start_worker(self.host))
        return bool(killed)
