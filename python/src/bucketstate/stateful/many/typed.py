"""Runs a definition, which has one key in a call, over the many keys of a batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.many.answers import Answers
from bucketstate.stateful.many.garbage import spare_modules
from bucketstate.stateful.many.protocol import answer_schema
from bucketstate.stateful.many.reading import Chunks, blocks
from bucketstate.stateful.many.rows import OutputRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.many.reading import Block
    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.output import Block as Output
    from bucketstate.stateful.run.variables import PartErrors
    from bucketstate.stateful.run.wire import Wire


class ManyKeys:
    """One function on one query: picklable, made on the driver, called by Spark's workers.

    As `Adapter`, for the operator that hands over many keys.

    Args:
        calls: the function.
        key: makes its keys.
        wire: how rows travel.
        output: the schema of the query's output.
    """

    def __init__(self, calls: Calls, key: KeyCodec, wire: Wire, output: StructType) -> None:
        self._calls = calls
        self._key = key
        self._wire = wire
        self._output = output
        self._rows = OutputRows(calls.output, calls.definition.name, calls.zone)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The answers to all calls; see `protocol`."""
        spare_modules()
        answers = self._answers()
        steps = self._by_chunks if self._calls.definition.chunked else self._by_blocks
        for _ in steps(answers.following(batches), answers):
            if answers.full:
                yield answers.batch()
        yield answers.batch()

    def _answers(self) -> Answers:
        by_event = self._calls.timeout == "event"
        return Answers(answer_schema(self._output), self._rows, by_event=by_event)

    def _settle(self, answers: Any, before: Kept, slot: Any) -> None:
        """Says what becomes of the next key."""
        answers.settle(before, slot.kept, slot.now)

    def _slots(self, block: Block) -> Iterator[Any]:
        """What is stored of each key."""
        now, watermark = block.now, block.watermark
        return (_KeySlot(kept, now, watermark) for kept in block.kept())

    def _by_blocks(self, batches: Iterator[pa.RecordBatch], answers: Answers) -> Iterator[None]:
        for block in blocks(batches):
            yield
            rows = self._rows_of(block)
            for n, (cells, slot) in enumerate(zip(block.cells(), self._slots(block), strict=True)):
                given = None if rows is None else partial(rows, n)
                before = slot.kept
                for output in self._call(self._key(cells), slot, given):
                    answers.put_out(output)
                    if answers.full:
                        yield
                self._settle(answers, before, slot)
                yield

    def _by_chunks(self, batches: Iterator[pa.RecordBatch], answers: Answers) -> Iterator[None]:
        reader = Chunks(batches)
        while (found := reader.one_key()) is not None:
            block, pieces = found
            (slot,) = self._slots(block)
            chunks = map(self._wire.arrays, pieces)
            given = None if block.timed_out else partial(self._calls.shaped, chunks)
            before = slot.kept
            for output in self._call(self._key(block.cells()[0]), slot, given):
                answers.put_out(output)
                yield
            self._settle(answers, before, slot)
            for _ in pieces:
                # What the function did not look at.
                pass
            yield

    def _rows_of(self, block: Block) -> Callable[[int], Any] | None:
        if block.timed_out:
            return None
        return self._calls.rows_of_many(self._wire.arrays(block.rows), block.offsets.tolist())

    def _call(self, key: Any, slot: Any, rows: Callable[[], Any] | None) -> Iterable[Output]:
        """The output of all calls for one key, which are made while it is taken.

        A call for a timeout fires all timers that were reached, and a call for rows does so after
        them.
        """
        if self._calls.timeout is None and rows is not None:
            return self._calls.given(key, rows, slot)
        return self._with_timers(key, slot, rows)

    def _with_timers(self, key: Any, slot: Any, rows: Callable[[], Any] | None) -> Iterator[Output]:
        calls = self._calls
        if rows is not None:
            yield from calls.given(key, rows, slot)
        while (due := calls.due(slot)) is not None:
            yield from calls.timer(key, due, slot)


class _KeySlot:
    """The state of one key of many."""

    __slots__ = ("kept", "now", "watermark")

    def __init__(self, kept: Kept, now: int, watermark: int | None) -> None:
        self.kept = kept
        self.now = now
        self.watermark = watermark

    def write(self, kept: Kept) -> None:
        self.kept = kept

    def parts(self, _errors: PartErrors) -> None:
        return None
