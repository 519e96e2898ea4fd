"""The state stores that run side by side, each with as much memory as the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bucketstate_nexmark.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bucketstate_nexmark.queries.form import Form

_STORE = "spark.sql.streaming.stateStore."
_SPARKS = "org.apache.spark.sql.execution.streaming.state."
_OURS = "io.bucketstate.BucketedStateStoreProvider"

HEAP_SHARE = 2 / 3
"""The heap's share of the memory, where a state store keeps its state outside of it."""
_LEAST_OVERHEAD_MIB, _OVERHEAD_SHARE = 384, 0.1
"""What Spark by itself adds to an executor's heap for all that the JVM takes besides."""


def is_local(master: str) -> bool:
    """Whether driver and executor are one process, whose memory and time are those of the run."""
    return master == "local" or master.startswith("local[")


@dataclass(frozen=True)
class Contender:
    """A state store, and how it is set."""

    name: str
    what: str
    settings: Mapping[str, str]
    """Behind `spark.sql.streaming.stateStore.`."""
    native: bool = False
    """Whether its state is outside of the heap, so that the heap is smaller."""
    native_limits: tuple[str, ...] = field(default=())
    """Settings that hold it to what the heap leaves of the memory, in MiB or with `m`."""
    families: bool = True
    """Whether it can keep a state in parts, as `transformWithState` asks."""
    extended: bool = False
    """Whether the session extension is a part of it, with any form."""

    def heap_mib(self, memory_mib: int) -> int:
        return round(memory_mib * HEAP_SHARE) if self.native else memory_mib

    def to_spark(self, memory_mib: int, master: str = "local") -> dict[str, str]:
        """The settings of a session whose state is in processes with so much memory each."""
        made = {f"{_STORE}{key}": value for key, value in self.settings.items()}
        heap = self.heap_mib(memory_mib)
        left = memory_mib - heap
        for key in self.native_limits:
            made[f"{_STORE}{key}"] = str(left) if key.endswith("MB") else f"{left}m"
        if is_local(master):
            return made | {"spark.driver.memory": f"{heap}m"}
        overhead = max(_LEAST_OVERHEAD_MIB, round(memory_mib * _OVERHEAD_SHARE))
        return made | {
            "spark.driver.memory": f"{memory_mib}m",
            "spark.executor.memory": f"{heap}m",
            "spark.executor.memoryOverhead": f"{left + overhead}m",
        }

    def takes(self, form: Form) -> bool:
        """Whether this store can run a form."""
        return self.families or not form.needs_families


CONTENDERS: Mapping[str, Contender] = {
    contender.name: contender
    for contender in (
        Contender(
            "hdfs",
            "`HDFSBackedStateStoreProvider`, Spark's default",
            {"providerClass": f"{_SPARKS}HDFSBackedStateStoreProvider"},
            families=False,
        ),
        Contender(
            "rocksdb",
            "`RocksDBStateStoreProvider` as it comes",
            {"providerClass": f"{_SPARKS}RocksDBStateStoreProvider"},
            native=True,
        ),
        Contender(
            "rocksdb-tuned",
            "`RocksDBStateStoreProvider` as Spark's guide advises: changelog checkpointing, "
            "bounded memory, no counting of rows",
            {
                "providerClass": f"{_SPARKS}RocksDBStateStoreProvider",
                "rocksdb.changelogCheckpointing.enabled": "true",
                "rocksdb.boundedMemoryUsage": "true",
                "rocksdb.trackTotalNumberOfRows": "false",
            },
            native=True,
            native_limits=("rocksdb.maxMemoryUsageMB",),
        ),
        Contender(
            "bucketed",
            "bucketstate as it comes: state on the heap",
            {"providerClass": _OURS},
            extended=True,
        ),
        Contender(
            "bucketed-rocksdb",
            "bucketstate with `engine=rocksdb`",
            {"providerClass": _OURS, "bucketed.engine": "rocksdb"},
            native=True,
            native_limits=("bucketed.memory.maxBytes",),
            extended=True,
        ),
    )
}
"""By name, in the order in which tables have them."""


def chosen(names: str) -> list[Contender]:
    """Those of a list with commas.

    Raises UsageError if one is unknown, or none is named.
    """
    found = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in found if name not in CONTENDERS]
    if unknown or not found:
        raise UsageError(
            f"--contenders: there is no {', '.join(unknown) or 'contender in an empty list'}, only "
            f"{', '.join(CONTENDERS)}."
        )
    return [CONTENDERS[name] for name in dict.fromkeys(found)]
