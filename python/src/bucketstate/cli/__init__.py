"""The command `bucketstate`."""

from __future__ import annotations

from collections.abc import Sequence

from bucketstate.interrupts import CODE

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; its exit code. `argv` are its words, those of the process without."""
    try:
        # Here, because it takes a moment in which somebody may have had enough already.
        from bucketstate.cli.run import run

        return run(argv)
    except KeyboardInterrupt:
        return CODE
