"""The newest row of each key."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from bucketstate.stateful.codec.instants import MICROS_PER_MILLI, MILLISECOND
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import ORDERED, column_of
from bucketstate.stateful.ready.forgetting import Forgetting, forget_at, standing
from bucketstate.stateful.ready.groups import at, by_key, ranks
from bucketstate.stateful.ready.recipe import Recipe
from bucketstate.stateful.ready.stored import (
    arrow_of_type,
    from_stored,
    stacked,
    stored_type,
    to_stored,
)
from bucketstate.stateful.run.definition import Definition, define
from bucketstate.stateful.run.keys import key_field
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence


def latest(by: str, *, ttl: timedelta | None = None, clock: str = "processing") -> Recipe:
    """The row of each key with the greatest value of a column, put out when it is a new one.

    The last one to come counts where several are equal. Rows whose value is null are left out. The
    output has the columns of the rows.

    Args:
        by: the column that says which row is newer, such as a time or a version.
        ttl: a key's row is forgotten when it had no row for so long; for ever without.
        clock: what `ttl` goes by: "processing", or "event" for `by`, which has to be a timestamp.

    Raises:
        DefinitionError: a ttl that is no span of time, or an unknown clock. `apply` raises it for a
            column that is not there, or has no order.
    """
    return Latest(by, ttl, clock)


class Latest(Recipe):
    name = "latest"
    output_mode = "update"

    def __init__(self, by: str, ttl: timedelta | None, clock: str) -> None:
        self._by = by
        if clock not in ("processing", "event"):
            raise DefinitionError(f"latest: clock={clock!r}: it must be 'processing' or 'event'.")
        if clock == "event" and ttl is None:
            raise DefinitionError("latest: clock='event' is what ttl= goes by: give that, too.")
        by_event = clock == "event"
        self._ttl = self._goes_by(by if by_event else None, ttl, "ttl")

    def definition(self, schema: StructType, by: Sequence[str]) -> Definition:
        kinds = (TimestampType,) if self.timeout == "event" else ORDERED
        column_of(schema, self._by, "by", self.name, *kinds)
        keys = [key_field(schema, name).name for name in by]
        if self._by in keys:
            raise DefinitionError(
                f"latest: by={self._by!r} is a grouping column, so that all rows of a key have the "
                "same. Take another one."
            )
        columns = [field for field in schema.fields if field.name not in keys]
        state = StructType([StructField(f.name, stored_type(f.dataType)) for f in columns])
        types = {f.name: f.dataType for f in columns}
        output = StructType([StructField(f.name, f.dataType) for f in schema.fields])
        kind = _Latest if self._ttl is None else _Fading
        function = kind(self._by, keys, types, self._ttl, self.timeout)
        return define(function, state=state, output=output)


class _Latest:
    """The function. Picklable, without side effects."""

    def __init__(
        self,
        by: str,
        keys: list[str],
        types: dict[str, DataType],
        ttl: int | None,
        timeout: str | None,
    ) -> None:
        self.__name__ = Latest.name
        self._by = by
        self._keys = keys
        self._types = {name: arrow_of_type(kind) for name, kind in types.items()}
        self._ttl = ttl
        self._timeout = timeout

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        groups = by_key(keys, rows)
        state = self._standing(keys)
        both = {
            name: stacked(state.column(name), to_stored(rows.column(name))) for name in self._types
        }
        places = groups.last_greatest(ranks(both[self._by]))
        new = {name: at(column, places) for name, column in both.items()}
        # The first places are those of what is kept.
        changed = pa.array(places >= len(keys))
        keys.update(new, where=changed)
        self._forget(keys, new[self._by])
        shown = {n: from_stored(c, self._types[n]).filter(changed) for n, c in new.items()}
        grouping = zip(self._keys, keys.frame.columns, strict=True)
        return {**{n: c.filter(changed) for n, c in grouping}, **shown}

    def _standing(self, keys: Keys[Any]) -> pa.RecordBatch:
        if self._ttl is None:
            state: pa.RecordBatch = keys.state
            return state
        return standing(keys, keys.watermark if self._timeout == "event" else keys.now)

    def _forget(self, keys: Keys[Any], newest: pa.Array) -> None:
        if self._ttl is None:
            return
        if self._timeout == "event":
            forget_at(keys, pc.add(newest, self._ttl * MICROS_PER_MILLI))
        else:
            keys.timeout_after(self._ttl * MILLISECOND, where=pc.is_valid(newest))


class _Fading(Forgetting, _Latest):
    """It forgets keys without rows."""
