"""Numbers that follow on each other, told together."""

from __future__ import annotations

from collections.abc import Sequence


def _runs_of(ascending: Sequence[int]) -> list[list[int]]:
    """The same numbers, those that follow on each other together."""
    runs: list[list[int]] = []
    for number in ascending:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def shown(ascending: Sequence[int]) -> str:
    """For a message: `1, 3 to 5`."""
    parts = [f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in _runs_of(ascending)]
    return ", ".join(parts) or "(none)"
