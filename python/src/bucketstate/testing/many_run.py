"""A batch of the operator for many keys: what `ManyKeysExec.scala` does, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.kept import NO_TIMEOUT
from bucketstate.stateful.many.protocol import NO_TIME, PUT, REMOVED, STATE, call_type
from bucketstate.stateful.run.chunks import arrow_types
from bucketstate.testing.group_run import StoredRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bucketstate.testing.group_run import StoredRows
    from bucketstate.testing.runs import Clocks, Group, Prepared


class ManyRun:
    """Calls a function with the keys of a batch, on a copy of what is stored.

    Args:
        many: the function as Spark's worker would call it.
        cuts: gives the lengths of the batches of Arrow, for lines of chunks with these lengths.
    """

    def __init__(
        self,
        many: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        ready: Prepared,
        stored: StoredRows,
        clocks: Clocks,
        cuts: Callable[[list[int]], Iterable[int]],
    ) -> None:
        self._many = many
        self._output = ready.output
        self._names = ready.key.names
        self._by = ready.by
        wire = ready.wire.schema
        kinds = zip(self._names, [wire[name].dataType for name in self._by], strict=True)
        self._call = call_type(StructType([StructField(*of) for of in kinds]))
        self.stored = stored
        self._clocks = clocks
        self._cuts = cuts
        self._kinds = arrow_types(wire)

    def initial(self, _key: Any, _row: pa.Table, _by: list[str]) -> None:
        raise AssertionError("the operator has no initial state")

    def rows(self, groups: list[Group]) -> list[dict[str, Any]]:
        chunks = [chunk for group in groups for chunk in group.chunks]
        if not chunks:
            return []
        table = pa.concat_tables(chunks).combine_chunks()
        arrays = [_whole(column) for column in table.columns]
        line = pa.StructArray.from_arrays(arrays, names=table.column_names)
        known = []
        starts = []
        at = 0
        for group in groups:
            cells = tuple(table.column(n)[at].as_py() for n in self._by)
            known.append((group.key, cells))
            starts.append(at)
            at += sum(chunk.num_rows for chunk in group.chunks)
        lengths = [chunk.num_rows for chunk in chunks]
        return self._run(known, line, starts, self._cuts(lengths), timed_out=False)

    def fire(
        self, reached: int, shuffled: Callable[[Iterable[Any]], list[Any]]
    ) -> list[dict[str, Any]]:
        due = [k for k, s in self.stored.items() if NO_TIMEOUT < s.timeout < reached]
        known = [(key, self.stored[key].cells) for key in shuffled(due)]
        line = pa.nulls(len(known), pa.struct([*self._kinds.items()]))
        cuts = self._cuts([1] * len(known))
        return self._run(known, line, [*range(len(known))], cuts, timed_out=True)

    def _run(
        self,
        known: list[tuple[Any, tuple[Any, ...]]],
        rows: pa.StructArray,
        starts: list[int],
        cuts: Iterable[int],
        *,
        timed_out: bool,
    ) -> list[dict[str, Any]]:
        if not known:
            return []
        calls: list[Any] = [None] * len(rows)
        for at, (key, cells) in zip(starts, known, strict=True):
            found = self.stored.get(key)
            calls[at] = {
                "key": dict(zip(self._names, cells, strict=True)),
                "state": found and found.row and dict(zip(STATE.names, found.row, strict=True)),
                "timeout": found.timeout if found else NO_TIMEOUT,
                "timed_out": timed_out,
                "now": self._clocks.now,
                "watermark": NO_TIME if self._clocks.watermark is None else self._clocks.watermark,
            }
        lines = pa.RecordBatch.from_arrays([pa.array(calls, self._call), rows], ["call", "row"])
        waiting = iter(known)
        output = []
        for answer in self._many(_batches(lines, cuts)):
            row, action, state, timeout = answer.columns
            for what, stored, at in zip(
                action.to_pylist(), state.to_pylist(), timeout.to_pylist(), strict=True
            ):
                if what is not None:
                    self._settle(*next(waiting), what, stored, at)
            output += row.filter(row.is_valid()).to_pylist()
        assert next(waiting, None) is None, "a key was not settled"
        return [self._seen(row) for row in output]

    def _seen(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row of output with the values that a query's reader sees."""
        assert self._output is not None
        return {f.name: OptionalCodec(f.codec).cell(row[f.name]) for f in self._output.fields}

    def _settle(
        self, key: Any, cells: tuple[Any, ...], action: int, state: Any, timeout: int
    ) -> None:
        if action == REMOVED:
            self.stored.pop(key, None)
        elif action == PUT:
            row = None if state is None else tuple(state.values())
            self.stored[key] = StoredRow(cells, row, timeout)


def _batches(lines: pa.RecordBatch, cuts: Iterable[int]) -> Iterator[pa.RecordBatch]:
    at = 0
    for size in cuts:
        yield lines.slice(at, size)
        at += size


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
