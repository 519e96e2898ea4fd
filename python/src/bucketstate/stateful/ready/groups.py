"""What aggregates are made of: values of many groups, reduced group by group.

DataFusion's `GroupsAccumulator` is the model: values come with the number of their group, and all
groups are reduced at once.
"""

from __future__ import annotations

from decimal import Context
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bucketstate.stateful.run.many_keys import Keys

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

NONE = -1
"""Stands for no place."""
_LARGEST = (1 << 63) - 1
_SMALLEST = -(1 << 63)
# Below it, a sum reckoned in floats tells for sure that the exact one fits.
_SURE = 9e18
# Spark's decimals, and those of 128 bits, have at most 38 digits.
_MOST = 10**38
_WIDE_DIGITS = 76
_WIDE = Context(prec=_WIDE_DIGITS)


class Groups:
    """Which group each value is of, by numbers from 0: none of them is without values.

    Values that are equal to what is asked for are told apart by their order. Immutable.
    """

    def __init__(self, numbers: Numbers, count: int) -> None:
        self.numbers = numbers
        self.count = count

    @cached_property
    def order(self) -> Numbers:
        """The places of the values, group by group, each group's in their order."""
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def starts(self) -> Numbers:
        """Where each group begins in that order."""
        return np.searchsorted(self.numbers[self.order], np.arange(self.count))

    def total(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The sum of each group."""
        made: np.ndarray[Any, Any] = np.add.reduceat(values[self.order], self.starts)
        return made

    def most(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The greatest value of each group."""
        made: np.ndarray[Any, Any] = np.maximum.reduceat(values[self.order], self.starts)
        return made

    def least(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The smallest value of each group."""
        made: np.ndarray[Any, Any] = np.minimum.reduceat(values[self.order], self.starts)
        return made

    def last_greatest(self, ranks: Numbers) -> Numbers:
        """The place of each group's greatest rank, of equal ones the last; `NONE` if all are."""
        size = len(ranks)
        best = self.most(np.where(ranks == NONE, NONE, ranks * size + np.arange(size)))
        return np.where(best == NONE, NONE, best % size)

    def first_smallest(self, ranks: Numbers) -> Numbers:
        """The place of each group's smallest rank, of equal ones the first; `NONE` if all are."""
        size = len(ranks)
        best = self.least(np.where(ranks == NONE, _LARGEST, ranks * size + np.arange(size)))
        return np.where(best == _LARGEST, NONE, best % size)

    def greatest(self, ranks: Numbers, most: int) -> tuple[Numbers, Numbers]:
        """The places of each group's greatest ranks, at most so many; of equal ones the first.

        They come group by group, from the greatest on, with where each group's begin and end.
        """
        valid = np.flatnonzero(ranks != NONE)
        order = valid[np.lexsort((-ranks[valid], self.numbers[valid]))]
        of = self.numbers[order]
        begins = np.searchsorted(of, np.arange(self.count))
        kept = np.arange(len(order)) - begins[of] < most
        ends = np.cumsum(np.bincount(of[kept], minlength=self.count))
        return order[kept], np.concatenate(([0], ends))


def by_key(keys: Keys[Any], rows: pa.RecordBatch) -> Groups:
    """What is kept of each key, and behind all of that the rows: so every key has a value."""
    count = len(keys)
    return Groups(np.concatenate((np.arange(count), of_rows(keys, rows))), count)


def of_rows(keys: Keys[Any], rows: pa.RecordBatch) -> Numbers:
    """The number of its key, for each row."""
    made: Numbers = keys.of(rows).to_numpy()
    return made


def valid_of(values: pa.Array) -> Bools:
    """Where there is a value."""
    if not values.null_count:
        return np.ones(len(values), dtype=bool)
    made: Bools = values.is_valid().to_numpy(zero_copy_only=False)
    return made


def plain(values: pa.Array) -> np.ndarray[Any, Any]:
    """Numbers or flags without nulls: 0 where there is one."""
    if values.null_count:
        values = values.fill_null(False if pa.types.is_boolean(values.type) else 0)
    made: np.ndarray[Any, Any] = values.to_numpy(zero_copy_only=False)
    return made


def ranks(values: pa.Array) -> Numbers:
    """The place of each value among all in Spark's order, alike for equal ones; `NONE` for null.

    A NaN is equal to itself, and greater than all other numbers.
    """
    made = np.full(len(values), NONE, np.int64)
    valid = valid_of(values)
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        made[valid] = np.unique(plain(values)[valid], return_inverse=True)[1]
    else:
        found = pc.rank(values.drop_null(), "ascending", tiebreaker="dense")
        made[valid] = found.to_numpy().astype(np.int64) - 1
    return made


def at(values: pa.Array, places: Numbers) -> pa.Array:
    """The values in these places; null for `NONE`."""
    return values.take(pa.array(places, mask=places == NONE))


def added(values: pa.Array, groups: Groups) -> pa.Array:
    """The sum of each group's values, null where it has none; OverflowError for one too large.

    Whole numbers of 64 bits, floats or decimals, in the type of the values.
    """
    kind = values.type
    if pa.types.is_decimal(kind):
        return _added_decimals(values, groups)
    absent = groups.total(valid_of(values).astype(np.int64)) == 0
    numbers = plain(values)
    made = groups.total(numbers)
    if pa.types.is_integer(kind):
        rough = groups.total(np.abs(numbers.astype(np.float64)))
        for group in np.flatnonzero(rough > _SURE).tolist():
            exact = sum(numbers[groups.numbers == group].tolist())
            if not _SMALLEST <= exact <= _LARGEST:
                raise OverflowError(group, exact)
    return pa.array(made, kind, mask=absent)


def _added_decimals(values: pa.Array, groups: Groups) -> pa.Array:
    kind = values.type
    if not _surely_fits(values):
        # Arrow's sums of 128 bits overflow in silence; those of 256 bits have room.
        values = values.cast(pa.decimal256(_WIDE_DIGITS, kind.scale))
    table = pa.table({"of": groups.numbers[groups.order], "x": values.take(groups.order)})
    found = table.group_by("of", use_threads=False).aggregate([("x", "sum")])
    try:
        return found.column("x_sum").combine_chunks().cast(kind)
    except pa.ArrowInvalid as e:
        raise OverflowError(str(e)) from None


def _surely_fits(values: pa.Array) -> bool:
    """Whether no sum of these decimals leaves the digits that 128 bits have."""
    kind, count = values.type, len(values)
    if count * 10**kind.precision <= _MOST:
        return True
    edges = [v.as_py() for v in pc.min_max(values).values() if v.is_valid]
    # As whole numbers of the last digit: a Decimal would be rounded.
    most = max((abs(int(v.scaleb(kind.scale, _WIDE))) for v in edges), default=0)
    return count * most < _MOST


def of_one_length(lists: Sequence[pa.Array]) -> list[pa.Array]:
    """The lists; null where values are stored without their orders.

    Those of an order that has come since cannot be told, so it begins anew, as an aggregate that
    was added does.
    """
    odd = lengths_of(lists[0]) != lengths_of(lists[-1])
    if not odd.any():
        return [*lists]
    return [pc.if_else(pa.array(odd), pa.scalar(None, of.type), of) for of in lists]


def lengths_of(lists: pa.Array) -> np.ndarray[Any, Any]:
    """How many elements each list has; 0 for null."""
    made: np.ndarray[Any, Any] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return made
