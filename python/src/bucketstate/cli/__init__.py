"""The command `bucketstate`."""

from __future__ import annotations

from collections.abc import Sequence

from bucketstate.interrupts import CODE

__all__ = ["main"]


def main(argv: Sequence[str] | None = None, *, alone: bool = False) -> int:
    """Runs a command; its exit code.

    Args:
        argv: its words, those of the process without.
        alone: this process does nothing else.
    """
    try:
        # Here, because it takes a moment in which somebody may have had enough already.
        from bucketstate.cli.run import run

        return run(argv, alone=alone)
    except KeyboardInterrupt:
        return CODE
