"""What a query's state store holds per key, and what becomes of it after a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.handle import NO_TIMEOUT

if TYPE_CHECKING:
    from pyspark.sql.streaming.state import GroupState


@dataclass(frozen=True)
class Stored:
    """`cells` are the key as Spark hands it over; `row` is None where only a timeout is left."""

    cells: tuple[Any, ...]
    row: tuple[Any, ...] | None
    timeout: int


def stored_after(before: Stored | None, group: GroupState, cells: tuple[Any, ...]) -> Stored | None:
    """As FlatMapGroupsInPandasWithStateExec decides; None where the key is removed.

    A call that neither updates nor removes the state nor sets a timeout leaves the stored row as it
    is, with its timeout.
    """
    timeout = group._timeout_timestamp
    if group._removed and timeout == NO_TIMEOUT:
        return None
    if group._updated or group._removed or timeout != group.oldTimeoutTimestamp:
        return Stored(cells, group.getOption, timeout)
    return before
