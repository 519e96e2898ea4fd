"""Looks into a checkpoint without a JVM: its files, what a restart would read, and the state."""

from bucketstate.checkpoint import libraries as _libraries  # noqa: F401
from bucketstate.checkpoint.checkpoint import Checkpoint
from bucketstate.checkpoint.expiry import Expiry, TimeBucket
from bucketstate.checkpoint.family import KeysAt
from bucketstate.checkpoint.overview import (
    FamilyOverview,
    OperatorOverview,
    Overview,
    StoreOverview,
    VariableOverview,
)
from bucketstate.checkpoint.plan import Plan
from bucketstate.checkpoint.report import Finding, Report, Restart
from bucketstate.checkpoint.residency import Residency
from bucketstate.checkpoint.scan import Scan
from bucketstate.checkpoint.store import Store
from bucketstate.checkpoint.variables import StateVariable

__all__ = [
    "Checkpoint",
    "Expiry",
    "FamilyOverview",
    "Finding",
    "KeysAt",
    "OperatorOverview",
    "Overview",
    "Plan",
    "Report",
    "Residency",
    "Restart",
    "Scan",
    "StateVariable",
    "Store",
    "StoreOverview",
    "TimeBucket",
    "VariableOverview",
]
