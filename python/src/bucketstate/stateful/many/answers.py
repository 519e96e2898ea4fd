"""What becomes of many keys and what they put out, as Arrow: see `protocol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.stateful.codec.kept import NO_TIMEOUT, NOTHING_KEPT
from bucketstate.stateful.many.protocol import PUT, REMOVED, STATE, UNTOUCHED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.many.rows import OutputRows
    from bucketstate.stateful.run.output import Block

_MOST = 10_000
"""Rows of output, or keys, after which an answer goes out."""
_MOST_TEXT = 1 << 25
"""Characters of states and output after which one goes out: the JVM loads an answer as a whole."""


class Answers:
    """Collects what goes into one answer after the other. Not thread-safe.

    Args:
        schema: of an answer.
        rows: makes columns of what a function puts out.
        by_event: whether the query's clock is the watermark.
    """

    def __init__(self, schema: pa.Schema, rows: OutputRows, *, by_event: bool) -> None:
        self._schema = schema
        self._output = rows
        self._by_event = by_event
        self._clear()

    @property
    def full(self) -> bool:
        """Whether the answer is to go out: it is large, or a batch of calls has come behind it."""
        return (
            self._followed
            or max(self._rows, len(self._actions)) >= _MOST
            or self._characters >= _MOST_TEXT
        )

    def following(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches of calls: what was collected when one is read goes out before its answers."""
        for batch in batches:
            self._followed = bool(self._blocks or self._actions)
            yield batch

    def put_out(self, block: Block) -> None:
        self._blocks.append(block)
        self._rows += len(block)
        sizes = self._output.sizes
        if sizes.any:
            self._characters += sizes.of(block)

    def settle(self, before: Kept, kept: Kept, now: int) -> None:
        """What becomes of the next key: `kept` in the place of `before`."""
        if kept is before or kept.same(before):
            # Its timeout stays as it was set, too.
            self._add(UNTOUCHED, None, NO_TIMEOUT)
        elif kept.empty:
            self._add(UNTOUCHED if before is NOTHING_KEPT else REMOVED, None, NO_TIMEOUT)
        else:
            at = min(kept.moments, default=NO_TIMEOUT) if kept.timers else kept.timeout
            if at != NO_TIMEOUT and not self._by_event:
                # One of this very moment is reached by the next batch, as one a moment later is.
                at = max(at, now + 1)
            self._add(PUT, kept.row, at)

    def batch(self) -> pa.RecordBatch:
        """All that was collected since the batch before."""
        made = answer(
            self._schema,
            self._output.columns(self._blocks, self._schema.field("row").type),
            pa.array(self._actions, pa.int8()),
            self._states(),
            pa.array(self._timeouts, pa.int64()),
            *self._more(),
        )
        self._clear()
        return made

    def _more(self) -> list[pa.Array]:
        """What answers of one kind have beside the others, by key."""
        return []

    def _add(self, action: int, row: Any, timeout: int) -> None:
        self._actions.append(action)
        self._timeouts.append(timeout)
        if row is None:
            row = (None, None, None)
            self._absent += 1
        elif row[2] is not None:
            self._characters += len(row[2])
        self._versions.append(row[0])
        self._kept_timeouts.append(row[1])
        self._texts.append(row[2])

    def _states(self) -> pa.StructArray:
        columns = self._versions, self._kept_timeouts, self._texts
        arrays = [pa.array(c, f.type) for c, f in zip(columns, STATE, strict=True)]
        mask = arrays[0].is_null() if self._absent else None
        return pa.StructArray.from_arrays(arrays, fields=list(STATE), mask=mask)

    def _clear(self) -> None:
        self._followed = False
        self._rows = 0
        self._blocks: list[Block] = []
        self._actions: list[int] = []
        self._versions: list[int | None] = []
        self._kept_timeouts: list[int | None] = []
        self._texts: list[str | None] = []
        self._characters = 0
        self._absent = 0
        self._timeouts: list[int] = []


def answer(schema: pa.Schema, rows: pa.StructArray, *keys: pa.Array) -> pa.RecordBatch:
    """Rows and what becomes of keys, beside each other."""
    lines = max(len(rows), len(keys[0]))
    columns = [_filled(column, lines) for column in (rows, *keys)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _filled(values: pa.Array, length: int) -> pa.Array:
    missing = length - len(values)
    return pa.concat_arrays([values, pa.nulls(missing, values.type)]) if missing else values
