"""Which cases run: a few with `make test`, all with `make moves`, `queries` and `sweep`."""

from __future__ import annotations

import os
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
