"""The aggregates of ready-made functions: what a user names, and what reduces columns.

Each is a monoid, as in Algebird's `Aggregator`: every row becomes a small state of its own, states
of one group are joined, and a joined one is shown as the result. So a state that was stored is one
more value beside the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.errors import DefinitionError, WrongTypeError, did_you_mean
from bucketstate.stateful.ready.groups import (
    added,
    at,
    lengths_of,
    of_one_length,
    plain,
    ranks,
    valid_of,
)
from bucketstate.stateful.ready.stored import (
    arrow_of_type,
    from_stored,
    stored_type,
    to_stored,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bucketstate.stateful.ready.groups import Groups

    Parts = list[pa.Array]

_MOST_DIGITS = 38
_MORE_DIGITS = 10
_WANTED: dict[type[DataType], str] = {NumericType: "a number", TimestampType: "a timestamp"}
ORDERED = (
    NumericType,
    StringType,
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    TimestampType,
    TimestampNTZType,
)


class Aggregate(ABC):
    """What is to be known of a group's rows; `count` and its like make it. Immutable."""

    @abstractmethod
    def bound(self, name: str, schema: StructType) -> Bound:
        """It over rows of this schema, under its name in the output.

        Raises:
            DefinitionError: a column is not there, or of a type that it cannot be of.
        """


class Bound(ABC):
    """An aggregate over columns of known types: picklable, without side effects.

    Args:
        name: of the result.
        result: its type.
        fields: of the state, which may all be null: so is the state of no rows.
    """

    def __init__(self, name: str, result: DataType, fields: Sequence[tuple[str, DataType]]) -> None:
        self.name = name
        self.result = result
        self.fields = [StructField(field, kind) for field, kind in fields]
        self.kind = arrow_of_type(result)

    @abstractmethod
    def lifted(self, rows: pa.RecordBatch) -> Parts:
        """The state of each row alone."""

    @abstractmethod
    def joined(self, parts: Parts, groups: Groups) -> Parts:
        """The state of each group, of those of its values. Raises WrongTypeError."""

    @abstractmethod
    def shown(self, parts: Parts) -> pa.Array:
        """The results."""

    def of_state(self, states: pa.RecordBatch) -> Parts:
        """The parts as they were stored."""
        return [states.column(f.name) for f in self.fields]


@dataclass(frozen=True)
class Count(Aggregate):
    column: str | None

    def bound(self, name: str, schema: StructType) -> Bound:
        if self.column is not None:
            column_of(schema, self.column, name, "count")
        return _Count(name, self.column)


class _Count(Bound):
    def __init__(self, name: str, column: str | None) -> None:
        super().__init__(name, LongType(), [(name, LongType())])
        self._column = column

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        if self._column is None:
            return [pa.array(np.ones(rows.num_rows, np.int64))]
        return [pa.array(valid_of(rows.column(self._column)).astype(np.int64))]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        return [pa.array(groups.total(plain(parts[0])))]

    def shown(self, parts: Parts) -> pa.Array:
        return parts[0].fill_null(0)


@dataclass(frozen=True)
class Sum(Aggregate):
    column: str

    def bound(self, name: str, schema: StructType) -> Bound:
        kind = column_of(schema, self.column, name, "sum", NumericType)
        return _Sum(name, self.column, _sum_type(kind))


def _sum_type(kind: DataType) -> DataType:
    if isinstance(kind, DecimalType):
        return DecimalType(min(_MOST_DIGITS, kind.precision + _MORE_DIGITS), kind.scale)
    return LongType() if isinstance(kind, IntegralType) else DoubleType()


class _Sum(Bound):
    def __init__(self, name: str, column: str, kind: DataType) -> None:
        super().__init__(name, kind, [(name, kind)])
        self._column = column

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        return [rows.column(self._column).cast(self.kind)]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        return [_added(self.name, self.result, parts[0], groups)]

    def shown(self, parts: Parts) -> pa.Array:
        return parts[0]


