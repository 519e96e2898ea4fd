"""Runs the same batches through the harness and through a streaming query, and compares them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.types import NullType

from bucketstate import stateful
from bucketstate.errors import SessionError
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.recipe import Recipe, clock_of, event_time_of
from bucketstate.stateful.run.chunks import ROWS_PER_BATCH, arrow_schema, chunk_size
from bucketstate.stateful.run.frames import EXTENSION
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.zones import zone_of
from bucketstate.testing.batches import Batches
from bucketstate.testing.differences import DifferenceError, different, document_of
from bucketstate.testing.harness import Harness
from bucketstate.testing.spark_query import Planned, SparkQuery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.operators import Operator

_log = logging.getLogger("bucketstate.testing")

_ZONE = "spark.sql.session.timeZone"


def compare(
    spark: SparkSession,
    fn: Any,
    batches: Sequence[Any],
    *,
    by: str | Sequence[str],
    operator: Operator = "applyInPandasWithState",
    output_mode: str = "update",
    schema: Any = None,
    timeout: Timeout | None = None,
    event_time: str | None = None,
    delay: timedelta = timedelta(0),
    state: Any = None,
    output: Any = None,
    chunked: bool | None = None,
    many_keys: bool = True,
    restart_after: int | Iterable[int] | Mapping[int, Any] = (),
    patience: timedelta = timedelta(minutes=5),
) -> list[list[dict[str, Any]]]:
    """Runs a stateful function over the same batches in a query and in the harness.

    Both run by the clocks of the query's batches, and have to answer alike. Compared are the output
    rows of each batch, the watermarks and, at the end, the documents, timeouts and timers of all
    keys. On "transformWithState" the parts are compared by what the function puts out of them.

    Args:
        spark: a session; its settings of state stores and time zone are those of the query.
        fn: as for `stateful.apply`; the workers have to be able to import it.
        batches: one item for each batch, in the forms that `Harness.run` takes.
        by: as for `Harness`.
        operator: as for `Harness`.
        output_mode: of the query.
        schema: as for `Harness`.
        timeout: as for `Harness`.
        event_time: as for `Harness`.
        delay: as for `Harness`.
        state: as for `Harness`.
        output: as for `Harness`.
        chunked: as for `Harness`.
        many_keys: as for `Harness`.
        restart_after: the batches, counted from 0, after which the query is stopped and started
            again from its checkpoint, and the harness is `restarted`: the number of one, or of
            several; or a dict from each to the function that goes on, which may be a
            `stateful.define`d one, or None for the same one as before.
        patience: how long the query may take between two restarts, in whole seconds, 1 or more.

    Returns:
        The output of each of the query's batches: of those given, and of those after them that have
        no rows and fire timeouts by event time.

    Raises:
        DifferenceError: an AssertionError, for the first batch that differs, and for a query that
            fails where the harness does not, or does not end in time.
        DefinitionError: the function or an argument can never work, the batches have no rows at
            all, or no batch follows a restart.
        SessionError: the session cannot run the operator.
        InvalidSettingError: the session's time zone is not known.
        StatefulError: what the function or its rows do wrong, as for `Harness.run`.
    """
    if not isinstance(spark, SparkSession):
        raise SessionError(f"spark={spark!r} of compare: give a session of Spark that runs.")
    if isinstance(batches, str | bytes) or not isinstance(batches, Iterable):
        raise DefinitionError(f"batches={batches!r} of compare: give a list of batches.")
    if not isinstance(patience, timedelta) or patience < timedelta(seconds=1):
        raise DefinitionError(
            f"patience={patience!r} of compare: give a timedelta of one second or more, such as "
            "timedelta(minutes=5)."
        )
    zone_name = str(spark.conf.get(_ZONE))
    zone = zone_of(zone_name, _ZONE)
    timeout = clock_of(fn, timeout)
    event_time = event_time_of(fn, event_time)
    harness = Harness(
        fn,
        by=by,
        operator=operator,
        schema=schema,
        timeout=timeout,
        event_time=event_time,
        delay=delay,
        time_zone=zone_name,
        rows_per_chunk=chunk_size(int(str(spark.conf.get(ROWS_PER_BATCH)))),
        many_keys=many_keys,
        state=state,
        output=output,
        chunked=chunked,
    )
    if not isinstance(fn, Recipe):
        fn = harness._definition
    harness._query.extension = str(spark.conf.get(EXTENSION, "false")).lower() == "true"
    # Both read them.
    given = [list(rows) if isinstance(rows, Iterator) else rows for rows in batches]
    parts = _parts(fn, restart_after, len(given))
    _log.info("%d batches on %s, in %d runs", len(given), operator, len(parts))
    read = Batches(schema, zone)
    tables = _tables(given, read)
    # By the clock there is always one more batch to run, and the query would never end.
    ends = timeout != "processing" and not any(_fading(p.fn, operator) for p in parts)
    with tempfile.TemporaryDirectory(prefix="bucketstate-compare-") as name:
        names = [by] if isinstance(by, str) else list(by)
        query = SparkQuery(
            spark,
            Path(name),
            read.schema,
            by=names,
            operator=operator,
            output_mode=output_mode,
            timeout=timeout,
            event_time=event_time,
            delay=delay,
            many_keys=many_keys,
            patience=patience,
        )
        streamed: dict[int, pa.Table] = {}
        failure: StreamingQueryException | None = None
        for part in parts:
            # Batches without rows come at the end: so a restart is behind a batch that was given.
            idle = ends and part is parts[-1]
            try:
                streamed |= query.run(part.fn, tables[part.first : part.end], idle=idle)
            except StreamingQueryException as e:
                failure = e
                break
        restarts = {part.first: part.fn for part in parts[1:]}
        answers: list[list[dict[str, Any]]] = []
        planned = query.planned()
        for batch in planned:
            if batch.number in restarts:
                harness = harness.restarted(restarts[batch.number])
            _check_watermark(batch, harness)
            harness.clock = batch.at
            # Where the function failed in the query, it does so here, and says it in one line.
            told = harness.run(given[batch.number] if batch.number < len(given) else ())
            if failure is not None:
                continue
            found = _typed(streamed.get(batch.number), harness._definition, zone)
            _check("rows", batch.number, told, found)
            answers.append(found)
        if failure is not None:
            said = str(failure).strip().partition("\n")[0]
            raise DifferenceError(
                f"Batch {planned[-1].number if planned else 0}: Spark's query fails, and the "
                f"harness does not: {said}"
            ) from failure
        if answers:
            keyed = harness._batches if isinstance(fn, Recipe) else read
            stored = query.stored(KeyCodec(keyed.key_schema(harness._query.by), zone))
            _check("states", len(answers) - 1, _told(harness._stored.kept()), _told(stored))
        return answers


@dataclass(frozen=True)
class _Part:
    """The batches from `first` on and before `end`, between two restarts."""

    first: int
    end: int
    fn: stateful.Definition | Recipe


def _parts(fn: stateful.Definition | Recipe, restart_after: Any, batches: int) -> list[_Part]:
    given = [restart_after] if isinstance(restart_after, int) else restart_after
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise _no_restart(restart_after, batches)
    following = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    for number in following:
        if type(number) is not int or not 0 <= number < batches - 1:
            raise _no_restart(restart_after, batches)
    made = []
    first = 0
    for number in sorted(following):
        made.append(_Part(first, number + 1, fn))
        other = following[number]
        if other is not None:
            fn = other if isinstance(other, Recipe) else stateful.define(other)
        first = number + 1
    return [*made, _Part(first, batches, fn)]


def _no_restart(restart_after: Any, batches: int) -> DefinitionError:
    possible = f"numbers from 0 to {batches - 2}" if batches > 1 else "two batches or more"
    return DefinitionError(
        f"restart_after={restart_after!r} with batches={batches}: a restart comes behind a batch "
        f"that another one follows. Give {possible}."
    )


def _tables(batches: list[Any], read: Batches) -> list[pa.Table]:
    tables = [read.table(rows) for rows in batches]
    if not read.known:
        raise DefinitionError("batches have no rows at all: give some, or schema=.")
    columns = read.schema
    for field in columns.fields:
        if isinstance(field.dataType, NullType):
            raise DefinitionError(
                f"The column {field.name!r} of the batches is None alone, so that it has no type: "
                "give schema=."
            )
    arrow = arrow_schema(columns)
    return [arrow.empty_table() if t is None else t.cast(arrow) for t in tables]


def _fading(fn: stateful.Definition | Recipe, operator: Operator) -> bool:
    """Whether Spark's own clock ends the life of parts."""
    if isinstance(fn, Recipe):
        return False
    parts = fn.state_codec(UTC).parts.values()
    return operator == "transformWithState" and any(p.ttl for p in parts)


