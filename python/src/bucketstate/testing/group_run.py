"""A batch of `applyInPandasWithState`, on Spark's own `GroupState`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.kept import NO_TIMEOUT, NOTHING_KEPT, SCHEMA, Kept
from bucketstate.stateful.run.chunks import pandas_column
from bucketstate.stateful.run.wire import holds_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql.types import Row

    from bucketstate.stateful.codec.codecs import Codec
    from bucketstate.stateful.codec.document import Clock, StateCodec
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.slots import Slot
    from bucketstate.stateful.run.variables import PartErrors
    from bucketstate.testing.runs import Clocks, Group, Prepared

_TIMEOUTS = {
    None: GroupStateTimeout.NoTimeout,
    "processing": GroupStateTimeout.ProcessingTimeTimeout,
    "event": GroupStateTimeout.EventTimeTimeout,
}


def shown(codec: Codec, column: pd.Series[Any]) -> list[Any]:
    """A column of the output as the values that a query's reader sees."""
    reader = OptionalCodec(codec)
    cells = reader.cells(column)
    if not holds_times(codec.spark):
        return cells
    # A time without a zone is one of the session's there.
    return [reader.cell(reader.check(value)) for value in cells]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """`cells` are the key as Spark hands it over; `row` is None where only a timeout is left."""

    cells: tuple[Any, ...]
    row: tuple[Any, ...] | None
    timeout: int


class StoredRows(dict[Any, StoredRow]):
    """The store of the operator: one row per key."""

    def copy(self) -> StoredRows:
        return StoredRows(self)

    def kept(self) -> dict[Any, Kept]:
        return {key: Kept.of(cast("Any", found.row)) for key, found in self.items()}

    def value(self, key: Any, codec: StateCodec, clock: Clock) -> Any:
        kept = Kept.of(cast("Any", self[key].row))
        assert kept.text is not None
        return codec.load(kept.text, kept.version, clock)

    def call(
        self,
        key: Any,
        cells: tuple[Any, ...],
        _codec: StateCodec,
        clocks: Clocks,
        step: Callable[[Slot], None],
    ) -> None:
        slot = _RowSlot(self.kept().get(key, NOTHING_KEPT), clocks)
        step(slot)
        moments = slot.kept.moments
        if slot.kept.empty:
            self.pop(key, None)
        else:
            self[key] = StoredRow(cells, slot.kept.row, min(moments, default=NO_TIMEOUT))

    def renamed(self, before: Any, key: Any, cells: tuple[Any, ...]) -> None:
        if before in self:
            self[key] = replace(self.pop(before), cells=cells)


class _RowSlot:
    """A row outside of a batch, where Spark has no `GroupState`."""

    def __init__(self, kept: Kept, clocks: Clocks) -> None:
        self.kept = kept
        self.now = clocks.now
        self.watermark = clocks.watermark

    def write(self, kept: Kept) -> None:
        self.kept = kept

    def parts(self, _errors: PartErrors) -> None:
        return None


class GroupRun:
    """Calls a function with one key after the other.

    Args:
        adapter: the function as Spark's worker would call it.
    """

    def __init__(
        self,
        adapter: Callable[..., Iterator[pd.DataFrame]],
        ready: Prepared,
        timeout: Timeout | None,
        stored: StoredRows,
        clocks: Clocks,
    ) -> None:
        self._adapter = adapter
        self._output = ready.output
        self._timeout = timeout
        self._by = ready.by
        self.stored = stored
        self._clocks = clocks

    def initial(self, _key: Any, _row: pa.Table, _by: list[str]) -> None:
        raise AssertionError("the operator has no initial state")

    def rows(self, groups: list[Group]) -> list[dict[str, Any]]:
        return [row for group in groups for row in self._called(group)]

    def _called(self, group: Group) -> list[dict[str, Any]]:
        frames = [
            pd.DataFrame({n: pandas_column(chunk.column(n)) for n in chunk.column_names})
            for chunk in group.chunks
        ]
        cells = tuple(frames[0][n][0] for n in self._by)
        return self._call(group.key, cells, frames, timed_out=False)

    def fire(
        self, reached: int, shuffled: Callable[[Iterable[Any]], list[Any]]
    ) -> list[dict[str, Any]]:
        keys = [k for k, s in self.stored.items() if NO_TIMEOUT < s.timeout < reached]
        return [
            row
            for key in shuffled(keys)
            for row in self._call(key, self.stored[key].cells, [], timed_out=True)
        ]

    def _call(
        self, key: Any, cells: Any, chunks: list[pd.DataFrame], *, timed_out: bool
    ) -> list[dict[str, Any]]:
        before = self.stored.get(key)
        watermark = self._clocks.watermark
        group = GroupState(
            optionalValue=cast("Row", before.row if before else None),
            batchProcessingTimeMs=self._clocks.now,
            eventTimeWatermarkMs=-1 if watermark is None else watermark,
            timeoutConf=_TIMEOUTS[self._timeout],
            hasTimedOut=timed_out,
            watermarkPresent=watermark is not None,
            defined=before is not None and before.row is not None,
            updated=False,
            removed=False,
            timeoutTimestamp=NO_TIMEOUT,
            keyAsUnsafe=b"",
            valueSchema=SCHEMA,
        )
        frames = list(self._adapter(cells, chunks, group))
        after = _stored_after(before, group, cells)
        if after is None:
            self.stored.pop(key, None)
        else:
            self.stored[key] = after
        return [row for frame in frames for row in self._rows_of(frame)]

    def _rows_of(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        assert self._output is not None
        columns = [shown(f.codec, frame[f.name]) for f in self._output.fields]
        names = self._output.names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _stored_after(
    before: StoredRow | None, group: GroupState, cells: tuple[Any, ...]
) -> StoredRow | None:
    """What FlatMapGroupsInPandasWithStateExec would store; None where the key is removed.

    A call that neither updates nor removes the state nor sets a timeout leaves the stored row as it
    is, with its timeout.
    """
    timeout = group._timeout_timestamp
    if group._removed and timeout == NO_TIMEOUT:
        return None
    if group._updated or group._removed or timeout != group.oldTimeoutTimestamp:
        return StoredRow(cells, group.getOption, timeout)
    return before
