"""Looks into a checkpoint without a JVM: its files, what a restart would read, and the state."""

from bucketstate.checkpoint import libraries as _libraries  # noqa: F401
from bucketstate.checkpoint.checkpoint import Checkpoint
from bucketstate.checkpoint.overview import Overview
from bucketstate.checkpoint.plan import Plan
from bucketstate.checkpoint.report import Finding, Report, Restart
from bucketstate.checkpoint.states import States
from bucketstate.checkpoint.store import Store
from bucketstate.checkpoint.variables import StateVariable

__all__ = [
    "Checkpoint",
    "Finding",
    "Overview",
    "Plan",
    "Report",
    "Restart",
    "StateVariable",
    "States",
    "Store",
]