def _typed(
    table: pa.Table | None, definition: stateful.Definition, zone: tzinfo
) -> list[dict[str, Any]]:
    """The query's rows as the harness gives them."""
    output = definition.output_codec(zone)
    if output is None or table is None:
        return []
    columns = [
        [OptionalCodec(field.codec).cell(v) for v in table.column(field.name).to_pylist()]
        for field in output.fields
    ]
    return [dict(zip(output.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _told(kept: Mapping[Any, Kept]) -> list[dict[str, Any]]:
    return [
        {
            "key": tuple(key),
            "state": None if found.text is None else document_of(found.text),
            "timeout": found.timeout,
            "timers": found.timers,
        }
        for key, found in kept.items()
        if not found.empty
    ]


def _check_watermark(batch: Planned, harness: Harness) -> None:
    if harness.watermark not in (None, batch.watermark):
        raise DifferenceError(
            f"Batch {batch.number}: the watermark is {harness.watermark} in the harness, "
            f"{batch.watermark} in Spark. Give event_time= and delay= as the query has them."
        )


def _check(what: str, batch: int, harness: list[Any], spark: list[Any]) -> None:
    in_harness, in_spark = different(harness, spark)
    if not in_harness and not in_spark:
        return
    lines = [f"  harness: {row}" for row in in_harness]
    lines += [f"  Spark: {row}" for row in in_spark]
    raise DifferenceError(
        f"Batch {batch}: the {what} differ. A function has to depend on its rows, its state and "
        "its clocks alone, and not on the order of rows.\n" + "\n".join(lines)
    )
