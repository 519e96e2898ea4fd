"""Keys that are forgotten when they had no row for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.stateful.ready.instants import timeouts, watermark_of
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    from datetime import datetime


class Forgetting:
    """A function whose timeout says that nobody needs what is kept of a key any more."""

    def handleExpiredTimer(self, keys: Keys[Any]) -> None:
        keys.clear()


def standing(keys: Keys[Any], clock: datetime) -> pa.RecordBatch:
    """What is kept of the keys; what was due before the clock is removed, and null.

    Spark fires timeouts behind the rows of a batch: a key that comes again in the first batch after
    its time, as after a pause of the query, would go on otherwise.
    """
    state: pa.RecordBatch = keys.state
    due = keys.timeout
    if due.null_count == len(due):
        return state
    over = pc.fill_null(pc.less(due, pa.scalar(clock, due.type)), False)
    if not pc.any(over).as_py():
        return state
    keys.clear(where=over)
    columns = [pc.if_else(over, pa.scalar(None, c.type), c) for c in state.columns]
    return pa.RecordBatch.from_arrays(columns, state.schema.names)


def forget_at(keys: Keys[Any], due: pa.Array) -> None:
    """Keys are forgotten at a time in microseconds, at once if it is over, never if it is null."""
    over = pc.fill_null(pc.less(due, watermark_of(keys)), False)
    keys.clear(where=over)
    keys.timeout_at(timeouts(due), where=pc.invert(over))
