"""What the harness is of: a function on an operator, and what Spark makes of its rows and keys."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from bucketstate.stateful.errors import MismatchError, StateUsageError, WrongTypeError
from bucketstate.stateful.many.columnar import Columnar, ColumnsAlone, ManyColumns
from bucketstate.stateful.many.typed import ManyKeys
from bucketstate.stateful.run.adapter import Adapter
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.chunks import chunk_size
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.wire import Wire
from bucketstate.testing.columns_run import ColumnsRun
from bucketstate.testing.group_run import GroupRun
from bucketstate.testing.many_run import ManyRun
from bucketstate.testing.processor_run import ProcessorRun
from bucketstate.testing.runs import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from random import Random

    import pyarrow as pa

    from bucketstate.stateful.run.definition import Definition
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator
    from bucketstate.testing.batches import Batches
    from bucketstate.testing.group_run import StoredRows
    from bucketstate.testing.runs import Clocks, Group, Run


class _Cuts:
    """Where the lines of calls are cut into batches: anywhere, or between a function's chunks."""

    def __init__(self, order: Random, *, of_chunks: bool) -> None:
        self._order = order
        self._of_chunks = of_chunks

    def __call__(self, chunks: list[int]) -> Iterator[int]:
        """The lengths of batches for lines of chunks with these lengths."""
        if self._of_chunks:
            yield from chunks
            return
        left = sum(chunks)
        while left:
            size = self._order.randint(1, left)
            yield size
            left -= size


class Query:
    """The query of one harness; `batches` and `initial` are where it has its rows from.

    `extension` says whether the session has Spark's setting of whole numbers with nulls.
    """

    def __init__(
        self,
        definition: Definition,
        by: list[str],
        operator: Operator,
        timeout: Timeout | None,
        zone: tzinfo,
        *,
        many_keys: bool,
    ) -> None:
        self.extension = False
        self.many_keys = many_keys
        self.by = by
        self.operator: Operator = operator
        self._definition = definition
        self._timeout: Timeout | None = timeout
        self._zone = zone
        self._prepared: Prepared | None = None

    def prepared(self, batches: Batches) -> Prepared:
        """The function as Spark would call it, once the rows' types are known."""
        schema = batches.schema
        if self._prepared is None or self._prepared.schema != schema:
            key = KeyCodec(batches.key_schema(self.by), self._zone, self._definition.key)
            self._prepared = self._of(schema, key, batches.key_columns(self.by))
        return self._prepared

    def _of(self, schema: StructType, key: KeyCodec, by: list[str]) -> Prepared:
        wire = self._wire(schema)
        output = self._definition.output_codec(self._zone)
        of = self._definition, schema
        made = StructType([]) if output is None else output.schema
        if self._definition.library is None:
            calls = Calls(*of, self._timeout, self._zone, extension=self.extension)
            return Prepared(schema, key, by, wire, output, calls, None)
        columnar = Columnar(
            *of, key, wire, made, self._timeout, self._zone, extension=self.extension
        )
        return Prepared(schema, key, by, wire, output, None, columnar)

    def started(
        self,
        batches: Batches,
        initial: Batches | None,
        stored: Any,
        clocks: Clocks,
        rows_per_chunk: int | None,
        order: Random,
    ) -> Run:
        """One batch, on what is stored."""
        ready = self.prepared(batches)
        if self.operator == "applyInPandasWithState":
            return self._rows_run(ready, stored, clocks, order)
        assert ready.calls is not None
        chunk = chunk_size(rows_per_chunk or 0)
        schema = None if initial is None else initial.schema
        return ProcessorRun(
            ready.calls, ready.key, ready.by, ready.schema, schema, stored, clocks, chunk=chunk
        )

    def _rows_run(self, ready: Prepared, stored: StoredRows, clocks: Clocks, order: Random) -> Run:
        cuts = _Cuts(order, of_chunks=self._definition.chunked)
        if ready.columnar is not None:
            alone = ColumnsAlone(ready.columnar, ready.key.names)
            if not self.many_keys:
                return GroupRun(alone, ready, self._timeout, stored, clocks)
            one = GroupRun(alone, ready, self._timeout, stored.copy(), clocks)
            many = ManyRun(ManyColumns(ready.columnar), ready, stored, clocks, cuts)
            return ColumnsRun(self._definition.name, many, one, order)
        assert ready.calls is not None
        if not self.many_keys:
            adapter = Adapter(ready.calls, ready.key, ready.wire)
            return GroupRun(adapter, ready, self._timeout, stored, clocks)
        schema = StructType([]) if ready.output is None else ready.output.schema
        keys = ManyKeys(ready.calls, ready.key, ready.wire, schema)
        return ManyRun(keys, ready, stored, clocks, cuts)

    def groups(
        self, batches: Batches, of: Batches, table: pa.Table, rows_per_chunk: int | None
    ) -> Iterator[Group]:
        """The rows of a batch of `of`, as they travel, by key."""
        ready = self.prepared(batches)
        sent = (ready.wire if of is batches else self._wire(of.schema)).table(table)
        by_rows = self.operator == "transformWithState"
        return of.groups(sent, ready.key, rows_per_chunk, by_rows=by_rows)

    def keys(self, batches: Batches) -> KeyCodec | None:
        """None until the rows' types are known."""
        if not batches.known:
            return None
        return KeyCodec(batches.key_schema(self.by), self._zone)

    def key(self, values: tuple[Any, ...], batches: Batches) -> tuple[Any, tuple[Any, ...] | None]:
        """A key that a test names, and as Spark hands it over.

        None for that until the rows' types are known. StateUsageError for one that no row can have.
        """
        if len(values) != len(self.by):
            raise StateUsageError(
                f"The key is {values!r}, but the rows are grouped by {', '.join(self.by)}: give "
                f"{len(self.by)} value{'s' if len(self.by) > 1 else ''}, in this order."
            )
        keys = self.keys(batches)
        if keys is not None:
            try:
                made = keys.given(values)
            except MismatchError as e:
                raise StateUsageError(
                    f"The key {values!r} is none that the rows can have: {e.path} is {e.found_text}"
                    f", expected {e.expected}."
                ) from None
            return made, keys.cells(made)
        named = namedtuple("Key", self.by, rename=True)  # type: ignore[misc]
        try:
            hash(values)
        except TypeError:
            raise StateUsageError(
                f"The key {values!r} is none before the rows are known: run a batch first."
            ) from None
        return named._make(values), None

    def settle(
        self, given: Any, cells: tuple[Any, ...] | None, keys: KeyCodec, stored: Any
    ) -> None:
        """Has what was set for a key, before the rows' types were known, under that of the rows.

        `cells` are the key as Spark hands it over, if that is known. WrongTypeError for one that no
        row can have.
        """
        if cells is not None:
            stored.renamed(given, keys.identity(cells), cells)
            return
        try:
            key = keys.given(given)
        except MismatchError as e:
            raise WrongTypeError(
                f"A state was set for the key {given!r}, but {e.path} of the rows' keys is "
                f"{e.expected}, not {e.found_text}. Set it for a key that the rows can have."
            ) from None
        stored.renamed(given, key, keys.cells(key))

    def _wire(self, schema: StructType) -> Wire:
        return Wire(schema, self.by, masked=self.operator == "applyInPandasWithState")
