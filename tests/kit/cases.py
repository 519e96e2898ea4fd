"""Which cases run: a few with `make test`, all with `make moves`, `queries` and `sweep`."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import pytest

Case = TypeVar("Case")

ALL = "BUCKETSTATE_SWEEP" in os.environ


at_night = pytest.mark.skipif(not ALL, reason="make moves or make queries runs it")
"""A test of a kind of which `make test` runs another one."""


def examples(few: int) -> int:
    """What hypothesis makes with `make test`; ten times as many with `make queries`."""
    return few * 10 if ALL else few


def cases(few: Sequence[Case], others: Sequence[Case]) -> Sequence[Case]:
    """The few; where all are asked for, the others behind them, each once."""
    return [*few, *[case for case in others if case not in few]] if ALL else few


def each(few: int, all_of_them: int) -> int:
    """A step through the bytes of a file: a wide one with `make test`."""
    return all_of_them if ALL else few


def places(total: int) -> Sequence[int]:
    """Of so many places in a row each third, and the ends; all of them where asked for."""
    if ALL:
        return range(total)
    return sorted({*range(0, total, 3), *range(max(0, total - 2), total)})


def sample(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The items of a run by day: of a test with many cases a third, the same ones each time.

    All of them where all are asked for.
    """
    if ALL:
        return list(items)
    of_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        of_test[item.nodeid.partition("[")[0]].append(item)
    kept: set[pytest.Item] = set()
    for name, its in of_test.items():
        kept.update(random.Random(name).sample(its, -(-len(its) // 3)))
    return [item for item in items if item in kept]
