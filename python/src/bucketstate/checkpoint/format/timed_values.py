"""Values that know their time: `timed-row/1` (`docs/format.md`)."""

from __future__ import annotations

import numpy as np

from bucketstate.checkpoint.format.slices import Positions, Slices, gather

TIMED = "timed-row/1"
"""Name of the encoding."""

NEVER = 0xFFFFFFFF
"""Time of a record that never expires."""

UNTIMED = -1
"""Stands for the time of a record that has none."""

_MARK = 2
"""First byte of a value that has a time; rows begin with 0 or 1."""
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
