"""Records in memory: what they take of it."""

from __future__ import annotations

import numpy as np
import pytest

from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.spark.keys import COMPACT
from bucketstate.live.indexed import Indexed


@pytest.mark.parametrize("together", [False, True])
def test_what_is_held_is_counted(together: bool) -> None:
    """Keys and values of a changelog are in one buffer, those of a data file in two."""
    keys = [f"key-{n}".encode() for n in range(100)]
    values = [bytes(1000)] * 100
    if together:
        both = Slices.joined([*keys, *values])
        of_keys, of_values = both[:100], both[100:]
    else:
        of_keys, of_values = Slices.joined(keys), Slices.joined(values)
    puts = np.ones(100, dtype=bool)
    found = Indexed(Records(of_keys, of_values, puts, ~puts), COMPACT)
    held = sum(map(len, [*keys, *values]))
    assert held < found.size < held + 100 * 300
