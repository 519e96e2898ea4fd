"""Runs a definition over the many keys of a batch of `transformWithState`.

Its parts have one value each, since a call is sent them whole.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from bucketstate.stateful.codec.kept import NO_TIMEOUT
from bucketstate.stateful.codec.parts import ValueState
from bucketstate.stateful.many.answers import Answers
from bucketstate.stateful.many.protocol import (
    PART,
    PUT,
    REMOVED,
    TIMES,
    UNTOUCHED,
    VARIABLES,
    variables_answer_schema,
)
from bucketstate.stateful.many.reading import columns_of
from bucketstate.stateful.many.rows import OutputRows
from bucketstate.stateful.many.typed import ManyKeys
from bucketstate.stateful.run.processor import AFTER, Processor
from bucketstate.stateful.run.variables import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql.types import DataType, StructType

    from bucketstate.stateful.codec.document import PartCodec, StateCodec
    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.many.reading import Block
    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.output import Block as Rows
    from bucketstate.stateful.run.variables import Bound, PartErrors
    from bucketstate.stateful.run.wire import Wire

_EXACT = (
    StringType(),
    ByteType(),
    ShortType(),
    IntegerType(),
    LongType(),
    BooleanType(),
    DateType(),
)


def takes(state: StateCodec) -> bool:
    """Whether all parts of a state are sent whole."""
    return all(part.kind is ValueState for part in state.parts.values())


def takes_keys(sent: Iterable[DataType]) -> bool:
    """Whether all grouping columns that travel as these are the same keys to Python.

    The operator takes no others: see `isExact` in `ManyVariables.scala`.
    """
    return all(kind in _EXACT for kind in sent)


def of_command(command: bytes) -> tuple[Any, Any]:
    """What a worker runs in the place of what Spark pickled: the function for many keys.

    The JVM's operator makes the pickle that calls this.
    """
    function, output = pickle.loads(command)
    (processor,) = (v for v in vars(function.__self__).values() if isinstance(v, Processor))
    many = processor.many

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from many(batches)

    return run, output


class ManyVariables(ManyKeys):
    """One function on one query: picklable, made on the driver, called by Spark's workers.

    Args:
        calls: the function.
        key: makes its keys.
        wire: how rows travel.
        output: the schema of the query's output.
        watermarked: whether the query has a watermark.
    """

    def __init__(
        self, calls: Calls, key: KeyCodec, wire: Wire, output: StructType, *, watermarked: bool
    ) -> None:
        super().__init__(calls, key, wire, output)
        self._rows = OutputRows(calls.output, calls.definition.name, calls.zone, as_pandas=False)
        self._parts = calls.state.parts
        self._watermarked = watermarked
        declared = (f"{n}={p.ttl.millis if p.ttl else ''}" for n, p in self._parts.items())
        # The operator finds it in the pickle.
        self.marker = f"{VARIABLES}{','.join(declared)}\n"

    def _answers(self) -> VariableAnswers:
        return VariableAnswers(self._output, self._rows, self._calls.output.tuples, self._parts)

    def _slots(self, block: Block) -> Iterator[VariablesSlot]:
        now = block.now
        watermark = block.watermark if self._watermarked else None
        fired = block.calls.field("fired").to_pylist()
        texts: Iterable[tuple[str | None, ...]] = [()] * len(block)
        if self._parts:
            texts = zip(*columns_of(block.calls.field("parts")), strict=True)
        for kept, times, held in zip(block.kept(), fired, texts, strict=True):
            yield VariablesSlot(kept, times, now, watermark, self._parts, held)

    def _call(
        self, key: Any, slot: VariablesSlot, rows: Callable[[], Any] | None
    ) -> Iterator[Rows]:
        """The output of the call for the rows of a key, or of those for its timers that fired."""
        calls = self._calls
        if rows is not None:
            yield from calls.given(key, rows, slot)
        for at in slot.fired:
            # Several timers may be of one moment, and an earlier call may have ended this one.
            while (due := slot.kept.due_at(at - AFTER)) is not None:
                yield from calls.timer(key, due, slot)

    def _settle(self, answers: VariableAnswers, before: Kept, slot: VariablesSlot) -> None:
        answers.settle_variables(before, slot)


class VariablesSlot:
    """The state of one key of many, and its parts as they were sent."""

    __slots__ = ("_codecs", "fired", "held", "kept", "now", "watermark", "written")

    def __init__(
        self,
        kept: Kept,
        fired: list[int],
        now: int,
        watermark: int | None,
        codecs: Mapping[str, PartCodec],
        texts: tuple[str | None, ...],
    ) -> None:
        self.kept = kept
        self.fired = fired
        self.now = now
        self.watermark = watermark
        self.written = False
        self.held = {n: _Held(text) for n, text in zip(codecs, texts, strict=True)}
        self._codecs = codecs

    def write(self, kept: Kept) -> None:
        self.kept = kept
        self.written = True

    def parts(self, errors: PartErrors) -> Mapping[str, Bound]:
        return bound(self._codecs, self.held, errors)


class _Held:
    """A variable of one value, with the interface of Spark's."""

    __slots__ = ("text", "written")

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.written = False

    def exists(self) -> bool:
        return self.text is not None

    def get(self) -> tuple[str] | None:
        return None if self.text is None else (self.text,)

    def update(self, row: tuple[str]) -> None:
        (self.text,) = row
        self.written = True

    def clear(self) -> None:
        self.text = None
        self.written = True


class VariableAnswers(Answers):
    """As `Answers`, with what becomes of timers and parts.

    Args:
        output: of the query.
        rows: makes columns of what a function puts out.
        tuples: makes rows of blocks, as Spark's own way has them.
        parts: of the state.
    """

    def __init__(
        self,
        output: StructType,
        rows: OutputRows,
        tuples: Callable[[Rows], list[tuple[Any, ...]]],
        parts: Mapping[str, PartCodec],
    ) -> None:
        self._tuples = tuples
        self._parts = list(parts)
        super().__init__(variables_answer_schema(output, parts), rows, by_event=True)

    def put_out(self, block: Rows) -> None:
        super().put_out(self._tuples(block))

    def settle_variables(self, before: Kept, slot: VariablesSlot) -> None:
        """What becomes of the next key, whose state was `before`."""
        kept = slot.kept
        if not slot.written:
            self._add(UNTOUCHED, None, NO_TIMEOUT)
        elif kept.empty:
            self._add(REMOVED, None, NO_TIMEOUT)
        else:
            self._add(PUT, kept.row, NO_TIMEOUT)
        ended = begun = None
        if slot.written:
            # The operator itself ends the timers that have fired.
            fired = {at - AFTER for at in slot.fired}
            ended = _registered(before.moments - kept.moments - fired)
            begun = _registered(kept.moments - before.moments)
        self._ended.append(ended)
        self._begun.append(begun)
        for written, held in zip(self._written, slot.held.values(), strict=True):
            written.append({"value": held.text} if held.written else None)
            if held.written and held.text is not None:
                self._characters += len(held.text)

    def _more(self) -> list[pa.Array]:
        made = [pa.array(times, TIMES) for times in (self._ended, self._begun)]
        if self._parts:
            columns = [pa.array(written, PART) for written in self._written]
            made.append(pa.StructArray.from_arrays(columns, names=self._parts))
        return made

    def _clear(self) -> None:
        super()._clear()
        self._ended: list[list[int] | None] = []
        self._begun: list[list[int] | None] = []
        self._written: list[list[Any]] = [[] for _ in self._parts]


def _registered(moments: set[int]) -> list[int]:
    return [at + AFTER for at in sorted(moments)]
