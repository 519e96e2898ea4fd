"""Named aggregates of each key, kept from batch to batch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from bucketstate.stateful.codec.instants import MICROS_PER_MILLI, MILLISECOND
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import Aggregate, Bound, Extreme, bound_all, together
from bucketstate.stateful.ready.forgetting import Forgetting, forget_at, standing
from bucketstate.stateful.ready.groups import Groups, by_key
from bucketstate.stateful.ready.instants import watermark_of
from bucketstate.stateful.ready.recipe import Recipe, time_column
from bucketstate.stateful.ready.stored import stacked
from bucketstate.stateful.run.definition import Definition, define
from bucketstate.stateful.run.keys import key_field
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    Parts = list[pa.Array]

_HEARD = "heard_at"


def reduce(
    aggregates: Mapping[str, Aggregate] | None = None,
    /,
    *,
    ttl: timedelta | None = None,
    at: str | None = None,
    **named: Aggregate,
) -> Recipe:
    """Aggregates of all rows that a key ever had; a row for each key of a batch is put out.

    The output has the grouping columns and the aggregates. One that is added later counts from then
    on; null is what it is of no rows. Use it with `output_mode="update"`, which is the default.

    Args:
        aggregates: by name, where a name cannot be an argument.
        ttl: what is kept of a key is forgotten when it had no row for so long; for ever without.
        at: the event-time column that `ttl` goes by; processing time without. A key that had no
            row with such a time goes by the watermark; of the first batch, which has none, it stays
            until it has another row.
        named: by name: `flights=stateful.count()`.

    Raises:
        DefinitionError: a ttl that is no span of time, or `at` without one. `apply` raises it for
            columns that are not there, or of a type that an aggregate cannot be of.
    """
    return Reduce(together(aggregates, named, "reduce"), ttl, at)


class Reduce(Recipe):
    name = "reduce"
    output_mode = "update"

    def __init__(
        self, aggregates: Mapping[str, Aggregate], ttl: timedelta | None, at: str | None
    ) -> None:
        self._aggregates = dict(aggregates)
        self._ttl = self._goes_by(at, ttl, "ttl")

    def definition(self, schema: StructType, by: Sequence[str]) -> Definition:
        bounds = bound_all(self._aggregates, schema, self.name)
        output = output_of(bounds, schema, by, self.name)
        if self._ttl is None:
            return defined(Reducing(self.name, bounds), bounds, output)
        if self.event_time is None:
            return defined(_Silent(self.name, bounds, self._ttl), bounds, output)
        time_column(schema, self.event_time, self.name)
        heard = Extreme(self.event_time, greatest=True).bound(_HEARD, schema)
        return defined(_Heard(self.name, bounds, heard, self._ttl), [*bounds, heard], output)


class Reducing:
    """The function: joins what is kept with the rows. Picklable, without side effects."""

    def __init__(self, name: str, bounds: Sequence[Bound]) -> None:
        self.__name__ = name
        self.bounds = bounds

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        made = self.joined(keys, rows)
        keys.update(state_of(made))
        return self.output(keys, made)

    def joined(self, keys: Keys[Any], rows: pa.RecordBatch) -> list[tuple[Bound, Parts]]:
        """What is kept of each key from now on."""
        groups = by_key(keys, rows)
        state = self.standing(keys)
        return [(b, join(b, b.of_state(state), b.lifted(rows), groups)) for b in self.bounds]

    def standing(self, keys: Keys[Any]) -> pa.RecordBatch:
        state: pa.RecordBatch = keys.state
        return state

    def output(self, keys: Keys[Any], made: list[tuple[Bound, Parts]]) -> dict[str, pa.Array]:
        """A row for each key."""
        return {**columns_of(keys.frame), **{b.name: b.shown(parts) for b, parts in made}}


class _Silent(Forgetting, Reducing):
    """It forgets keys without rows, by processing time."""

    def __init__(self, name: str, bounds: Sequence[Bound], ttl: int) -> None:
        super().__init__(name, bounds)
        self._ttl = ttl

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        keys.timeout_after(self._ttl * MILLISECOND)
        return super().handleInputRows(keys, rows)

    def standing(self, keys: Keys[Any]) -> pa.RecordBatch:
        return standing(keys, keys.now)


class _Heard(Forgetting, Reducing):
    """It forgets keys without rows, by the times of rows."""

    def __init__(self, name: str, bounds: Sequence[Bound], heard: Bound, ttl: int) -> None:
        super().__init__(name, [*bounds, heard])
        self._ttl = ttl

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        *made, (heard, (last,)) = self.joined(keys, rows)
        if watermark := watermark_of(keys):
            # A key whose rows have no time would stay for ever. In the first batch is no watermark.
            last = pc.fill_null(last, pa.scalar(watermark, last.type))
        keys.update(state_of([*made, (heard, [last])]))
        forget_at(keys, pc.add(last, self._ttl * MICROS_PER_MILLI))
        return self.output(keys, made)

    def standing(self, keys: Keys[Any]) -> pa.RecordBatch:
        return standing(keys, keys.watermark)


def join(of: Bound, stored: Parts, rows: Parts, groups: Groups) -> Parts:
    """States that were stored, and those of rows, each group's joined."""
    # Of rows there may be more to know than is kept.
    more = [pa.nulls(len(stored[0]), r.type) for r in rows[len(stored) :]]
    return of.joined([*map(stacked, [*stored, *more], rows)], groups)


def state_of(made: Sequence[tuple[Bound, Parts]]) -> dict[str, pa.Array]:
    """The fields of the state."""
    return {
        field.name: part
        for bound, parts in made
        for field, part in zip(bound.fields, parts, strict=True)
    }


def columns_of(table: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(table.schema.names, table.columns, strict=True))


def output_of(
    bounds: Sequence[Bound], schema: StructType, by: Sequence[str], what: str
) -> StructType:
    """The grouping columns, and the results. Raises DefinitionError where names are the same."""
    for one in bounds:
        if one.name in by:
            raise DefinitionError(
                f"{what}: {one.name} is a grouping column and an aggregate. Rename the aggregate."
            )
    fields = [StructField(name, key_field(schema, name).dataType) for name in by]
    return StructType([*fields, *(StructField(b.name, b.result) for b in bounds)])


def defined(function: Any, bounds: Sequence[Bound], output: StructType) -> Definition:
    state = StructType([field for bound in bounds for field in bound.fields])
    return define(function, state=state, output=output)
