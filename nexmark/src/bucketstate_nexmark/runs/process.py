"""What Linux says of a process and of those that it has started: memory, and time of processors."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def peak_bytes(process: int) -> int:
    """The most that a process has had in memory."""
    for line in (_PROC / str(process) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/{process}/status has no VmHWM")


def cpu_seconds(process: int) -> float:
    """The time of processors that a process has had, with its children, alive or waited for."""
    ticks = sum(_ticks(one) for one in _family(process))
    return ticks / os.sysconf("SC_CLK_TCK")


def _family(process: int) -> list[int]:
    """A process, its children, and theirs."""
    parents: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, left = [], [process]
    while left:
        found.append(left.pop())
        left += parents.get(found[-1], [])
    return found


def _ticks(process: int) -> int:
    """What the process itself took, and children that it has waited for."""
    fields = _stat(process)
    return sum(int(value) for value in fields[11:15]) if fields else 0


def _stat(process: int) -> list[str]:
    """The fields behind the name, which may have spaces; none if the process has ended."""
    try:
        return (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
