"""Rules over a checkpoint: each looks at one operator, and gives what it has to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from bucketstate.checkpoint.overview import OperatorOverview, Overview, StoreOverview
from bucketstate.doctor.advice import Advice

Rule = Callable[[OperatorOverview], Iterator[Advice]]

_OURS = "spark.sql.streaming.stateStore.bucketed."
_MANY_CHANGELOGS = 100
_LARGE_BUCKET = 100_000
_SKEWED = 4
_KEYS_WORTH_MOVING = 10_000
_BYTES_WORTH_DROPPING = 100 << 20


def unreadable(operator: OperatorOverview) -> Iterator[Advice]:
    for store in operator.stores:
        if store.problem:
            yield Advice(
                _about(operator, store),
                f"A restart cannot read it: {store.problem}",
                (),
                "Run `bucketstate verify` on the checkpoint: it reads every file.",
            )


def long_replay(operator: OperatorOverview) -> Iterator[Advice]:
    worst = max(operator.stores, key=lambda s: s.changelogs, default=None)
    if worst is not None and worst.changelogs >= _MANY_CHANGELOGS:
        yield Advice(
            _about(operator, worst),
            "A restart replays many changelogs.",
            (("changelogs", worst.changelogs), ("bytes read", worst.read_bytes)),
            "Make snapshots more often; if they are due and do not come, the executors' logs say "
            "why.",
            (_OURS + "snapshot.maxVersions", _OURS + "snapshot.maxBytes"),
        )


def skewed(operator: OperatorOverview) -> Iterator[Advice]:
    """Stores of a join are compared with those of their name, where keys were counted."""
    for name in sorted({s.store for s in operator.stores}):
        own = [s for s in operator.stores if s.store == name]
        keys = {s.partition: s.keys for s in own if s.keys is not None}
        most = max(keys, key=lambda p: keys[p], default=-1)
        others = [number for partition, number in keys.items() if partition != most]
        if others and keys[most] >= max(_KEYS_WORTH_MOVING, _SKEWED * median(others)):
            yield Advice(
                f"operator {operator.id} ({operator.name}), partition {most}, {name}",
                "One partition holds much more than the others: each batch waits for it.",
                (("keys", keys[most]), ("keys of others, median", median(others))),
                "That is how Spark partitions the grouping key: choose a finer one, or add salt.",
            )


def large_buckets(operator: OperatorOverview) -> Iterator[Advice]:
    worst = max(operator.stores, key=_keys_per_bucket, default=None)
    if worst is not None and _keys_per_bucket(worst) >= _LARGE_BUCKET:
        yield Advice(
            _about(operator, worst),
            "Its buckets are large: each is loaded and merged as one.",
            (("keys", worst.keys or 0), ("numBuckets", worst.num_buckets)),
            "Start with more buckets, with a new checkpoint: some thousand keys in each are a good "
            "size.",
            (_OURS + "numBuckets",),
        )


def savepoints(overview: Overview) -> Iterator[Advice]:
    """What keeps retention from its work, and what it keeps for savepoints alone."""
    if overview.unheld is not None:
        yield Advice(
            overview.location,
            f"Nothing of what is old is deleted: {overview.unheld}",
            (),
            "Drop that savepoint, or restore its file.",
        )
    total = sum(s.bytes for o in overview.operators for s in o.stores)
    for savepoint in overview.savepoints:
        about = f"{overview.location}, savepoint {savepoint.name}"
        if savepoint.bytes is None:
            yield Advice(
                about,
                "What it holds cannot be read, so one cannot go back to it.",
                (("batch", savepoint.batch),),
                "Run `bucketstate verify`, which says what is wrong; drop it, if it is lost.",
            )
        elif savepoint.bytes >= max(_BYTES_WORTH_DROPPING, total / 4):
            yield Advice(
                about,
                "Much of the checkpoint is kept for it alone.",
                (("bytes", savepoint.bytes), ("bytes of all files", total)),
                "Drop it with `bucketstate savepoint drop`, if nobody will go back to it.",
            )


RULES: tuple[Rule, ...] = (unreadable, long_replay, skewed, large_buckets)


def _about(operator: OperatorOverview, store: StoreOverview) -> str:
    return f"operator {operator.id} ({operator.name}), partition {store.partition}, {store.store}"


def _keys_per_bucket(store: StoreOverview) -> float:
    return (store.keys or 0) / max(1, store.num_buckets)
