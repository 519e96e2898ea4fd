"""Column families, as footers and manifests describe them."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.checkpoint.time_buckets import TimeBuckets


@dataclass(frozen=True)
class Family:
    """A column family; `keys` is how many keys it holds at this version, exactly or `estimated`.

    `internal` families are those that an operator keeps for itself. `times` are the same keys by
    time bucket, where records have times.
    """

    id: int
    name: str
    key_encoding: str
    value_encoding: str
    keys: int
    key_schema: str | None = None
    value_schema: str | None = None
    internal: bool = False
    times: TimeBuckets | None = None
    estimated: bool = False
