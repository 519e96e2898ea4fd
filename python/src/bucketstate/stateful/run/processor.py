"""Runs a definition as the `StatefulProcessor` that `transformWithState` takes.

It is Spark's flavour of rows, and not that of pandas: their values are exact (pandas makes floats
of whole numbers beside a null), a null key is one key, and for small groups it costs less.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate.stateful.codec.kept import SCHEMA, Kept
from bucketstate.stateful.run.chunks import columns_of_rows
from bucketstate.stateful.run.inputs import Inputs
from bucketstate.stateful.run.variables import Variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
    )
    from pyspark.sql.types import StructType

    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.output import Block
    from bucketstate.stateful.run.variables import Bound, PartErrors

STATE = "state"
"""The variable of what is not a part: version, timeout and document, as on the other operator."""


class OutputRow(dict[str, Any]):
    """A row as Spark's worker asks for it: by name, with the values as Arrow takes them."""

    def asDict(self, _recursive: bool = False) -> dict[str, Any]:
        return self


class Processor(StatefulProcessor):
    """One function on one query. Picklable until `init`; then of one task.

    Args:
        calls: of the function.
        key: of the groups.
        schema: of the rows.
        initial: of the rows of the initial state.
        watermarked: whether the query has a watermark.
        chunk: how many rows a chunk has at most.
        many: the same function for many keys, which the operator may run in the place of this.
    """

    def __init__(
        self,
        calls: Calls,
        key: KeyCodec,
        schema: StructType,
        initial: StructType | None,
        *,
        watermarked: bool,
        chunk: int,
        many: Any = None,
    ) -> None:
        self.many = many
        self._calls = calls
        self._key = key
        self._names = list(schema.names)
        self._initial = initial
        self._watermarked = watermarked
        self._chunk = chunk

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState(STATE, SCHEMA)
        self._variables = Variables(handle, self._calls.state)

    def handleInputRows(
        self, key: Any, rows: Iterable[Any], timerValues: TimerValues
    ) -> Iterator[Any]:
        slot = self._slot(timerValues)
        columns = columns_of_rows(rows, self._names, self._chunk)
        return self._rows(self._calls.rows(self._key(key), columns, slot))

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        slot = self._slot(timerValues)
        slot.fired = at = expiredTimerInfo.getExpiryTimeInMs() - AFTER
        named = self._key(key)
        # Several timers may be of one moment, and an earlier call may have ended this one.
        while (due := slot.kept.due_at(at)) is not None:
            yield from self._rows(self._calls.timer(named, due, slot))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: TimerValues) -> None:
        assert self._initial is not None
        columns = next(columns_of_rows([initialState], list(self._initial.names), 1))
        slot = self._slot(timerValues)
        self._calls.initial(self._key(key), columns, self._initial_inputs, slot)

    def _slot(self, clocks: TimerValues) -> ProcessorSlot:
        return ProcessorSlot(
            self._handle, self._state, self._variables, clocks, watermarked=self._watermarked
        )

    def _rows(self, blocks: Iterable[Block]) -> Iterator[Any]:
        for block in blocks:
            yield from map(OutputRow, self._calls.output.rows(block))

    @cached_property
    def _initial_inputs(self) -> Inputs:
        assert self._initial is not None
        calls = self._calls
        return Inputs(calls.definition, self._initial, calls.zone, extension=False)


AFTER = 1
"""Spark's timers fire at their millisecond, timeouts after it, and so do timers here: they are
registered one millisecond later."""


class ProcessorSlot:
    """The state of `transformWithState`: variables that are read when they are asked for."""

    def __init__(
        self,
        handle: StatefulProcessorHandle,
        state: Any,
        variables: Variables,
        clocks: TimerValues,
        *,
        watermarked: bool,
    ) -> None:
        self.fired: int | None = None
        self._handle = handle
        self._state = state
        self._variables = variables
        self._clocks = clocks
        self._watermarked = watermarked

    @cached_property
    def kept(self) -> Kept:
        return Kept.of(self._state.get())

    @property
    def now(self) -> int:
        return self._times[0]

    @property
    def watermark(self) -> int | None:
        return max(self._times[1], 0) if self._watermarked else None

    def write(self, kept: Kept) -> None:
        before = self.kept.moments
        if kept.empty:
            self._state.clear()
        else:
            self._state.update(kept.row)
        # Spark itself removes the timer that fired, after the call.
        for at in before - kept.moments - {self.fired}:
            self._handle.deleteTimer(at + AFTER)
        for at in kept.moments - before:
            self._handle.registerTimer(at + AFTER)
        self.kept = kept

    def parts(self, errors: PartErrors) -> Mapping[str, Bound]:
        return self._variables.bound(errors)

    @cached_property
    def _times(self) -> tuple[int, int]:
        """The batch's processing time and watermark, in milliseconds since the epoch."""
        now = self._clocks.getCurrentProcessingTimeInMs()
        if now >= 0:
            return now, self._clocks.getCurrentWatermarkInMs()
        # A query without timers is told neither, but the operator knows both.
        return self._handle._statefulProcessorApiClient.get_timestamps("processingtime")
