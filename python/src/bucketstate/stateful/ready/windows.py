"""Aggregates of windows of time, for each key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import window
from pyspark.sql.types import StructField, StructType, TimestampType

from bucketstate.stateful.codec.instants import MILLISECOND
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import Aggregate, Bound, bound_all
from bucketstate.stateful.ready.instants import MILLI, instants, watermark_of
from bucketstate.stateful.ready.recipe import Recipe, millis_of, time_column, with_ends
from bucketstate.stateful.ready.reduce import Reducing, defined, output_of, state_of
from bucketstate.stateful.run.definition import Definition
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

Emit = Literal["final", "changes"]

WINDOW = "window"
"""The grouping column that `windows` adds, and its fields `start` and `end`."""

_INSTANT = pa.timestamp("us", "UTC")


def windows(
    at: str,
    length: timedelta,
    aggregates: Mapping[str, Aggregate] | None = None,
    /,
    *,
    slide: timedelta | None = None,
    start: timedelta = timedelta(0),
    emit: Emit = "final",
    **named: Aggregate,
) -> Recipe:
    """Aggregates of each key's windows of event time; tumbling, or with `slide` sliding ones.

    The windows and the rows that come too late for theirs are those of Spark's `window`. The output
    has the grouping columns, `window` with `start` and `end`, and the aggregates. Each window is a
    state of its own, which goes when the watermark passes its end.

    Args:
        at: the event-time column, with a watermark.
        length: of a window.
        aggregates: by name, where a name cannot be an argument.
        slide: from the start of a window to that of the next one; its length without.
        start: by how much the windows begin later than at 1970-01-01 00:00 UTC.
        emit: "final" for a row when the watermark has passed the window's end; "changes" for one in
            each batch with rows of the window, in `output_mode="update"`.
        named: by name: `flights=stateful.count()`.

    Raises:
        DefinitionError: a length or slide that is no span of time, a slide beyond the length, or an
            unknown emit. `apply` raises it as of `reduce`.
    """
    return Windows(at, length, {**(aggregates or {}), **named}, slide, start, emit)


class Windows(Recipe):
    name = "windows"
    timeout = "event"
    adds = (WINDOW,)

    def __init__(
        self,
        at: str,
        length: timedelta,
        aggregates: Mapping[str, Aggregate],
        slide: timedelta | None,
        start: timedelta,
        emit: Emit,
    ) -> None:
        self.event_time = self._at = at
        self._length = millis_of(length, "windows: length")
        self._slide = self._length if slide is None else millis_of(slide, "windows: slide")
        if self._slide > self._length:
            raise DefinitionError(
                f"windows: slide={slide!r} is longer than the windows, so that rows between two of "
                "them would be lost: give at most their length."
            )
        if not isinstance(start, timedelta) or start % MILLISECOND:
            raise DefinitionError(
                f"windows: start={start!r}: give a timedelta of whole milliseconds."
            )
        self._start = (start // MILLISECOND) % self._slide
        if emit not in ("final", "changes"):
            raise DefinitionError(f"windows: emit={emit!r}: it must be 'final' or 'changes'.")
        self.output_mode = "append" if emit == "final" else "update"
        self._emit = emit
        self._aggregates = dict(aggregates)

    def definition(self, schema: StructType, by: Sequence[str]) -> Definition:
        bounds = bound_all(self._aggregates, schema, self.name)
        output = output_of(bounds, schema, by, self.name)
        return defined(_Windowed(self.name, bounds, final=self._emit == "final"), bounds, output)

    def columns(self, schema: StructType) -> StructType:
        time_column(schema, self._at, self.name)
        if WINDOW in schema.names:
            raise DefinitionError(
                f"windows: the rows have a column {WINDOW}, which it adds. Rename that one."
            )
        return StructType([*schema.fields, StructField(WINDOW, window_type())])

    def project(self, rows: DataFrame) -> DataFrame:
        rows = super().project(rows)
        self.columns(rows.schema)
        spans = [f"{ms} milliseconds" for ms in (self._length, self._slide, self._start)]
        return with_ends(rows, self._at, WINDOW, window(self._at, *spans))

    def table(self, rows: pa.Table) -> pa.Table:
        rows = rows.filter(rows.column(self._at).is_valid())
        length, slide, start = (ms * MILLI for ms in (self._length, self._slide, self._start))
        at = rows.column(self._at).cast(_INSTANT).cast(pa.int64()).to_numpy()
        last = (at - start) // slide * slide + start
        backs = np.arange(-(-length // slide)) * slide
        # Each row's windows one behind the other, and the rows in their order.
        begins = (last[:, None] - backs).ravel()
        rows_of = np.repeat(np.arange(len(at)), len(backs))
        within = at[rows_of] < begins + length
        begins = begins[within]
        edges = [pa.array(edge).cast(_INSTANT) for edge in (begins, begins + length)]
        spans = pa.StructArray.from_arrays(edges, names=["start", "end"])
        return rows.take(pa.array(rows_of[within])).append_column(WINDOW, spans)

    def late_by(self, _event_time: str) -> str:
        return WINDOW


def window_type() -> StructType:
    return StructType([StructField("start", TimestampType()), StructField("end", TimestampType())])


class _Windowed(Reducing):
    """The function, each of whose keys is one window. Picklable, without side effects."""

    def __init__(self, name: str, bounds: Sequence[Bound], *, final: bool) -> None:
        super().__init__(name, bounds)
        self._final = final

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        made = self.joined(keys, rows)
        ends = keys.frame.column(WINDOW).field("end").cast(_INSTANT).cast(pa.int64())
        over = pc.less_equal(ends, watermark_of(keys))
        going = pc.invert(over)
        keys.update(state_of(made), where=going)
        keys.clear(where=over)
        # A timeout is reached once the watermark is beyond it, and a window ends with its end.
        keys.timeout_at(instants(pc.subtract(ends, MILLI)), where=going)
        output = self.output(keys, made)
        return {n: c.filter(over) for n, c in output.items()} if self._final else output

    def handleExpiredTimer(self, keys: Keys[Any]) -> Any:
        state = keys.state
        keys.clear()
        if not self._final:
            return None
        return self.output(keys, [(b, b.of_state(state)) for b in self.bounds])
