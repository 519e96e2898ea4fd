"""The time buckets of a column family, as footers and manifests describe them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bucketstate.checkpoint.format.slices import Mask, Positions, Slices
from bucketstate.checkpoint.format.timed_values import NEVER, UNTIMED, starts_of


@dataclass(frozen=True)
class TimeBuckets:
    """When a family's records expire, at one version (`docs/format.md`, times).

    All times are starts of time buckets, in seconds since 1970.

    Attributes:
        newest: the newest that was seen; None before the first.
        horizon: what lies before it has expired.
        untimed: where records without a time count as being; None while they never expire.
        untimed_keys: how many of the keys are such records.
        keys: how many of the others are in each time bucket, in ascending order; NEVER stands for
            those that never expire. Without those that have expired.
    """

    newest: int | None
    horizon: int
    untimed: int | None
    untimed_keys: int
    keys: tuple[tuple[int, int], ...]

    @property
    def key_count(self) -> int:
        return self.untimed_keys + sum(keys for _, keys in self.keys)

    @property
    def ascending(self) -> bool:
        """Whether each time bucket is listed once, and in order."""
        starts = [start for start, _ in self.keys]
        return starts == sorted(set(starts))

    @property
    def living(self) -> bool:
        """Whether nothing is counted that has expired."""
        return all(start >= self.horizon for start, keys in self.by_start().items() if keys)

    def by_start(self) -> dict[int, int]:
        """How many keys count as being in each time bucket, those without a time among them."""
        found = dict(self.keys)
        if self.untimed_keys:
            start = self._start_of_untimed
            found[start] = found.get(start, 0) + self.untimed_keys
        return dict(sorted(found.items()))

    def starts(self, values: Slices) -> Positions:
        """The time bucket that each value counts as being in. Raises what `starts_of` raises."""
        found = starts_of(values)
        return np.where(found == UNTIMED, self._start_of_untimed, found)

    def expired(self, values: Slices) -> Mask:
        """Which values have expired. Raises what `starts_of` raises."""
        return np.asarray(self.starts(values) < self.horizon)

    @property
    def _start_of_untimed(self) -> int:
        return NEVER if self.untimed is None else self.untimed
