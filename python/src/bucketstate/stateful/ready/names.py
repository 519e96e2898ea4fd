"""The aggregates by the names that a user writes: `stateful.sum("price")`."""

from __future__ import annotations

from bucketstate.stateful.ready.aggregates import (
    Aggregate,
    Count,
    Extreme,
    Mean,
    Outermost,
    Sum,
    Top,
)
from bucketstate.stateful.ready.sketches import ApproxDistinct


def count(column: str | None = None) -> Aggregate:
    """How many rows there were, or how many values of a column, nulls not counted: a bigint."""
    return Count(column)


def sum(column: str) -> Aggregate:  # noqa: A001
    """The sum of a column of numbers; null where there were none.

    A bigint of whole numbers, a double of floats, and of a decimal one with ten more digits. A sum
    that does not fit fails the batch.
    """
    return Sum(column)


def mean(column: str) -> Aggregate:
    """The mean of a column of numbers, a double; null where there were none."""
    return Mean(column)


def min(column: str) -> Aggregate:  # noqa: A001
    """The smallest value of a column, in its type and in Spark's order."""
    return Extreme(column, greatest=False)


def max(column: str) -> Aggregate:  # noqa: A001
    """The greatest value of a column, in its type and in Spark's order: NaN is beyond numbers."""
    return Extreme(column, greatest=True)


def first(column: str, *, by: str | None = None) -> Aggregate:
    """The value of the row with the smallest `by`, of equal ones of the first that came.

    Args:
        column: what is taken of it, which may be null.
        by: rows whose value is null are left out. Without it the row that came first, of which
            Spark promises nothing within a batch.
    """
    return Outermost(column, by, last=False)


def last(column: str, *, by: str | None = None) -> Aggregate:
    """The value of the row with the greatest `by`, of equal ones of the last; see `first`."""
    return Outermost(column, by, last=True)


def top(count: int, column: str, *, by: str | None = None) -> Aggregate:
    """The greatest values of a column, or those of the rows with the greatest `by`: an array.

    Args:
        count: at most so many; from the greatest on, of equal ones the first that came.
        column: what is taken of the rows.
        by: the order; rows whose value is null are left out. The column itself without.
    """
    return Top(count, column, by)


def approx_distinct(column: str, *, lg_k: int = 12) -> Aggregate:
    """About how many different values a column had, without nulls and empty texts: a bigint.

    It needs `bucketstate[sketches]`. What is kept of a key is a sketch of Apache DataSketches, as
    base64 of what Spark's `hll_sketch_agg` makes: exact while there are few, then about 1.6 % off.

    Args:
        column: of numbers, texts, flags or times.
        lg_k: the logarithm of the sketch's size, 4 to 21: 12 takes 4 KB, and each more twice as
            much, for an error that is smaller by 0.7.
    """
    return ApproxDistinct(column, lg_k)
