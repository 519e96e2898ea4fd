"""Numbers of keys as the commands print them."""

from __future__ import annotations

from collections.abc import Iterable

from bucketstate.checkpoint.overview import FamilyOverview
from bucketstate.units import count


def keys_of(families: Iterable[FamilyOverview]) -> str:
    """How many keys column families hold together.

    Where those of one were not counted at this version, with the version that they were counted at.
    """
    keys, oldest = 0, None
    for family in families:
        if family.keys is not None:
            keys += family.keys
        elif family.last_count is None:
            return "not counted"
        else:
            at = family.last_count
            keys += at.keys
            oldest = at.version if oldest is None else min(oldest, at.version)
    return count(keys) if oldest is None else f"{count(keys)} (at version {oldest:,})"
