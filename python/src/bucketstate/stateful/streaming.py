"""The way into a query."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupStateTimeout

from bucketstate.stateful.codec.kept import SCHEMA
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.many import variables
from bucketstate.stateful.many.columnar import Columnar, ColumnsAlone, ManyColumns
from bucketstate.stateful.many.protocol import MARKER
from bucketstate.stateful.many.typed import ManyKeys
from bucketstate.stateful.ready.recipe import Recipe, bound, clock_of
from bucketstate.stateful.run import operators
from bucketstate.stateful.run.adapter import Adapter
from bucketstate.stateful.run.calls import Calls
from bucketstate.stateful.run.chunks import ROWS_PER_BATCH, chunk_size
from bucketstate.stateful.run.definition import define
from bucketstate.stateful.run.frames import EXTENSION
from bucketstate.stateful.run.keys import KeyCodec, key_field
from bucketstate.stateful.run.processor import Processor
from bucketstate.stateful.run.wire import Wire
from bucketstate.stateful.run.zones import check_workers, zone_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator

_log = logging.getLogger("bucketstate.stateful")

_TIMEOUTS = {
    None: GroupStateTimeout.NoTimeout,
    "processing": GroupStateTimeout.ProcessingTimeTimeout,
    "event": GroupStateTimeout.EventTimeTimeout,
}
_TIME_MODES = {None: "None", "processing": "ProcessingTime", "event": "EventTime"}
_ZONE = "spark.sql.session.timeZone"


def apply(
    df: DataFrame,
    *,
    by: str | Column | Sequence[str | Column],
    fn: Any,
    operator: Operator = "applyInPandasWithState",
    output_mode: str | None = None,
    timeout: Timeout | None = None,
    initial_state: DataFrame | None = None,
    state: Any = None,
    output: Any = None,
    chunked: bool | None = None,
    many_keys: bool = True,
) -> DataFrame:
    """Applies a stateful function to each group of a streaming DataFrame.

    Use it directly, or with `df.transform(stateful.apply, by=..., fn=...)`. While the query runs,
    WrongTypeError, MigrationError and StateUsageError fail the batch before it is committed.

    Args:
        df: the streaming DataFrame.
        by: the grouping columns; their names become the fields of `key`.
        fn: a function `(key, rows, state)`, an object with `handleInputRows` and perhaps
            `handleExpiredTimer` and `handleInitialState`, what `define` made of one, or a
            ready-made one, such as `reduce` returns.
        operator: the operator of Spark that runs it, "applyInPandasWithState" or
            "transformWithState". A checkpoint is of one of them.
        output_mode: "append" or "update", as the query's own output mode; without, that of a
            ready-made function, and "append" of any other.
        timeout: the clock of timers and of the timeout: None, "processing" or "event" (the
            DataFrame needs a watermark). A ready-made function has its own.
        initial_state: a static DataFrame with the grouping columns under the same names, whose rows
            `handleInitialState` gets before the first batch. With "transformWithState" only.
        state: as for `define`.
        output: as for `define`.
        chunked: as for `define`.
        many_keys: whether the function may run over many keys in one call of Python, where the
            session has the extension `io.bucketstate.BucketstateExtensions` and Spark is 4.1 or
            newer. On "transformWithState" Spark has to be 4.2 or newer, the provider bucketstate's,
            and the state without lists and maps beside it. The answers and the checkpoint are the
            same.

    Raises:
        DefinitionError: the function can never work, or the operator cannot run it.
        SessionError: the session cannot run the operator, or has a setting with which Spark's own
            puts out other rows than the function does.
        InvalidSettingError: the session has a time zone in which Spark's Python workers cannot read
            the timestamps that there are.
        MissingLibraryError: Spark's own part of "transformWithState" in Python lacks a library.
    """
    for name, given in (("df", df), ("initial_state", initial_state)):
        if not isinstance(given, DataFrame) and (name == "df" or given is not None):
            raise DefinitionError(f"{name}={given!r} of stateful.apply: give a DataFrame of Spark.")
    recipe = fn if isinstance(fn, Recipe) else None
    timeout = clock_of(fn, timeout)
    if output_mode is None:
        output_mode = recipe.output_mode if recipe else "append"
    mode = output_mode.lower() if isinstance(output_mode, str) else output_mode
    if mode not in ("append", "update"):
        raise DefinitionError(f"output_mode={output_mode!r}: it must be 'append' or 'update'.")
    declared: dict[str, Any] = {"state": state, "output": output, "chunked": chunked}
    has_initial = initial_state is not None
    if recipe is None:
        definition = define(fn, **declared)
        operators.check(definition, operator, timeout, initial_state=has_initial)
    _check_dots(df.columns)
    df, names = _with_keys(df, list(by) if isinstance(by, list | tuple) else [by])
    if recipe is not None:
        df, names = recipe.project(df), [*names, *recipe.adds]
        definition = bound(recipe, df.schema, names, **declared)
        operators.check(definition, operator, timeout, initial_state=has_initial)
    setting: Any = df.sparkSession.conf.get
    version = df.sparkSession.version
    if operator == "transformWithState":
        operators.check_spark()
        operators.check_session(setting)
    else:
        sure = many_keys and operators.has_extension(setting)
        operators.check_output_batches(setting, operator, version, many_keys=sure)
    called = "many keys in a call" if many_keys else "one key in a call"
    _log.info("%s, by %s, runs on %s with %s", definition.name, names, operator, called)
    zone = zone_of(setting(_ZONE), _ZONE)
    keys = df.select(*names).schema
    schema = df.schema
    wire = Wire(schema, names, masked=operator == "applyInPandasWithState")
    columns = []
    if wire.event_time is not None:
        marked = wire.event_time
        columns.append((f"the column {marked.name!r} of the rows", marked.dataType))
    if (made := definition.output_codec(zone)) is not None:
        columns += [(f"the field {f.name!r} of the output", f.dataType) for f in made.schema.fields]
    check_workers(str(setting(_ZONE)), _ZONE, columns)
    extension = str(setting(EXTENSION, "false")).lower() == "true"
    sent = wire.project(df)
    # A function without output still needs a schema: that of its key.
    output_schema = keys if made is None else made.schema
    key = KeyCodec(keys, zone, definition.key)
    if definition.library is not None:
        columnar = Columnar(
            definition, schema, key, wire, output_schema, timeout, zone, extension=extension
        )
        alone = ColumnsAlone(columnar, key.names)
        run = _function(alone, ManyColumns(columnar) if many_keys else None, definition.name)
        grouped = sent.groupBy(*names)
        return grouped.applyInPandasWithState(run, output_schema, SCHEMA, mode, _TIMEOUTS[timeout])
    calls = Calls(definition, schema, timeout, zone, extension=extension)
    if operator == "applyInPandasWithState":
        many = ManyKeys(calls, key, wire, output_schema) if many_keys else None
        run = _function(Adapter(calls, key, wire), many, definition.name)
        grouped = sent.groupBy(*names)
        return grouped.applyInPandasWithState(run, output_schema, SCHEMA, mode, _TIMEOUTS[timeout])
    operators.check_keys(keys)
    initial, initial_schema = None, None
    if initial_state is not None:
        initial, initial_schema = _initial(initial_state, keys), initial_state.schema
    watermarked = wire.event_time is not None
    many_variables = None
    if many_keys and variables.takes(calls.state):
        many_variables = variables.ManyVariables(
            calls, key, wire, output_schema, watermarked=watermarked
        )
    sure = (
        many_variables is not None
        and initial is None
        # Over static data Spark runs its own operator.
        and df.isStreaming
        and variables.takes_keys(key_field(wire.schema, n).dataType for n in names)
        and operators.has_many_variables(setting, version)
    )
    operators.check_output_batches(setting, operator, version, many_keys=sure)
    processor = Processor(
        calls,
        key,
        schema,
        initial_schema,
        watermarked=watermarked,
        chunk=chunk_size(int(setting(ROWS_PER_BATCH, "10000"))),
        many=many_variables,
    )
    # Spark takes a time to live only where the query has a clock.
    clocked = timeout or ("processing" if any(p.ttl for p in calls.state.parts.values()) else None)
    return sent.groupBy(*names).transformWithState(
        processor, output_schema, mode, _TIME_MODES[clocked], initial
    )


def _function(adapter: Any, many: Any, name: str) -> Any:
    """The function that Spark gets: picklable by value, and named for its plan."""
    if many is None:

        def alone(key: Any, chunks: Any, group: Any) -> Iterator[Any]:
            yield from adapter(key, chunks, group)

        alone.__name__ = name
        return alone

    def run(*given: Any) -> Iterator[Any]:
        yield from many(*given) if len(given) == 1 else adapter(*given)

    run.__name__ = MARKER + name
    return run


def _initial(rows: DataFrame, keys: StructType) -> Any:
    """The initial state by the keys of the rows."""
    operators.check_initial(keys, rows.schema, typed=True)
    return Wire(rows.schema, keys.names, masked=False).project(rows).groupBy(*keys.names)


def _check_dots(columns: Sequence[str]) -> None:
    """DefinitionError for a column that Spark's operator would look for in another one."""
    for name in columns:
        if "." in name:
            raise DefinitionError(
                f"The column {name!r} has a dot in its name, with which Spark's operator finds no "
                "column: rename it, as df.withColumnRenamed does, or leave it out."
            )


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
    operators.check_names(names)
    return df, names
