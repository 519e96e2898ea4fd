"""Aggregates of sessions, for each key: rows that follow each other within a gap."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import col, expr, struct
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from bucketstate.stateful.codec.instants import MICROS_PER_MILLI
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import Aggregate, Bound, bound_all, together
from bucketstate.stateful.ready.groups import Groups, of_rows
from bucketstate.stateful.ready.instants import watermark_of
from bucketstate.stateful.ready.recipe import Recipe, millis_of
from bucketstate.stateful.ready.reduce import columns_of, join, output_of, state_of
from bucketstate.stateful.ready.spans import SPAN, Spanned, call_at, spans_of
from bucketstate.stateful.ready.stored import to_stored
from bucketstate.stateful.run.definition import Definition, define
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

SESSION = "session"
"""The column that `sessions` puts out, with fields `start` and `end`."""

_KEPT = "sessions"
_START, _END = "start_at", "end_at"


def sessions(
    at: str,
    gap: timedelta,
    aggregates: Mapping[str, Aggregate] | None = None,
    /,
    **named: Aggregate,
) -> Recipe:
    """Aggregates of each key's sessions; a session ends with a gap without rows.

    The sessions and the rows that come too late for theirs are those of Spark's `session_window`.
    The output has the grouping columns, `session` with `start` and `end`, a gap after its last row,
    and the aggregates: a row when the watermark has passed the end. Where sessions of earlier
    batches grow together, the rows of the one that began earlier count as having come first.

    Args:
        at: the event-time column, with a watermark.
        gap: of event time.
        aggregates: by name, where a name cannot be an argument.
        named: by name: `clicks=stateful.count()`.

    Raises:
        DefinitionError: a gap that is no span of time. `apply` raises it as of `reduce`.
    """
    return Sessions(at, gap, together(aggregates, named, "sessions"))


class Sessions(Spanned):
    name = "sessions"
    span = SESSION

    def __init__(self, at: str, gap: timedelta, aggregates: Mapping[str, Aggregate]) -> None:
        super().__init__(at)
        self._gap = millis_of(gap, "sessions: gap")
        self._aggregates = dict(aggregates)

    def definition(self, schema: StructType, by: Sequence[str]) -> Definition:
        bounds = bound_all(self._aggregates, schema, self.name)
        of_keys = output_of([], schema, by, self.name).fields
        results = output_of(bounds, schema, by, self.name).fields[len(of_keys) :]
        output = StructType([*of_keys, StructField(SESSION, SPAN), *results])
        if SESSION in [f.name for f in results]:
            raise DefinitionError(
                f"sessions: an aggregate cannot be called {SESSION}, which is put out by itself. "
                "Rename it."
            )
        fields = [StructField(name, LongType()) for name in (_START, _END)]
        fields += [field for bound in bounds for field in bound.fields]
        state = StructType([StructField(_KEPT, ArrayType(StructType(fields)))])
        return define(_Sessions(self.name, bounds, state), state=state, output=output)

    def spans(self) -> Column:
        at = col(self._at)
        end = at + expr(f"interval {self._gap * MICROS_PER_MILLI} microseconds")
        return struct(at.alias("start"), end.alias("end"))

    def table(self, rows: pa.Table) -> pa.Table:
        rows = rows.filter(rows.column(self._at).is_valid())
        at = to_stored(rows.column(self._at)).combine_chunks()
        return rows.append_column(SESSION, spans_of(at, pc.add(at, self._gap * MICROS_PER_MILLI)))


class _Sessions:
    """The function. Picklable, without side effects."""

    def __init__(self, name: str, bounds: Sequence[Bound], state: StructType) -> None:
        self.__name__ = name
        self._bounds = bounds
        self._state = state

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        kept, kept_of = _flat(keys.state.column(_KEPT))
        of = np.concatenate((kept_of, of_rows(keys, rows)))
        stored = [kept.field(n) for n in range(kept.type.num_fields)]
        spans = rows.column(SESSION)
        starts, ends = (
            np.concatenate((s.to_numpy(), to_stored(spans.field(edge)).to_numpy()))
            for s, edge in zip(stored[:2], ("start", "end"), strict=True)
        )
        numbers, of_session = _sessions(of, starts, ends)
        groups = Groups(numbers, len(of_session))
        state = pa.RecordBatch.from_struct_array(kept)
        made = [(b, join(b, b.of_state(state), b.lifted(rows), groups)) for b in self._bounds]
        return self._settled(
            keys,
            of_session,
            {
                _START: pa.array(groups.least(starts)),
                _END: pa.array(groups.most(ends)),
                **state_of(made),
            },
        )

    def handleExpiredTimer(self, keys: Keys[Any]) -> Any:
        kept, of = _flat(keys.state.column(_KEPT))
        return self._settled(keys, of, columns_of(pa.RecordBatch.from_struct_array(kept)))

    def _settled(
        self, keys: Keys[Any], of: np.ndarray[Any, Any], found: dict[str, pa.Array]
    ) -> dict[str, pa.Array]:
        """Keeps the sessions that go on, and puts out those that have ended.

        They are of these keys, each key's together.
        """
        over = pc.less_equal(found[_END], watermark_of(keys))
        ended = over.to_numpy(zero_copy_only=False)
        left = {n: c.filter(pc.invert(over)) for n, c in found.items()}
        counts = np.bincount(of[~ended], minlength=len(keys))
        some = pa.array(counts > 0)
        offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
        rows = pa.StructArray.from_arrays([*left.values()], names=[*left])
        keys.update({_KEPT: pa.ListArray.from_arrays(offsets, rows)}, where=some)
        keys.clear(where=pc.invert(some))
        due = np.zeros(len(keys), np.int64)
        if len(rows):
            going = np.flatnonzero(counts)
            groups = Groups(np.searchsorted(going, of[~ended]), len(going))
            due[going] = groups.least(left[_END].to_numpy())
        call_at(keys, pa.array(due), where=some)
        gone = pa.RecordBatch.from_pydict({n: c.filter(over) for n, c in found.items()})
        keyed = keys.frame.take(pa.array(of[ended]))
        return {
            **columns_of(keyed),
            SESSION: spans_of(gone.column(_START), gone.column(_END)),
            **{b.name: b.shown(b.of_state(gone)) for b in self._bounds},
        }


def _flat(lists: pa.Array) -> tuple[pa.StructArray, np.ndarray[Any, Any]]:
    """The sessions of all keys, and which key each is of."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return lists.flatten(), np.repeat(np.arange(len(lists)), lengths)


def _sessions(
    of: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The number of each span's session, and the key of each session.

    Spans of one key that overlap or touch are of one session. Sessions come key by key.
    """
    order = np.lexsort((starts, of))
    size = len(order)
    if not size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    different, ranks = np.unique(ends, return_inverse=True)
    # The latest end so far of the same key: ends as ranks, with each key's above those before it.
    most = np.maximum.accumulate(of[order] * size + ranks[order]) % size
    same_key = of[order][1:] == of[order][:-1]
    begins = np.concatenate(([True], ~same_key | (starts[order][1:] > different[most[:-1]])))
    numbers = np.empty(size, np.int64)
    numbers[order] = np.cumsum(begins) - 1
    return numbers, of[order][begins]
