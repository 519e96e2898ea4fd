"""A batch of `transformWithState`, on state variables in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.kept import SCHEMA, Kept
from bucketstate.stateful.codec.parts import KINDS
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.run.processor import STATE, Processor, ProcessorSlot
from bucketstate.stateful.run.variables import Variables, is_removed
from bucketstate.testing.memory import Memory, MemoryHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from bucketstate.stateful.codec.document import Clock, PartCodec, StateCodec
    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.slots import Slot
    from bucketstate.testing.runs import Clocks, Group


class StoredVariables:
    """The store of the operator: state variables and timers."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()

    def copy(self) -> StoredVariables:
        return StoredVariables(self.memory.copied())

    def kept(self) -> dict[Any, Kept]:
        found = self.memory.variables.get(STATE, {})
        return {key: Kept.of(row) for key, (row, _) in found.items()}

    def value(self, key: Any, codec: StateCodec, clock: Clock) -> Any:
        kept = self.kept()[key]
        assert kept.text is not None
        document = json.loads(kept.text)
        for name in codec.parts:
            document[name] = list(_items(self.memory.variables.get(name, {}).get(key)))
        return codec.load(json.dumps(document), kept.version, clock)

    def call(
        self,
        key: Any,
        cells: tuple[Any, ...],
        codec: StateCodec,
        clocks: Clocks,
        step: Callable[[Slot], None],
    ) -> None:
        handle = MemoryHandle(self.memory, clocks.now)
        handle.key = key
        self.memory.cells.setdefault(key, cells)
        state = handle.getValueState(STATE, SCHEMA)
        variables = Variables(handle, codec)
        step(ProcessorSlot(handle, state, variables, _times(clocks), watermarked=_marked(clocks)))

    def renamed(self, before: Any, key: Any, cells: tuple[Any, ...]) -> None:
        for found in (*self.memory.variables.values(), self.memory.timers, self.memory.cells):
            if before in found:
                found[key] = found.pop(before)
        self.memory.cells[key] = cells


class ProcessorRun:
    def __init__(
        self,
        calls: Calls,
        key: KeyCodec,
        by: list[str],
        schema: StructType,
        initial: StructType | None,
        stored: StoredVariables,
        clocks: Clocks,
        *,
        chunk: int,
    ) -> None:
        self._by = by
        self._memory = stored.memory
        self._output = calls.output.codec
        self._handle = MemoryHandle(stored.memory, clocks.now)
        self._times = _times(clocks)
        self._processor = Processor(
            calls, key, schema, initial, watermarked=_marked(clocks), chunk=chunk
        )
        self._processor.init(self._handle)

    def initial(self, key: Any, row: pa.Table, by: list[str]) -> None:
        (made,) = self._rows([row])
        self._enter(key, made, by)
        self._processor.handleInitialState(self._memory.cells[key], made, self._times)

    def rows(self, groups: list[Group]) -> list[dict[str, Any]]:
        return [row for group in groups for row in self._call(group)]

    def _call(self, group: Group) -> list[dict[str, Any]]:
        rows = list(self._rows(group.chunks))
        self._enter(group.key, rows[0], self._by)
        cells = self._memory.cells[group.key]
        return self._plain(self._processor.handleInputRows(cells, rows, self._times))

    def fire(
        self, reached: int, shuffled: Callable[[Iterable[Any]], list[Any]]
    ) -> list[dict[str, Any]]:
        output = []
        # Spark goes by time, over all keys.
        due = shuffled(
            (at, key)
            for key, timers in self._memory.timers.items()
            for at in timers
            if at <= reached
        )
        for at, key in sorted(due, key=lambda timer: timer[0]):
            self._handle.key = key
            cells = self._memory.cells[key]
            info = ExpiredTimerInfo(at)
            output += self._plain(self._processor.handleExpiredTimer(cells, self._times, info))
            self._handle.deleteTimer(at)
        return output

    def _enter(self, key: Any, row: Row, by: list[str]) -> None:
        self._handle.key = key
        self._memory.cells[key] = tuple(row[n] for n in by)

    def _rows(self, chunks: list[pa.Table]) -> Iterator[Row]:
        for chunk in chunks:
            make = Row(*chunk.column_names)
            columns = [column.to_pylist() for column in chunk.columns]
            yield from (make(*row) for row in zip(*columns, strict=True))

    def _plain(self, rows: Iterable[Any]) -> list[dict[str, Any]]:
        """The output as the values that a query's reader sees."""
        made = []
        for row in rows:
            assert self._output is not None
            cells = row.asDict(True)
            made.append(
                {f.name: OptionalCodec(f.codec).cell(cells[f.name]) for f in self._output.fields}
            )
        return made


Variable = tuple[str, bool]
"""The kind of a state variable, "value", "list" or "map", and whether its values expire."""


def variables_of(parts: Mapping[str, PartCodec]) -> dict[str, Variable]:
    """The variables that the parts of a state class are, by name."""
    return {name: (KINDS[part.kind], part.ttl is not None) for name, part in parts.items()}


def check_variables(now: Mapping[str, Variable], before: Mapping[str, Variable], of: str) -> None:
    """Raises DefinitionError for a part that has become another one: Spark refuses the restart.

    Args:
        now: the variables of the state class.
        before: what the query has so far.
        of: what says so, for the message.
    """
    for name, (kind, expires) in now.items():
        had, expired = before.get(name, (kind, expires))
        if kind != had:
            change = f"is a {kind} of the state class, and {of} has it as a {had}"
        elif expires != expired:
            lives = f"has {'a' if expires else 'no'} time to live in the state class"
            change = f"{lives}, and {of} has it with{'' if expired else 'out'} one"
        else:
            continue
        raise DefinitionError(f"{name} {change}: Spark refuses that. Give the part another name.")


def _times(clocks: Clocks) -> TimerValues:
    return TimerValues(clocks.now, -1 if clocks.watermark is None else clocks.watermark)


def _marked(clocks: Clocks) -> bool:
    return clocks.watermark is not None


def _items(stored: Any) -> Iterator[dict[str, Any]]:
    """A variable's items as a state's document has those of a part."""
    if isinstance(stored, dict):
        for (key,), (value, expires) in stored.items():
            if is_removed(value):
                continue
            yield {"key": json.loads(key), "value": json.loads(value[0]), "expires": expires}
        return
    held = () if stored is None else stored
    # The value of a variable that holds one, or the items of a list.
    for value, expires in (held,) if held and isinstance(held[0][0], str) else held:
        yield {"value": json.loads(value[0]), "expires": expires}
