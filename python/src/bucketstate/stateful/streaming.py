"""The way into a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pyspark.sql.streaming.state import GroupStateTimeout

from bucketstate.stateful.adapter import Adapter
from bucketstate.stateful.definition import define
from bucketstate.stateful.document import SCHEMA
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.keys import KeyCodec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from bucketstate.stateful.handle import Timeout

TIMEOUTS = {
    None: GroupStateTimeout.NoTimeout,
    "processing": GroupStateTimeout.ProcessingTimeTimeout,
    "event": GroupStateTimeout.EventTimeTimeout,
}


def apply(
    df: DataFrame,
    *,
    by: str | Column | Sequence[str | Column],
    fn: Any,
    output_mode: str = "append",
    timeout: Timeout | None = None,
    state: Any = None,
    output: Any = None,
    chunked: bool | None = None,
) -> DataFrame:
    """Applies a stateful function to each group of a streaming DataFrame.

    Use it directly, or with `df.transform(stateful.apply, by=..., fn=...)`.

    by: the grouping columns; their names become the fields of `key`.
    fn: a function `(key, rows, state)`, an object with `on_rows` and perhaps `on_timeout`, or what
        `define` made of one. `state`, `output` and `chunked` are those of `define`.
    output_mode: "append" or "update", as the query's own output mode.
    timeout: None, "processing" (`state.timeout_after`) or "event" (`state.timeout_at`; the
        DataFrame needs a watermark).

    Raises DefinitionError for a function that can never work. While the query runs, WrongTypeError,
    MigrationError and StateUsageError fail the batch before it is committed.
    """
    definition = define(fn, state=state, output=output, chunked=chunked)
    mode = output_mode.lower() if isinstance(output_mode, str) else output_mode
    if mode not in ("append", "update"):
        raise DefinitionError(f"output_mode={output_mode!r}: it must be 'append' or 'update'.")
    check_timeout(timeout)
    df, names = _with_keys(df, list(by) if isinstance(by, list | tuple) else [by])
    zone = ZoneInfo(str(df.sparkSession.conf.get("spark.sql.session.timeZone")))
    keys = df.select(*names).schema
    adapter = Adapter(definition, KeyCodec(keys, zone), timeout, zone)

    def run(key: Any, chunks: Any, group: Any) -> Iterator[Any]:
        return adapter(key, chunks, group)

    run.__name__ = definition.name
    # A function without output still needs a schema: that of its key.
    schema = keys if adapter.output is None else adapter.output.schema
    return df.groupBy(*names).applyInPandasWithState(run, schema, SCHEMA, mode, TIMEOUTS[timeout])


def check_timeout(timeout: Any) -> None:
    if timeout not in TIMEOUTS:
        raise DefinitionError(f"timeout={timeout!r}: it must be None, 'processing' or 'event'.")


def _with_keys(df: DataFrame, by: list[Any]) -> tuple[DataFrame, list[str]]:
    """The DataFrame with a column for each key that is an expression, and the keys' names.

    Spark groups this operator by columns alone.
    """
    if not by:
        raise DefinitionError("by=[] names no column: give at least one to group by.")
    names = []
    for key in by:
        if isinstance(key, str):
            names.append(key)
            continue
        (name,) = df.select(key).columns
        names.append(name)
        if repr(key) == f"Column<'{name}'>":
            continue
        if name in df.columns:
            raise DefinitionError(
                f"by={key!r} has the name of the column {name}, which the rows need too. Give it "
                "another one with .alias(name)."
            )
        df = df.withColumn(name, key)
    return df, names
