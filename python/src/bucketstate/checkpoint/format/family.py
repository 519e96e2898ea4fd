"""Column families, as footers and manifests describe them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bucketstate.checkpoint.format.times import TimeBuckets


@dataclass(frozen=True)
class KeysAt:
    """So many keys a column family held at a version. Immutable."""

    version: int
    """The version."""

    keys: int
    """How many keys there were."""


@dataclass(frozen=True)
class Family:
    """A column family; `keys` is how many keys it holds at this version, None if nobody counted.

    `last_count` is that of an older version then, as a manifest has it. `internal` families are
    those that an operator keeps for itself. `times` are the same keys by time bucket, where records
    have times.
    """

    id: int
    name: str
    key_encoding: str
    value_encoding: str
    keys: int | None
    key_schema: str | None = None
    value_schema: str | None = None
    internal: bool = False
    times: TimeBuckets | None = None
    last_count: KeysAt | None = None


def all_keys(families: Iterable[Family]) -> int | None:
    """The keys of all these families; None if those of one were not counted."""
    return summed(family.keys for family in families)


def summed(counts: Iterable[int | None]) -> int | None:
    """The sum of numbers of keys; None if one is not known."""
    known = list(counts)
    return None if None in known else sum(n for n in known if n is not None)
