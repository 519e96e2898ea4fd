"""What a state will take, before there is one: memory, bytes written, and the time of a restart.

The constants are measured ones; docs/measurements.md says of which figures each is made, under
"What sizes are estimated from".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from bucketstate.errors import InvalidSettingError

__all__ = [
    "CHANGELOG_SHARE",
    "ENTRY_BYTES",
    "FILE_BYTES",
    "LAG",
    "NATIVE_SHARE",
    "RESTART_SECONDS",
    "RESTART_SECONDS_PER_KEY",
    "RESTART_SECONDS_PER_UPDATE",
    "UNCOVERED_BYTES",
    "WRITTEN_SHARE",
    "Size",
    "Workload",
    "reckon",
]

ENTRY_BYTES = 12
"""Bytes that a key takes in memory besides those of its key and value."""

UNCOVERED_BYTES = 164
"""Bytes that an update takes which no snapshot has yet, besides those of the version before it."""

LAG = 2
"""How often the interval of snapshots the newest one may be behind."""

WRITTEN_SHARE = 1.79
"""Bytes written to the checkpoint for each byte that is updated: changelog, runs and merges."""

CHANGELOG_SHARE = 0.83
"""Bytes of changelogs alone for each byte that is updated."""

RESTART_SECONDS = 0.10
"""The first batch of an executor whose JVM has never run a store, with hardly any state, in
seconds."""

RESTART_SECONDS_PER_KEY = 0.49e-6
"""What each key of the state adds to that, in seconds."""

RESTART_SECONDS_PER_UPDATE = 0.43e-6
"""What each update in changelogs after the newest snapshot adds to that, in seconds."""

NATIVE_SHARE = 1.5
"""Memory of engine=rocksdb for each byte in use, so that look-ups stay out of the files."""

FILE_BYTES = 16 << 20
"""`run.maxFileBytes` by default, in bytes."""

_MOST = 1 << 63
# A batch of less is none, and what is reckoned by the second would be beyond all floats.
_LEAST_SECONDS = 0.001
_SNAPSHOT_BYTES = 64 << 20  # snapshot.maxBytes, by default
_BUCKETS = 64  # numBuckets, by default
_KEYS_PER_BUCKET = 20_000
_MOST_BUCKETS = 32_768
# What `memory.maxBytes=auto` leaves out of an executor's heap.
_RESERVED_BYTES = 300 << 20
_AUTO_SHARE = 0.75 * (1 - 0.6)  # by the default of spark.memory.fraction
_LEAST_AUTO_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A stateful operator and the cluster that it runs on. Immutable.

    Raises:
        InvalidSettingError: a value is no number of at least 1, or one above 2**63; seconds may be
            a thousandth.
    """

    keys: int
    """Keys in the state."""

    record_bytes: int
    """Bytes of a key and its value together."""

    updates: int
    """Keys that a batch changes, over all partitions."""

    batch_seconds: float = 10.0
    """From the start of a batch to that of the next, in seconds: at least 0.001."""

    partitions: int = 200
    """`spark.sql.shuffle.partitions`."""

    executors: int = 1
    """Executors that the partitions are spread over."""

    snapshot_versions: int = 10
    """Batches after which a snapshot is due: `snapshot.maxVersions`, or what Spark says."""

    bandwidth: int = 100 << 20
    """Bytes that an executor can write to the checkpoint in a second."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            least = _LEAST_SECONDS if field.name == "batch_seconds" else 1
            if not number or not least <= value <= _MOST:
                raise InvalidSettingError(
                    f"{field.name} is {value!r}: it must be a number of at least {least}, and at "
                    "most 2**63."
                )


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a `Workload` takes: bytes and seconds, of one executor where it does not say else.

    Immutable.
    """

    state_bytes: int
    """Bytes of keys and values, over all executors."""

    memory_bytes: int
    """Bytes in the heap, while snapshots are made beside the batches: what `memory.maxBytes` must
    allow for all of the state to stay there."""

    heap_bytes: int
    """`spark.executor.memory` with which `memory.maxBytes=auto` allows it, in bytes."""

    native_bytes: int
    """`memory.maxBytes` with engine=rocksdb, in bytes, nearly all of it outside the heap."""

    uncovered_updates: int
    """Updates that no snapshot has yet, at most, over all executors."""

    snapshot_seconds: float
    """From one snapshot to the next, in seconds."""

    written_per_second: float
    """Bytes to the checkpoint, in a second."""

    restart_seconds: float
    """The first batch of a new executor, on two cores, with the files at hand, in seconds."""

    files: int
    """Files that the state's newest snapshot consists of, over all executors."""

    rewritable_files: int
    """Files that all executors can write between two snapshots (HDHT's rule: T x bandwidth / file
    size)."""

    num_buckets: int
    """For `numBuckets`, which is fixed for the life of a checkpoint."""


def reckon(work: Workload) -> Size:
    """Estimates what it takes; measure what you then run.

    Safe from any thread: a function of its argument.
    """
    changed = work.updates * work.record_bytes
    snapshot = _versions_between_snapshots(work)
    uncovered = LAG * snapshot * work.updates
    settled = work.keys * (work.record_bytes + ENTRY_BYTES)
    older = uncovered * (work.record_bytes + UNCOVERED_BYTES)
    memory = math.ceil((settled + older) / work.executors)
    state = work.keys * work.record_bytes
    seconds = snapshot * work.batch_seconds
    return Size(
        state_bytes=state,
        memory_bytes=memory,
        heap_bytes=_heap(memory),
        native_bytes=math.ceil(NATIVE_SHARE * state / work.executors),
        uncovered_updates=uncovered,
        snapshot_seconds=seconds,
        written_per_second=changed * WRITTEN_SHARE / work.batch_seconds / work.executors,
        restart_seconds=RESTART_SECONDS
        + RESTART_SECONDS_PER_KEY * work.keys / work.executors
        + RESTART_SECONDS_PER_UPDATE * uncovered / work.executors,
        files=max(work.partitions, math.ceil(state * CHANGELOG_SHARE / FILE_BYTES)),
        rewritable_files=int(seconds * work.bandwidth * work.executors / FILE_BYTES),
        num_buckets=_buckets(work.keys / work.partitions),
    )


def _versions_between_snapshots(work: Workload) -> int:
    """`snapshot.maxBytes` of changelog in a partition make a snapshot due before its versions."""
    changelog = work.updates / work.partitions * work.record_bytes * CHANGELOG_SHARE
    return max(1, min(work.snapshot_versions, math.ceil(_SNAPSHOT_BYTES / changelog)))


def _heap(memory: int) -> int:
    """The heap of which `auto` is so much."""
    return math.ceil(min(memory / _AUTO_SHARE + _RESERVED_BYTES, memory / _LEAST_AUTO_SHARE))


def _buckets(keys_per_partition: float) -> int:
    """A power of two with which a bucket has some thousand keys."""
    wanted = max(_BUCKETS, keys_per_partition / _KEYS_PER_BUCKET)
    return min(_MOST_BUCKETS, 1 << math.ceil(math.log2(wanted)))
