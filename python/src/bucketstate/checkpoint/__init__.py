"""Looks into a checkpoint without a JVM: its files, what a restart would read, and the state."""

from bucketstate.checkpoint.checkpoint import Checkpoint
from bucketstate.checkpoint.overview import Overview
from bucketstate.checkpoint.plan import Plan
from bucketstate.checkpoint.store import Store
from bucketstate.checkpoint.verify import Finding, Report, Restart

__all__ = ["Checkpoint", "Finding", "Overview", "Plan", "Report", "Restart", "Store"]
