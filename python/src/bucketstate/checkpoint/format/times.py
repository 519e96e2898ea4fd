"""The times of values: stored before them, and counted by time bucket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bucketstate.checkpoint.format.slices import Mask, Positions, Slices, gather

TIMED = "timed-row/1"
"""Name of the encoding."""

NEVER = 0xFFFFFFFF
"""Time of a record that never expires."""

UNTIMED = -1
"""Stands for the time of a record that has none."""

_MARK = 2
"""First byte of a value that has a time; in a family with times, all others begin with 0 or 1."""
_LENGTH = 5
"""Bytes of mark and time."""


def starts_of(values: Slices) -> Positions:
    """The time of each value in seconds since 1970; UNTIMED for one without.

    IndexError or ValueError for bytes that are no such values.
    """
    if (values.lengths < 1).any():
        raise ValueError("a value has no bytes")
    timed = gather(values.buffer, values.starts, "u1") == _MARK
    if (values.lengths[timed] <= _LENGTH).any():
        raise ValueError("a value ends behind its time")
    found = np.full(len(values), UNTIMED, np.int64)
    found[timed] = gather(values.buffer, values.starts[timed] + 1, "<u4")
    return found


def rows_of(values: Slices) -> Slices:
    """The values without their times. Raises what `starts_of` raises."""
    skipped = np.where(starts_of(values) == UNTIMED, 0, _LENGTH)
    return Slices(values.buffer, values.starts + skipped, values.lengths - skipped)


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
