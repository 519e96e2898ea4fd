"""The command `bucketstate`."""

from bucketstate.cli.main import main

__all__ = ["main"]
