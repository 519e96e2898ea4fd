"""Looks into a checkpoint without a JVM: its files, what a restart would read, and the state."""

from bucketstate.checkpoint.checkpoint import Checkpoint
from bucketstate.checkpoint.store import Plan, Store

__all__ = ["Checkpoint", "Plan", "Store"]
