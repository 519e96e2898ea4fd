"""A ready-made function before it knows the rows: their columns give it its types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType, TimestampType

from bucketstate.stateful.codec.instants import MILLISECOND
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import column_of
from bucketstate.stateful.run.definition import Definition, define
from bucketstate.stateful.run.wire import WATERMARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bucketstate.stateful.run.handle import Timeout

_LONGEST = timedelta(days=365_000)


class Recipe(ABC):
    """What `reduce`, `windows` and their like return: `apply`, `Harness` and `compare` take it.

    Immutable and picklable.
    """

    name: str
    """What messages call it."""

    timeout: Timeout | None = None
    """The clock that it needs."""

    output_mode: str = "append"
    """The output mode that it is made for."""

    event_time: str | None = None
    """The column of times that it goes by, which needs a watermark; None without."""

    adds: tuple[str, ...] = ()
    """Grouping columns that it adds to those of `by`."""

    @abstractmethod
    def definition(self, schema: StructType, by: Sequence[str]) -> Definition:
        """The function over rows with these columns, grouped by these.

        Raises:
            DefinitionError: a column that it is of is not there, or of another type.
        """

    def project(self, rows: DataFrame) -> DataFrame:
        """The rows with all columns that it needs.

        Raises:
            DefinitionError: they have no watermark, and it needs one.
        """
        at = self.event_time
        schema = rows.schema
        if at is not None and at in schema.names and WATERMARK not in schema[at].metadata:
            raise DefinitionError(
                f"{self.name} goes by the event time {at}, which has no watermark: call "
                f"df.withWatermark({at!r}, delay) before."
            )
        return rows

    def columns(self, schema: StructType) -> StructType:
        """The columns of `project`, for rows with these.

        Raises:
            DefinitionError: one that it is of is not there, or one that it adds is.
        """
        return schema

    def table(self, rows: pa.Table) -> pa.Table:
        """As `project`, without Spark."""
        return rows

    def late_by(self, event_time: str) -> str:
        """The column whose times, or whose structs' ends, say whether a row comes too late."""
        return event_time

    def _goes_by(self, at: str | None, span: timedelta | None, what: str) -> int | None:
        """Takes the clock that a span of time goes by: the event time, or else processing time.

        The span in milliseconds, None without one; DefinitionError for an event time alone.
        """
        if span is None:
            if at is not None:
                raise DefinitionError(
                    f"{self.name}: at={at!r} is what ttl= goes by: give that, too."
                )
            return None
        self.event_time = at
        self.timeout = "processing" if at is None else "event"
        return millis_of(span, f"{self.name}: {what}")

    def __repr__(self) -> str:
        return f"stateful.{self.name}(...)"


def bound(
    fn: Any,
    schema: StructType | None,
    by: Sequence[str],
    *,
    state: Any = None,
    output: Any = None,
    chunked: bool | None = None,
) -> Definition:
    """What `define` makes of a function, and a schema of a ready-made one.

    `schema` is that of its `columns`, and `by` has those that it adds.

    Raises:
        DefinitionError: as of `define`; a ready-made one without a schema, or with types of its
            own.
    """
    if not isinstance(fn, Recipe):
        return define(fn, state=state, output=output, chunked=chunked)
    if state is not None or output is not None or chunked is not None:
        raise DefinitionError(
            f"{fn.name} has its state and its output by itself: leave out state=, output= and "
            "chunked=."
        )
    if schema is None:
        raise DefinitionError(
            f"{fn.name} takes its types from the rows' columns: give schema= a dataclass, a DDL "
            "text or a StructType."
        )
    return fn.definition(schema, by)


def clock_of(fn: Any, timeout: Any) -> Any:
    """The clock of the query. Raises DefinitionError for another than a ready-made one needs."""
    if not isinstance(fn, Recipe):
        return timeout
    if timeout not in (None, fn.timeout):
        needs = "no clock" if fn.timeout is None else f"timeout={fn.timeout!r}"
        raise DefinitionError(f"{fn.name} needs {needs}, not timeout={timeout!r}: leave it out.")
    return fn.timeout


def event_time_of(fn: Any, event_time: str | None) -> str | None:
    """The column of the watermark. Raises DefinitionError for another than a ready-made one has."""
    if not isinstance(fn, Recipe) or fn.event_time is None:
        return event_time
    if event_time not in (None, fn.event_time):
        raise DefinitionError(
            f"{fn.name} goes by the event time {fn.event_time}, not by event_time={event_time!r}: "
            "leave it out."
        )
    return fn.event_time


def check_restart(name: str, timeout: Any, *, had: bool) -> None:
    """Raises DefinitionError where a query that had a clock would have none, or gain one.

    Args:
        name: of the function.
        timeout: the clock that it has after the restart.
        had: whether the query had one.
    """
    if (timeout is not None) == had:
        return
    needs = "no clock" if timeout is None else f"timeout={timeout!r}"
    raise DefinitionError(
        f"{name} needs {needs}, and the query had {'one' if had else 'none'}: with a clock Spark "
        "keeps one more column beside each state, and refuses the restart. Keep the clock as it "
        "was, or begin with a new checkpoint."
    )


def time_column(schema: StructType, column: str, what: str) -> None:
    """Raises DefinitionError for a column that does not hold points in time."""
    column_of(schema, column, "at", what, TimestampType)


def millis_of(given: Any, what: str) -> int:
    """A timedelta in milliseconds.

    Raises DefinitionError for none of whole ones from 1, and for one that leads out of all years.
    """
    if not isinstance(given, timedelta) or given < MILLISECOND or given % MILLISECOND:
        raise DefinitionError(
            f"{what}={given!r}: give a timedelta of whole milliseconds from 1, such as "
            "timedelta(minutes=5)."
        )
    if given > _LONGEST:
        raise DefinitionError(f"{what}={given!r}: give at most 1,000 years, of 365 days.")
    return given // MILLISECOND
