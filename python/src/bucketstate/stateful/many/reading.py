"""The calls of many keys, read from the batches that travel: see `protocol`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bucketstate.stateful.codec.kept import NOTHING_KEPT, Kept
from bucketstate.stateful.many.protocol import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    Offsets = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Block:
    """Keys with all of their rows: those of key `n` are `offsets[n]` to `offsets[n + 1]`.

    A block has either calls for rows or calls for timeouts, which have none.
    """

    calls: pa.StructArray
    """One for each key, as `protocol` has them."""
    offsets: Offsets
    rows: pa.StructArray

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def timed_out(self) -> bool:
        return bool(self.calls.field("timed_out")[0].as_py())

    @property
    def now(self) -> int:
        """The batch's processing time in milliseconds since the epoch."""
        made: int = self.calls.field("now")[0].as_py()
        return made

    @property
    def watermark(self) -> int | None:
        """In milliseconds since the epoch; None where the query has none."""
        found = self.calls.field("watermark")[0].as_py()
        return None if found == NO_TIME else max(found, 0)

    def cells(self) -> list[tuple[Any, ...]]:
        """The keys as Spark has them."""
        return [*zip(*columns_of(self.calls.field("key")), strict=True)]

    def kept(self) -> list[Kept]:
        """What is stored of each key."""
        state = self.calls.field("state")
        of = Kept.of
        rows = zip(*columns_of(state), strict=True)
        if not state.null_count:
            return [*map(of, rows)]
        exists = state.is_valid().to_pylist()
        return [of(row) if e else NOTHING_KEPT for row, e in zip(rows, exists, strict=True)]


def columns_of(struct: pa.StructArray) -> list[list[Any]]:
    """The fields' values; of a struct that is null they mean nothing."""
    return [struct.field(n).to_pylist() for n in range(struct.type.num_fields)]


def blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
    """All calls, each key in one block with all of its rows.

    The last key of a batch may go on in the next one, so it is handed over with those.
    """
    calls: pa.StructArray | None = None
    pieces: list[pa.StructArray] = []
    for lines in map(_Lines, batches):
        pieces.append(lines.head)
        if not lines.left:
            continue
        if calls is not None or lines.left > 1:
            yield _block(calls, pieces, lines)
        calls, pieces = lines.last()
    if calls is not None:
        rows = _joined(pieces)
        yield Block(calls, np.array([0, len(rows)]), rows)


def _block(calls: pa.StructArray | None, pieces: list[pa.StructArray], lines: _Lines) -> Block:
    """The key that the batches before ended with, if there is one, and all of this but the last."""
    rest = lines.take(lines.left - 1)
    if calls is None:
        return rest
    rows = _joined([*pieces, rest.rows])
    before = len(rows) - len(rest.rows)
    offsets = np.concatenate(([0], rest.offsets + before))
    return Block(_joined([calls, rest.calls]), offsets, rows)


class Chunks:
    """Reads one key after the other, its rows by batch. Not thread-safe."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._lines: _Lines | None = None
        self._next()

    def one_key(self) -> tuple[Block, Iterator[pa.StructArray]] | None:
        """The next key, without its rows, and these: to be taken before the next key is."""
        lines = self._lines
        if lines is None:
            return None
        if lines.left > 1:
            block = lines.take(1)
            return block, iter([block.rows])
        calls, pieces = lines.last()
        return Block(calls, np.array([0, 0]), pieces[0].slice(0, 0)), self._rest(pieces[0])

    def _rest(self, rows: pa.StructArray) -> Iterator[pa.StructArray]:
        """The rows of the last key of a batch, and what of it lies in those that follow."""
        yield rows
        while True:
            self._next()
            if self._lines is None:
                return
            if len(self._lines.head):
                yield self._lines.head
            if self._lines.left:
                return

    def _next(self) -> None:
        batch = next(self._batches, None)
        self._lines = None if batch is None else _Lines(batch)


class _Lines:
    """The lines of one batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        call, self._rows = batch.columns
        valid = call.is_valid().to_numpy(zero_copy_only=False)
        self._starts = np.flatnonzero(valid)
        self._at = 0
        whole = len(self._starts) == batch.num_rows
        self._calls = call if whole else call.take(pa.array(self._starts))
        first = int(self._starts[0]) if len(self._starts) else batch.num_rows
        self.head = self._rows.slice(0, first)
        """The rows of the key that the batch before ended with."""
        self._timed_out = bool(len(self._calls)) and self._calls.field("timed_out")[0].as_py()

    @property
    def left(self) -> int:
        """How many of the batch's keys were not taken yet."""
        return len(self._starts) - self._at

    def take(self, count: int) -> Block:
        """The next keys, of which there have to be more than that."""
        calls = self._calls.slice(self._at, count)
        starts = self._starts[self._at : self._at + count + 1]
        self._at += count
        if self._timed_out:
            return Block(calls, np.zeros(count + 1, np.int64), self._rows.slice(0, 0))
        first, end = int(starts[0]), int(starts[-1])
        return Block(calls, starts - first, self._rows.slice(first, end - first))

    def last(self) -> tuple[pa.StructArray, list[pa.StructArray]]:
        """The last key, and its rows in this batch."""
        self._at = len(self._starts)
        rows = self._rows.slice(int(self._starts[-1]))
        return self._calls.slice(len(self._calls) - 1), [
            rows.slice(0, 0) if self._timed_out else rows
        ]


def _joined(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    try:
        return pa.concat_arrays(pieces)
    except pa.ArrowInvalid:
        # More than 2 GiB of text in one column.
        wide = _large(pieces[0].type)
        return pa.concat_arrays([piece.cast(wide) for piece in pieces])


def _large(kind: pa.DataType) -> pa.DataType:
    """The type with as many bytes of text as there may be."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.large_list(_large(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _large(f.type), f.nullable) for f in kind])
    return kind
