"""What people who wait for a move are told of each of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bucketstate.units import size

if TYPE_CHECKING:
    from bucketstate.move.planning import Progress


@dataclass(frozen=True)
class Step:
    """One part of a move, as people who wait are told of it. Immutable."""

    step: str
    keys: int
    said: str
    """How many keys there were so far, and how many keys and bytes a second."""


class StepRates:
    """What to say of each step of a move: numbers of one step are not held against another's."""

    def __init__(self) -> None:
        self._what = ""
        self._began = 0.0

    def of(self, progress: Progress, now: float) -> Step:
        """What to say of how far it has come at a time, in seconds of any clock."""
        keys, done, data = _counted(progress)
        what = f"{progress.step} {done}"
        if what != self._what:
            self._what, self._began = what, now
        if not keys:
            return Step(progress.step, 0, "")
        said = [f"{keys:,} keys {done}"]
        seconds = now - self._began
        if seconds > 0:
            said.append(f"{keys / seconds:,.0f} keys/s")
            if data:
                said.append(f"{size(round(data / seconds))}/s")
        return Step(progress.step, keys, ", ".join(said))


def _counted(progress: Progress) -> tuple[int, str, int]:
    """The keys of a step and what was done to them; the bytes, where these are known."""
    if progress.step == "verify":
        return progress.checked, "read back", 0
    if progress.step == "copy" and progress.written:
        return progress.written, "written", progress.bytes
    if progress.step in ("copy", "read"):
        return progress.read, "read", 0
    return 0, "", 0
