"""Aggregates of windows of time, for each key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import window

from bucketstate.stateful.codec.instants import MICROS_PER_MILLI, MILLISECOND
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import Aggregate, Bound, bound_all, together
from bucketstate.stateful.ready.instants import watermark_of
from bucketstate.stateful.ready.recipe import Recipe, millis_of
from bucketstate.stateful.ready.reduce import Reducing, defined, output_of, state_of
from bucketstate.stateful.ready.spans import Spanned, call_at, spans_of
from bucketstate.stateful.ready.stored import to_stored
from bucketstate.stateful.run.definition import Definition
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import StructType

Emit = Literal["final", "changes"]

WINDOW = "window"
"""The grouping column that `windows` adds, and its fields `start` and `end`."""


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
    return Windows(at, length, together(aggregates, named, "windows"), slide, start, emit)


class Windows(Spanned):
    name = "windows"
    span = WINDOW
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
        super().__init__(at)
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

    def spans(self) -> Column:
        lengths = (self._length, self._slide, self._start)
        return window(self._at, *(f"{ms} milliseconds" for ms in lengths))

    def table(self, rows: pa.Table) -> pa.Table:
        rows = rows.filter(rows.column(self._at).is_valid())
        length, slide, start = (
            ms * MICROS_PER_MILLI for ms in (self._length, self._slide, self._start)
        )
        at = to_stored(rows.column(self._at)).to_numpy()
        last = (at - start) // slide * slide + start
        backs = np.arange(-(-length // slide)) * slide
        # Each row's windows one behind the other, and the rows in their order.
        begins = (last[:, None] - backs).ravel()
        rows_of = np.repeat(np.arange(len(at)), len(backs))
        within = at[rows_of] < begins + length
        begins = begins[within]
        spans = spans_of(pa.array(begins), pa.array(begins + length))
        return rows.take(pa.array(rows_of[within])).append_column(WINDOW, spans)


class _Windowed(Reducing):
    """The function, each of whose keys is one window. Picklable, without side effects."""

    def __init__(self, name: str, bounds: Sequence[Bound], *, final: bool) -> None:
        super().__init__(name, bounds)
        self._final = final

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        made = self.joined(keys, rows)
        ends = to_stored(keys.frame.column(WINDOW).field("end"))
        over = pc.less_equal(ends, watermark_of(keys))
        going = pc.invert(over)
        keys.update(state_of(made), where=going)
        keys.clear(where=over)
        call_at(keys, ends, where=going)
        output = self.output(keys, made)
        return {n: c.filter(over) for n, c in output.items()} if self._final else output

    def handleExpiredTimer(self, keys: Keys[Any]) -> Any:
        state = keys.state
        keys.clear()
        if not self._final:
            return None
        return self.output(keys, [(b, b.of_state(state)) for b in self.bounds])
