"""What the harness is of: a function on an operator, and what Spark makes of its rows and keys."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.errors import MismatchError, StateUsageError, WrongTypeError
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.chunks import chunk_size
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.wire import Wire
from bucketstate.testing.group_run import GroupRun
from bucketstate.testing.processor_run import ProcessorRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from bucketstate.stateful.run.definition import Definition
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator
    from bucketstate.testing.batches import Batches
    from bucketstate.testing.runs import Clocks, Group, Run


@dataclass(frozen=True)
class Prepared:
    """What follows from the types of the rows."""

    schema: StructType
    calls: Calls
    key: KeyCodec
    wire: Wire


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
    ) -> None:
        self.extension = False
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
            key = KeyCodec(batches.key_schema(self.by), self._zone)
            calls = Calls(
                self._definition, schema, self._timeout, self._zone, extension=self.extension
            )
            self._prepared = Prepared(schema, calls, key, self._wire(schema))
        return self._prepared

    def started(
        self,
        batches: Batches,
        initial: Batches | None,
        stored: Any,
        clocks: Clocks,
        rows_per_chunk: int | None,
    ) -> Run:
        """One batch, on what is stored."""
        ready = self.prepared(batches)
        if self.operator == "applyInPandasWithState":
            return GroupRun(ready.calls, ready.key, ready.wire, stored, clocks)
        chunk = chunk_size(rows_per_chunk or 0)
        schema = None if initial is None else initial.schema
        return ProcessorRun(
            ready.calls, ready.key, ready.schema, schema, stored, clocks, chunk=chunk
        )

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

        None for that until the rows' types are known, and for a key that no group can have.
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
            except MismatchError:
                pass
            else:
                return made, keys.cells(made)
        named = namedtuple("Key", self.by, rename=True)  # type: ignore[misc]
        return named._make(values), None

    def settle(self, given: Any, keys: KeyCodec, stored: Any) -> None:
        """Has what was set for a key, before the rows' types were known, under that of the rows.

        WrongTypeError for one that no row can have.
        """
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