def _added(name: str, kind: DataType, values: pa.Array, groups: Groups) -> pa.Array:
    try:
        return added(values, groups)
    except OverflowError:
        raise WrongTypeError(
            f"The sum {name} of a key does not fit into {kind.simpleString()}. Cast the column to "
            "a wider type, such as decimal(38, 0) or double."
        ) from None


@dataclass(frozen=True)
class Mean(Aggregate):
    column: str

    def bound(self, name: str, schema: StructType) -> Bound:
        column_of(schema, self.column, name, "mean", NumericType)
        return _Mean(name, self.column)


class _Mean(Bound):
    def __init__(self, name: str, column: str) -> None:
        parts = [(f"{name}_sum", DoubleType()), (f"{name}_count", LongType())]
        super().__init__(name, DoubleType(), parts)
        self._column = column

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        values = rows.column(self._column)
        # Rounded where they are beyond the whole numbers that floats have, as in Spark's avg.
        numbers = values.cast(pa.float64(), safe=False)
        return [numbers, pa.array(valid_of(values).astype(np.int64))]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        total, count = parts
        return [added(total, groups), pa.array(groups.total(plain(count)))]

    def shown(self, parts: Parts) -> pa.Array:
        total, count = parts
        some = pc.if_else(pc.greater(count.fill_null(0), 0), count, pa.scalar(None, pa.int64()))
        return pc.divide(total, some.cast(pa.float64()))


@dataclass(frozen=True)
class Extreme(Aggregate):
    column: str
    greatest: bool

    def bound(self, name: str, schema: StructType) -> Bound:
        what = "max" if self.greatest else "min"
        kind = column_of(schema, self.column, name, what, *ORDERED)
        return _Extreme(name, self.column, kind, greatest=self.greatest)


class _Extreme(Bound):
    def __init__(self, name: str, column: str, kind: DataType, *, greatest: bool) -> None:
        super().__init__(name, kind, [(name, stored_type(kind))])
        self._column = column
        self._greatest = greatest

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        return [to_stored(rows.column(self._column))]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        (values,) = parts
        found = ranks(values)
        places = groups.last_greatest(found) if self._greatest else groups.first_smallest(found)
        return [at(values, places)]

    def shown(self, parts: Parts) -> pa.Array:
        return from_stored(parts[0], self.kind)


@dataclass(frozen=True)
class Outermost(Aggregate):
    """The first or the last value of a column."""

    column: str
    by: str | None
    last: bool

    def bound(self, name: str, schema: StructType) -> Bound:
        what = "last" if self.last else "first"
        kind = column_of(schema, self.column, name, what)
        by: DataType = BooleanType()
        if self.by is not None:
            by = column_of(schema, self.by, name, f"{what}(by=...)", *ORDERED)
        return _Outermost(name, self.column, kind, self.by, by, last=self.last)


class _Outermost(Bound):
    def __init__(
        self, name: str, column: str, kind: DataType, by: str | None, order: DataType, *, last: bool
    ) -> None:
        # Without an order of its own, whether there was a row at all.
        parts = [(name, stored_type(kind)), (f"{name}_by", stored_type(order))]
        super().__init__(name, kind, parts)
        self._column = column
        self._by = by
        self._last = last

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        order = (
            pa.array(np.ones(rows.num_rows, dtype=bool))
            if self._by is None
            else to_stored(rows.column(self._by))
        )
        return [to_stored(rows.column(self._column)), order]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        values, order = parts
        found = ranks(order)
        places = groups.last_greatest(found) if self._last else groups.first_smallest(found)
        return [at(values, places), at(order, places)]

    def shown(self, parts: Parts) -> pa.Array:
        return from_stored(parts[0], self.kind)


@dataclass(frozen=True)
class Top(Aggregate):
    count: int
    column: str
    by: str | None

    def bound(self, name: str, schema: StructType) -> Bound:
        if type(self.count) is not int or self.count < 1:
            raise DefinitionError(f"{name}=top({self.count!r}, ...): give a whole number from 1.")
        if self.by is None:
            kind, by = column_of(schema, self.column, name, "top", *ORDERED), None
        else:
            kind = column_of(schema, self.column, name, "top")
            by = column_of(schema, self.by, name, "top(by=...)", *ORDERED)
        return _Top(name, self.count, self.column, kind, self.by, by)


