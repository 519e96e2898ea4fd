"""One batch of one operator: what the harness asks of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from bucketstate.stateful.codec.document import Clock, StateCodec
    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.codec.structs import StructCodec
    from bucketstate.stateful.many.columnar import Columnar
    from bucketstate.stateful.run.calls import Calls
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.slots import Slot
    from bucketstate.stateful.run.wire import Wire


@dataclass(frozen=True)
class Prepared:
    """What follows from the types of the rows."""

    schema: StructType
    key: KeyCodec
    by: list[str]
    """What the rows call the grouping columns."""
    wire: Wire
    output: StructCodec | None
    """The codec of the output; None where the function puts nothing out."""
    calls: Calls | None
    """A function with one key in a call."""
    columnar: Columnar | None
    """A function over columns."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one key in a batch, in the chunks that Spark would cut them into."""

    key: Any
    chunks: list[pa.Table]


@dataclass(frozen=True, slots=True)
class Clocks:
    """A batch's clocks in milliseconds since the epoch; no watermark for a query without one."""

    now: int
    watermark: int | None


class Stored(Protocol):
    """What a query's state stores hold between batches."""

    def copy(self) -> Stored: ...

    def kept(self) -> dict[Any, Kept]:
        """What is kept of each key beside the parts."""

    def value(self, key: Any, codec: StateCodec, clock: Clock) -> Any:
        """A copy of a key's state; it must have one."""

    def call(
        self,
        key: Any,
        cells: tuple[Any, ...],
        codec: StateCodec,
        clocks: Clocks,
        step: Callable[[Slot], None],
    ) -> None:
        """Does `step` with the place of a key that no batch need have had, outside of a batch.

        `cells` are the key as Spark hands it over.
        """

    def renamed(self, before: Any, key: Any, cells: tuple[Any, ...], /) -> None:
        """Has under `key` what was there under `before`."""


class Run(Protocol):
    """One batch on a copy of what is stored."""

    def initial(self, key: Any, row: pa.Table, by: list[str], /) -> None:
        """Takes one row of the initial state, which has the key in the columns `by`."""

    def rows(self, groups: list[Group]) -> list[dict[str, Any]]:
        """The output of the calls for rows, group after group."""

    def fire(
        self, reached: int, shuffled: Callable[[Iterable[Any]], list[Any]]
    ) -> list[dict[str, Any]]:
        """Fires all timers before `reached`; of several keys, in the order of `shuffled`."""
