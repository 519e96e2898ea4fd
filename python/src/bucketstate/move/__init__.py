"""Moves checkpoints: copies and rewinds them without a JVM, and with Spark to another shape."""

from bucketstate.checkpoint import libraries as _libraries  # noqa: F401
from bucketstate.move.cloning import clone, fork
from bucketstate.move.planning import Finding, Plan, Progress, Report, Undone, plan, undo
from bucketstate.move.reports import CloneReport, RewindReport
from bucketstate.move.rewinding import rewind

__all__ = [
    "CloneReport",
    "Finding",
    "Plan",
    "Progress",
    "Report",
    "RewindReport",
    "Undone",
    "clone",
    "fork",
    "plan",
    "rewind",
    "undo",
]