class _Top(Bound):
    def __init__(
        self,
        name: str,
        count: int,
        column: str,
        kind: DataType,
        by: str | None,
        order: DataType | None,
    ) -> None:
        parts = [(name, ArrayType(stored_type(kind)))]
        if order is not None:
            parts.append((f"{name}_by", ArrayType(stored_type(order))))
        super().__init__(name, ArrayType(kind), parts)
        self._count = count
        self._columns = [column] if by is None else [column, by]

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        ends = pa.array(np.arange(rows.num_rows + 1), pa.int32())
        values = [to_stored(rows.column(name)) for name in self._columns]
        return [pa.ListArray.from_arrays(ends, v) for v in values]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        parts = of_one_length(parts)
        lengths = lengths_of(parts[0])
        values = [part.flatten() for part in parts]
        of = type(groups)(np.repeat(groups.numbers, lengths), groups.count)
        places, ends = of.greatest(ranks(values[-1]), self._count)
        offsets = pa.array(ends, pa.int32())
        taken = [v.take(pa.array(places)) for v in values]
        return [pa.ListArray.from_arrays(offsets, v) for v in taken]

    def shown(self, parts: Parts) -> pa.Array:
        (made, *_) = parts
        inner = from_stored(made.flatten(), self.kind.value_type)
        offsets = np.concatenate(([0], np.cumsum(lengths_of(made))))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner)


def column_of(
    schema: StructType, column: str, name: str, what: str, *kinds: type[DataType]
) -> DataType:
    """The type of a column that an aggregate is of.

    Raises:
        DefinitionError: it is not there, or of none of these kinds.
    """
    if not isinstance(column, str):
        raise DefinitionError(f"{name}={what}({column!r}): give the name of a column.")
    if column not in schema.names:
        raise DefinitionError(
            f"{name}={what}({column!r}): the rows have no such column. "
            f"{did_you_mean(column, schema.names)}They have {', '.join(schema.names)}."
        )
    found = schema[column].dataType
    if kinds and not isinstance(found, kinds):
        wanted = "what has an order" if len(kinds) > 1 else _WANTED[kinds[0]]
        raise DefinitionError(
            f"{name}={what}({column!r}): the column is {found.simpleString()}, expected {wanted}. "
            "Cast it, or take another one."
        )
    return found


def together(
    aggregates: Mapping[str, Aggregate] | None, named: Mapping[str, Aggregate], what: str
) -> dict[str, Aggregate]:
    """Aggregates that are given as a dict and by name. DefinitionError for no dict."""
    if not isinstance(aggregates, Mapping | None):
        raise DefinitionError(
            f"{what}: the aggregates are {aggregates!r}, expected a dict of them by name, or each "
            "as an argument, such as flights=stateful.count()."
        )
    return {**(aggregates or {}), **named}


def bound_all(aggregates: Mapping[str, Aggregate], schema: StructType, what: str) -> list[Bound]:
    """Aggregates over rows of this schema.

    Raises:
        DefinitionError: there are none, one is something else, or two need one field of the state.
    """
    if not aggregates:
        raise DefinitionError(
            f"{what} has no aggregates: give some by name, such as flights=stateful.count()."
        )
    made = []
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            raise DefinitionError(
                f"{what}: {name} is {aggregate!r}, expected an aggregate such as "
                f"stateful.sum({'column'!r})."
            )
        made.append(aggregate.bound(name, schema))
    seen: dict[str, str] = {}
    for one in made:
        for field in one.fields:
            if field.name in seen:
                raise DefinitionError(
                    f"{what}: {one.name} and {seen[field.name]} both keep a field {field.name} in "
                    "the state. Rename one of them."
                )
            seen[field.name] = one.name
    return made
