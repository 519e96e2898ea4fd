"""When the keys of a store expire, in times that people read: UTC, to the second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.format.times import NEVER

TIME = pa.timestamp("s", tz="UTC")
SCHEMA = pa.schema([("partition_id", pa.int32()), ("time_bucket", TIME), ("keys", pa.int64())])


@dataclass(frozen=True)
class TimeBucket:
    """Keys that expire together. Immutable."""

    start: datetime | None
    """When its span of time starts, in UTC; None for keys that never expire."""

    keys: int
    """How many keys it has."""


@dataclass(frozen=True)
class Expiry:
    """How the keys of a family age, at one version. Immutable."""

    horizon: datetime | None
    """What lies in time buckets that start before it, in UTC, has expired; None while nothing
    has."""

    newest: datetime | None
    """The start of the newest time bucket that was seen, in UTC; None before the first."""

    untimed_keys: int
    """How many of the keys have no time of their own."""

    time_buckets: tuple[TimeBucket, ...]
    """All keys, by when they expire."""

    @classmethod
    def of(cls, family: Family) -> Expiry | None:
        """What a family's times say; None for a family whose records have none."""
        times = family.times
        if times is None:
            return None
        return cls(
            horizon=_moment(times.horizon) if times.horizon else None,
            newest=None if times.newest is None else _moment(times.newest),
            untimed_keys=times.untimed_keys,
            time_buckets=tuple(
                TimeBucket(None if start == NEVER else _moment(start), keys)
                for start, keys in times.by_start().items()
                if keys
            ),
        )


def keys_per_time_bucket(partition: int, family: Family) -> pa.Table:
    """How many keys expire together, by the start of their time bucket; null if they never do.

    Their number is null if nobody counted them, which may be so where records have no times.
    """
    expiry = Expiry.of(family)
    starts: list[datetime | None] = [None]
    keys = [family.keys]
    if expiry is not None:
        starts = [b.start for b in expiry.time_buckets]
        keys = [b.keys for b in expiry.time_buckets]
    return pa.table(
        [
            pa.array([partition] * len(keys), pa.int32()),
            pa.array(starts, TIME),
            pa.array(keys, pa.int64()),
        ],
        schema=SCHEMA,
    )


def time_buckets_of(values: Slices, family: Family) -> pa.TimestampArray:
    """The start of each value's time bucket; null where it never expires."""
    if family.times is None:
        return pa.nulls(len(values), TIME)
    starts = family.times.starts(values)
    return pa.array(starts, pa.int64(), mask=starts == NEVER).cast(TIME)


def _moment(start: int) -> datetime:
    return datetime.fromtimestamp(start, UTC)
