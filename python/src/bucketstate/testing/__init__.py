"""Tests stateful functions: in plain Python, or on a small local Spark."""

from bucketstate.testing.harness import Harness

__all__ = ["Harness"]
