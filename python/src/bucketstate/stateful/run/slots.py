"""Where the state of one key lies during a call: what `State` asks of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pyspark.errors import PySparkRuntimeError

from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.state import GroupState

    from bucketstate.stateful.run.variables import Bound, PartErrors


class Slot(Protocol):
    """One key's place, for one call."""

    @property
    def kept(self) -> Kept: ...

    @property
    def now(self) -> int:
        """The batch's processing time in milliseconds since the epoch."""

    @property
    def watermark(self) -> int | None:
        """In milliseconds since the epoch; None where the query has none."""

    def write(self, kept: Kept) -> None: ...

    def parts(self, errors: PartErrors, /) -> Mapping[str, Bound] | None:
        """The state's parts, where they are stored beside the document; None where in it."""


class GroupSlot:
    """The state of `applyInPandasWithState`: one row, handed over when all calls are done."""

    def __init__(self, group: GroupState) -> None:
        self._group = group
        self._before = self.kept = Kept.of(group.getOption)

    @property
    def now(self) -> int:
        made: int = self._group.getCurrentProcessingTimeMs()
        return made

    @property
    def watermark(self) -> int | None:
        try:
            return max(self._group.getCurrentWatermarkMs(), 0)
        except PySparkRuntimeError:
            return None

    def write(self, kept: Kept) -> None:
        self.kept = kept

    def parts(self, _errors: PartErrors) -> None:
        return None

    def flush(self, *, by_event: bool) -> None:
        """Hands what changed over to Spark."""
        kept = self.kept
        if kept.same(self._before):
            return
        if kept.empty:
            if self._group.exists:
                self._group.remove()
            return
        self._group.update(kept.row)
        earliest = min(kept.moments, default=NO_TIMEOUT)
        if earliest == NO_TIMEOUT:
            return
        if by_event:
            self._group.setTimeoutTimestamp(earliest)
        else:
            # A timer of this very moment is reached by the next batch, as one of a millisecond on
            # is; Spark takes no duration of 0.
            self._group.setTimeoutDuration(max(earliest - self.now, 1))
