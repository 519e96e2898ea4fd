"""Looks into a checkpoint without a JVM: its files, what a restart would read, and the state."""

from bucketstate.checkpoint import libraries as _libraries  # noqa: F401
from bucketstate.checkpoint.checkpoint import Checkpoint
from bucketstate.checkpoint.format.family import KeysAt
from bucketstate.checkpoint.format.origin import Origin
from bucketstate.checkpoint.overview import (
    FamilyOverview,
    OperatorOverview,
    Overview,
    SavepointOverview,
    StoreOverview,
    VariableOverview,
)
from bucketstate.checkpoint.scan import Scan
from bucketstate.checkpoint.spark.variables import StateVariable
from bucketstate.checkpoint.store.expiry import Expiry, TimeBucket
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.residency import Residency
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.store import Store
from bucketstate.checkpoint.verify.report import Finding, Report, Restart

__all__ = [
    "Checkpoint",
    "Expiry",
    "FamilyOverview",
    "Finding",
    "KeysAt",
    "OperatorOverview",
    "Origin",
    "Overview",
    "Plan",
    "Report",
    "Residency",
    "Restart",
    "Savepoint",
    "SavepointOverview",
    "Scan",
    "StateVariable",
    "Store",
    "StoreOverview",
    "TimeBucket",
    "VariableOverview",
]
