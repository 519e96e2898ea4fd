"""Rows that pass or not: duplicates within a time to live, and limits of rates.

Both are the generic cell rate algorithm of ITU-T I.371, which keeps one number of each key: the
time at which its next row would be due, if rows came evenly.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from bucketstate.stateful.codec.instants import MICROS_PER_MILLI, micros
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.forgetting import Forgetting, forget_at
from bucketstate.stateful.ready.groups import of_rows, plain, valid_of
from bucketstate.stateful.ready.recipe import Recipe, time_column
from bucketstate.stateful.ready.stored import to_stored
from bucketstate.stateful.run.definition import Definition, define
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

_DUE = "due_at"
_FOR_EVER = 1 << 62
_AT_ONCE = -_FOR_EVER


def dedup(*, ttl: timedelta | None = None, at: str | None = None) -> Recipe:
    """The first row of each key; another one when its time to live is over.

    With `by` the columns that make two rows one. Which of a batch's rows is the first `at` says.
    The output has the columns of the rows.

    Args:
        ttl: how long after a row that passed others of its key do not; for ever without.
        at: the event-time column, with a watermark, that the time to live goes by; processing time
            without. Of rows that come after younger ones fewer pass, and none that has no time.

    Raises:
        DefinitionError: a ttl that is no span of time, or `at` without one. `apply` raises it for
            columns that are not there.
    """
    return Passing("dedup", 1, ttl, at)


def rate_limit(rows: int, per: timedelta, *, at: str | None = None) -> Recipe:
    """At most so many rows of each key in a span of time; the others do not pass.

    It is a bucket of tokens: `rows` may pass at once, and they are made up for evenly over `per`.
    The output has the columns of the rows.

    Args:
        rows: how many.
        per: the span of time.
        at: as for `dedup`. With processing time all rows of a batch are of one time.

    Raises:
        DefinitionError: rows or a span that are none. `apply` raises it for columns that are not
            there.
    """
    if type(rows) is not int or rows < 1:
        raise DefinitionError(f"rate_limit: rows={rows!r}: give a whole number from 1.")
    return Passing("rate_limit", rows, per, at)


class Passing(Recipe):
    def __init__(self, name: str, rows: int, per: timedelta | None, at: str | None) -> None:
        self.name = name
        span = self._goes_by(at, per, "ttl" if name == "dedup" else "per")
        self._per = None if span is None else span * MICROS_PER_MILLI
        if self._per is not None and rows > self._per:
            raise DefinitionError(
                f"{name}: {rows} rows in {per} are more than one in a microsecond: give fewer."
            )
        self._rows = rows

    def definition(self, schema: StructType, _by: Sequence[str]) -> Definition:
        if self.event_time is not None:
            time_column(schema, self.event_time, self.name)
        output = StructType([StructField(f.name, f.dataType) for f in schema.fields])
        state = StructType([StructField(_DUE, LongType())])
        kind = _Once if self._per is None else _Passing
        return define(
            kind(self.name, self._rows, self._per or _FOR_EVER, self.event_time),
            state=state,
            output=output,
        )


class _Once:
    """The function, without a clock. Picklable, without side effects."""

    def __init__(self, name: str, rows: int, per: int, at: str | None) -> None:
        self.__name__ = name
        self._each = per // rows
        self._ahead = self._each * (rows - 1)
        self._at = at

    def handleInputRows(self, keys: Keys[Any], rows: pa.RecordBatch) -> Any:
        passes, due = self._passed(keys, rows)
        found = pa.array(due, mask=due == _AT_ONCE)
        keys.update({_DUE: found}, where=found.is_valid())
        self._forget(keys, due)
        return rows.filter(pa.array(passes))

    def _passed(
        self, keys: Keys[Any], rows: pa.RecordBatch
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Which rows pass, and when each key's next one is due; `_AT_ONCE` where none passed."""
        of = of_rows(keys, rows)
        due = keys.state.column(_DUE).fill_null(_AT_ONCE).to_numpy().copy()
        passes = np.zeros(rows.num_rows, dtype=bool)
        if self._at is None:
            now = micros(keys.now)
            order, times = np.arange(len(of)), np.full(len(of), now)
        else:
            column = to_stored(rows.column(self._at))
            times = plain(column)
            order = np.lexsort((times, of))
            order = order[valid_of(column)[order]]
        each, ahead = self._each, self._ahead
        key = -1
        next_due = _AT_ONCE
        # One row after the other, as each depends on those before it.
        for row, n, time in zip(
            order.tolist(), of[order].tolist(), times[order].tolist(), strict=True
        ):
            if n != key:
                if key >= 0:
                    due[key] = next_due
                key, next_due = n, int(due[n])
            if next_due - ahead <= time:
                passes[row] = True
                next_due = max(next_due, time) + each
        if key >= 0:
            due[key] = next_due
        return passes, due

    def _forget(self, keys: Keys[Any], due: np.ndarray[Any, Any]) -> None:
        """Without a time to live nothing is."""


class _Passing(Forgetting, _Once):
    """The function, with a clock: what is due in the past is as good as nothing."""

    def _forget(self, keys: Keys[Any], due: np.ndarray[Any, Any]) -> None:
        some = due != _AT_ONCE
        if self._at is None:
            left = np.maximum(np.where(some, due, 0) - micros(keys.now), MICROS_PER_MILLI)
            spans = pa.array(left, mask=~some)
            keys.timeout_after(spans.cast(pa.duration("us")))
            return
        forget_at(keys, pa.array(due, mask=~some))
