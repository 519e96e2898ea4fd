"""Keys that are forgotten when they had no row for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from bucketstate.stateful.ready.instants import instants, watermark_of
from bucketstate.stateful.run.many_keys import Keys

if TYPE_CHECKING:
    import pyarrow as pa


class Forgetting:
    """A function whose timeout says that nobody needs what is kept of a key any more."""

    def handleExpiredTimer(self, keys: Keys[Any]) -> None:
        keys.clear()


def forget_at(keys: Keys[Any], due: pa.Array) -> None:
    """Keys are forgotten at a time in microseconds, at once if it is over, never if it is null."""
    over = pc.fill_null(pc.less(due, watermark_of(keys)), False)
    keys.clear(where=over)
    keys.timeout_at(instants(due), where=pc.invert(over))
