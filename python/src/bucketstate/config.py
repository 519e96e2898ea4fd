"""The provider's settings as one immutable, checked value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, Self

from bucketstate.registry import Value, registry

PROVIDER_CLASS = "io.bucketstate.BucketedStateStoreProvider"
PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True, kw_only=True)
class Conf:
    """Every setting of the provider. A value that is not allowed raises when it is given."""

    engine: Literal["heap"] = "heap"
    """What holds the state while a query runs: 'heap' keeps it as compact bytes in the JVM's
    heap."""

    num_buckets: int = 64
    """Key groups per store. Fixed for the life of a checkpoint: a different value on restart is an
    error."""

    lock_acquire_timeout: int = 60_000
    """How long a task waits, in milliseconds, for another task (a killed attempt that still runs)
    to let go of the store before it fails."""

    snapshot_mode: Literal["async", "sync"] = "async"
    """'async' makes snapshots in the background while batches go on; 'sync' makes them inside
    commit, for tests and comparisons."""

    snapshot_max_versions: int = 0
    """A snapshot is made after this many versions; 0 takes Spark's
    spark.sql.streaming.stateStore.minDeltasForSnapshot."""

    snapshot_max_bytes: int | str = "64m"
    """A snapshot is made after this many bytes of changelog, if that comes before
    snapshot.maxVersions."""

    compaction_max_runs: int = 8
    """Runs that the newest snapshot may consist of before some are merged. More write less, fewer
    make a restart and the checkpoint smaller."""

    run_max_file_bytes: int | str = "16m"
    """A run is split into files of about this size, at the ends of buckets. A restart fetches and
    verifies whole files before it reads a bucket from them."""

    restore_mode: Literal["lazy", "eager"] = "lazy"
    """'lazy' loads buckets when they are first touched, the others meanwhile in the background;
    'eager' loads all of them before the first batch."""

    local_dir: str = "spark"
    """Where working files go: 'spark' for Spark's local folders, cleared when the store is closed;
    or a folder on each machine, where copies of a remote checkpoint's runs stay for the next
    restart."""

    def __post_init__(self) -> None:
        for field, value in asdict(self).items():
            registry().by_field(field).check(value)

    def to_spark(self) -> dict[str, str]:
        """The settings as Spark wants them, with the one that selects the provider."""
        settings = {registry().by_field(f).key: _text(v) for f, v in asdict(self).items()}
        return {PROVIDER_KEY: PROVIDER_CLASS, **settings}

    @classmethod
    def from_spark(cls, settings: Mapping[str, str]) -> Self:
        """The value that a session's settings hold; keys of others are ignored."""
        known = registry()
        own = [k for k in settings if k.lower().startswith(known.prefix.lower())]
        found = {known.by_key(k): settings[k] for k in own}
        fields: dict[str, Value] = {s.field: s.parse(text) for s, text in found.items()}
        return cls(**fields)  # type: ignore[arg-type]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
