"""The calls of a definition's handlers, alike on every operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bucketstate.stateful.errors import StateUsageError
from bucketstate.stateful.run.handle import State
from bucketstate.stateful.run.inputs import Inputs
from bucketstate.stateful.run.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from bucketstate.stateful.codec.kept import Due
    from bucketstate.stateful.run.chunks import Columns
    from bucketstate.stateful.run.definition import Definition
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.output import Block
    from bucketstate.stateful.run.slots import Slot


class Calls:
    """One function on one query: picklable, made on the driver, used by Spark's workers.

    The state of a call is complete when all of its blocks were taken.

    Args:
        definition: the function.
        schema: of the rows as the function gets them.
        timeout: the query's clock.
        zone: the session's.
        extension: as of `Frames`.
    """

    def __init__(
        self,
        definition: Definition,
        schema: StructType,
        timeout: Timeout | None,
        zone: tzinfo,
        *,
        extension: bool = False,
    ) -> None:
        self.definition = definition
        self.state = definition.state_codec(zone)
        self.output = Output(definition, zone)
        self.timeout = timeout
        self.zone = zone
        self._inputs = Inputs(definition, schema, zone, extension=extension)
        self._inputs.check()
        self._initial = definition.initial_codec(zone)

    def rows(self, key: Any, columns: Iterator[Columns], slot: Slot) -> Iterable[Block]:
        """The call for the rows of a key in a batch."""
        return self._blocks(
            key,
            slot,
            None,
            lambda state: self.definition.input_rows(key, self._inputs.shaped(columns), state),
        )

    def rows_of_many(
        self, columns: Mapping[str, pa.Array], offsets: Sequence[int]
    ) -> Callable[[int], Any]:
        """What has the rows of the n-th key, in the function's shape, for `given`."""
        return self._inputs.of_many(columns, offsets)

    def shaped(self, chunks: Iterator[Columns]) -> Any:
        """Chunks of one key's rows in the function's shape, for `given`."""
        return self._inputs.shaped(chunks)

    def given(self, key: Any, rows: Callable[[], Any], slot: Slot) -> Iterable[Block]:
        """The call for rows that are in the function's shape."""
        handler = self.definition.input_rows
        return self._blocks(key, slot, None, lambda state: handler(key, rows(), state))

    def timer(self, key: Any, due: Due, slot: Slot) -> Iterable[Block]:
        """The call for a timer, or the timeout, that was reached."""
        definition = self.definition

        def call(state: State[Any]) -> Any:
            if definition.expired_timer is None:
                return definition.input_rows(key, self._inputs.empty(), state)
            return definition.expired_timer(key, state.expired_timer, state)

        return self._blocks(key, slot, due, call)

    def initial(self, key: Any, columns: Columns, inputs: Inputs, slot: Slot) -> None:
        """The call for a row of the initial state."""
        handler = self.definition.initial_state
        assert handler is not None
        row = inputs.record(columns, self._initial)
        for _ in self._blocks(key, slot, None, lambda state: handler(key, row, state)):
            raise StateUsageError(
                f"handleInitialState of {self.definition.name} for {key!r} returned rows: it "
                "brings the state in, and has no output. Return None."
            )

    def due(self, slot: Slot) -> Due | None:
        """The earliest timer that the query's clock has passed."""
        if self.timeout is None:
            return None
        return slot.kept.due(slot.now if self.timeout == "processing" else slot.watermark)

    def _blocks(
        self, key: Any, slot: Slot, fired: Due | None, call: Callable[[State[Any]], Any]
    ) -> Iterable[Block]:
        state: State[Any] = State(self.state, slot, key, self.timeout, self.zone, fired)
        try:
            result = call(state)
            if result is None or self.output.is_row(result):
                made = () if result is None else ([self.output.row(key, result)],)
                state.finish()
                return made
        except Exception as e:
            e.add_note(self._note(key))
            raise
        return self._following(key, state, result)

    def _following(self, key: Any, state: State[Any], result: Any) -> Iterator[Block]:
        """The blocks of what is many rows, or is made while they are taken."""
        try:
            yield from self.output.blocks(key, result)
            state.finish()
        except GeneratorExit:
            raise
        except Exception as e:
            e.add_note(self._note(key))
            raise

    def _note(self, key: Any) -> str:
        return f"in {self.definition.name} for {key!r}"
