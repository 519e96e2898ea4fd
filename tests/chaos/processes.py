"""Processes of this machine, as Linux shows them under /proc."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    number: int

    def send(self, number: signal.Signals) -> bool:
        """Whether it was still there to get it."""
        try:
            os.kill(self.number, number)
        except ProcessLookupError:
            return False
        return True


def working_below(folder: Path, word: str) -> list[Process]:
    """Those that have this folder, or one in it, as theirs, and the word in their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            inside = (process / "cwd").readlink().is_relative_to(folder)
            if inside and word in (process / "cmdline").read_text(errors="replace"):
                found.append(Process(int(process.name)))
        except OSError:
            continue  # it has ended, or is not ours to look at
    return sorted(found, key=lambda one: one.number)
