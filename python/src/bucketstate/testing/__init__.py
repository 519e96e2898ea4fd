"""Tests stateful functions: in plain Python, on a small local Spark, and one against the other."""

from bucketstate.testing.comparing import DifferenceError, compare
from bucketstate.testing.harness import Harness

__all__ = ["DifferenceError", "Harness", "compare"]
