"""Rules over what a query reports: each looks at one operator, and gives an advice or nothing.

They are the lines of docs/tuning.md with numbers: each says from which part or number on.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from bucketstate.doctor.advice import Advice
from bucketstate.doctor.evidence import Evidence, rising

Rule = Callable[[Evidence], Advice | None]

_OURS = "spark.sql.streaming.stateStore.bucketed."
_STATE_MS = ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")

_MOST = 0.5
_MUCH = 0.2
_FULL = 0.7
_STALLED = 0.1
_LATE = 0.01
_FAR_BEHIND = 25
_GROWN = 1.5
_BATCHES_OF_GROWTH = 20


def outside(e: Evidence) -> Advice | None:
    """Most of a batch is neither reading, computing nor writing rows."""
    batch, added = e.phase("triggerExecution"), e.phase("addBatch")
    if e.operator > 0 or batch == 0 or batch - added < _MOST * batch:
        return None
    return _advice(
        e,
        "Most of a batch's time is outside of its rows: no setting of the state store helps.",
        {"triggerExecution ms": batch, "addBatch ms": added},
        "Look at the other phases (Recorder.plot()): planning, offsets, the logs of Spark.",
    )


def writing(e: Evidence) -> Advice | None:
    commit, written = e.total("commitTimeMs"), e.total("bucketedWriteTimeMs")
    if not _commits_long(e) or written < _MOST * commit:
        return None
    return _advice(
        e,
        "Commits take much of the state's time, and most of it writes and publishes files.",
        {
            "commitTimeMs": commit,
            "bucketedWriteTimeMs": written,
            "numShufflePartitions": e.last("numShufflePartitions"),
        },
        "Each partition writes a file per batch: use fewer partitions: bucketstate move rewrite.",
        "spark.sql.shuffle.partitions",
    )


def encoding(e: Evidence) -> Advice | None:
    commit, encoded = e.total("commitTimeMs"), e.total("bucketedEncodeTimeMs")
    if not _commits_long(e) or encoded < _MOST * commit:
        return None
    return _advice(
        e,
        "Commits take much of the state's time, and most of it encodes and compresses.",
        {"commitTimeMs": commit, "bucketedEncodeTimeMs": encoded},
        "Take the codec lz4 instead of zstd.",
        "spark.sql.streaming.stateStore.compression.codec",
    )


def failing(e: Evidence) -> Advice | None:
    """Something beside the batches fails."""
    names = ("bucketedSnapshotFailures", "bucketedWarmUpFailures")
    figures = {name: e.total(name) for name in names}
    # That one counts from the start of the store.
    figures["bucketedRetentionFailures"] = max(e.each("bucketedRetentionFailures"))
    failed = {name: number for name, number in figures.items() if number}
    if not failed:
        return None
    return _advice(
        e,
        "Work beside the batches fails.",
        failed,
        "The executors' logs say why: most often rights, a full disk, or a store that cannot be "
        "reached.",
    )


def damaged(e: Evidence) -> Advice | None:
    repairs = e.total("bucketedRepairs")
    if not repairs:
        return None
    return _advice(
        e,
        "Damaged snapshots were passed over for older ones.",
        {"bucketedRepairs": repairs},
        "Run `bucketstate verify` on the checkpoint: it names the files.",
    )


def behind(e: Evidence) -> Advice | None:
    """Snapshots lag more and more, which a restart pays for."""
    stores = [max(1.0, n) for n in e.each("numStateStoreInstances")]
    lags = [lag / n for lag, n in zip(e.each("bucketedSnapshotLag"), stores, strict=True)]
    quarter = max(1, len(lags) // 4)
    first, last = mean(lags[:quarter]), mean(lags[-quarter:])
    if last < _FAR_BEHIND or last < _GROWN * first:
        return None
    return _advice(
        e,
        "The newest snapshots are further and further behind: a restart replays all since then.",
        {
            "bucketedSnapshotLag a store, first": first,
            "bucketedSnapshotLag a store, last": last,
            "bucketedSnapshotFailures": e.total("bucketedSnapshotFailures"),
        },
        "Without failures the processors have no time for them: fewer, larger batches or more "
        "cores.",
    )


def moving(e: Evidence) -> Advice | None:
    loads = e.each("bucketedTableReloads")
    batches = sum(1 for n in loads if n)
    if batches < _MOST * len(loads):
        return None
    return _advice(
        e,
        "State is loaded from the checkpoint in most batches: its partitions move.",
        {"batches": len(loads), "with bucketedTableReloads": batches},
        "Let tasks wait for the executor that has their state, and look for executors that are "
        "lost or given back.",
        "spark.locality.wait",
    )


def cold(e: Evidence) -> Advice | None:
    reads, changed = e.total("bucketedColdReads"), e.total("bucketedChangedKeys")
    if not changed or reads < _MUCH * changed or not _full(e):
        return None
    return _advice(
        e,
        "Memory is full, and many keys are looked up in files.",
        {
            "bucketedColdReads": reads,
            "bucketedChangedKeys": changed,
            "bucketedColdReadsFromFiles": e.total("bucketedColdReadsFromFiles"),
            **_memory(e),
        },
        "More memory, a larger heap or more executors; engine=rocksdb for a state far larger than "
        "the heap; exactKeyCount=false where the operator writes keys without reading them.",
        _OURS + "memory.maxBytes",
        _OURS + "engine",
        _OURS + "exactKeyCount",
    )


def scanning(e: Evidence) -> Advice | None:
    state, removals = e.total(*_STATE_MS), e.total("allRemovalsTimeMs")
    reads, changed = e.total("bucketedColdReads"), e.total("bucketedChangedKeys")
    cold_buckets = e.last("bucketedColdBuckets")
    if not cold_buckets or removals < _MOST * state or reads >= _MUCH * max(1, changed):
        return None
    return _advice(
        e,
        "The operator scans all of its state, part of which is in files.",
        {"allRemovalsTimeMs": removals, "state ms": state, "bucketedColdBuckets": cold_buckets}
        | _memory(e),
        "More memory, or state that ends sooner (a shorter watermark or timeout).",
        _OURS + "memory.maxBytes",
    )


def flushing(e: Evidence) -> Advice | None:
    flushes = e.each("bucketedMemoryFlushes")
    batches = sum(1 for n in flushes if n)
    if batches < _MOST * len(flushes):
        return None
    return _advice(
        e,
        "What batches change fills the memory.",
        {"batches": len(flushes), "with bucketedMemoryFlushes": batches} | _memory(e),
        "Smaller batches (maxFilesPerTrigger, maxOffsetsPerTrigger), or more memory.",
        _OURS + "memory.maxBytes",
    )


def growing(e: Evidence) -> Advice | None:
    rows = e.each("numRowsTotal")
    leaves = e.total("numRowsRemoved", "bucketedExpiredKeys")
    grown = len(rows) >= _BATCHES_OF_GROWTH and rows[-1] >= _GROWN * rows[0] and rising(rows)
    if not grown or leaves or e.watermarked:
        return None
    return _advice(
        e,
        "The state grows and nothing ever leaves it.",
        {"numRowsTotal, first": rows[0], "numRowsTotal, last": rows[-1], "batches": len(rows)},
        "Give the query a watermark or a timeout, or let state age out.",
        _OURS + "timeBucket.expireAfter",
    )


def late(e: Evidence) -> Advice | None:
    dropped, changed = e.total("bucketedLateWrites"), e.total("bucketedChangedKeys")
    if not dropped or dropped < _LATE * (dropped + changed):
        return None
    return _advice(
        e,
        "Writes are dropped because their time had expired already.",
        {"bucketedLateWrites": dropped, "bucketedChangedKeys": changed},
        "Let state live longer, or keep rows with times far ahead out of the stream.",
        _OURS + "timeBucket.expireAfter",
    )


def stalling(e: Evidence) -> Advice | None:
    stalled, batch = e.total("bucketedDbStallTimeMs"), e.phase("triggerExecution")
    if not batch or stalled < _STALLED * batch:
        return None
    return _advice(
        e,
        "Local databases cannot write as fast as the state changes.",
        {"bucketedDbStallTimeMs": stalled, "triggerExecution ms": batch},
        "Faster local disks, or a higher limit on what databases write.",
        _OURS + "rocksdb.maxBytesPerSecond",
        _OURS + "localDir",
    )


RULES: tuple[Rule, ...] = (
    failing,
    damaged,
    behind,
    moving,
    flushing,
    cold,
    scanning,
    stalling,
    writing,
    encoding,
    late,
    growing,
    outside,
)


def _commits_long(e: Evidence) -> bool:
    return e.total("commitTimeMs") > _MUCH * e.total(*_STATE_MS)


def _full(e: Evidence) -> bool:
    limit = e.last("bucketedMemoryLimitBytes")
    return limit > 0 and e.last("memoryUsedBytes") >= _FULL * limit


def _memory(e: Evidence) -> dict[str, float]:
    return {name: e.last(name) for name in ("memoryUsedBytes", "bucketedMemoryLimitBytes")}


def _advice(
    e: Evidence,
    what: str,
    figures: dict[str, float],
    help: str,  # noqa: A002
    *settings: str,
) -> Advice:
    return Advice(e.about, what, tuple(figures.items()), help, settings)
