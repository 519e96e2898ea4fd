"""Runs a definition as the function that `applyInPandasWithState` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bucketstate.optional import pandas as pd
from bucketstate.stateful.run.chunks import columns_of
from bucketstate.stateful.run.slots import GroupSlot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.streaming.state import GroupState

    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.wire import Wire


class Adapter:
    """One function on one query: picklable, made on the driver, called by Spark's workers."""

    def __init__(self, calls: Calls, key: KeyCodec, wire: Wire) -> None:
        self._calls = calls
        self._key = key
        self._wire = wire

    def __call__(
        self, cells: tuple[Any, ...], chunks: Iterable[pd.DataFrame], group: GroupState
    ) -> Iterator[pd.DataFrame]:
        """The frames of the group's output; the state is complete when they were all taken.

        Spark has one timeout per key and calls once for it: a call for a timeout fires all timers
        that were reached, and a call for rows does so after them.
        """
        calls = self._calls
        key = self._key(cells)
        slot = GroupSlot(group)
        if not group.hasTimedOut:
            columns = map(self._wire.received, columns_of(chunks))
            yield from map(calls.output.framed, calls.rows(key, columns, slot))
        while (due := calls.due(slot)) is not None:
            yield from map(calls.output.framed, calls.timer(key, due, slot))
        slot.flush(by_event=calls.timeout == "event")
