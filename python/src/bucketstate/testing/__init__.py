"""Tests stateful functions: in plain Python, on a small local Spark, and one against the other."""

from bucketstate.stateful import libraries as _libraries  # noqa: F401
from bucketstate.testing.comparing import compare
from bucketstate.testing.differences import DifferenceError
from bucketstate.testing.harness import Harness
from bucketstate.testing.strategies import rows_of

__all__ = ["DifferenceError", "Harness", "compare", "rows_of"]
