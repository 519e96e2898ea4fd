"""Runs the same batches through the harness and through a streaming query, and compares them."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import NullType

from bucketstate import stateful
from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.errors import DefinitionError, StatefulError
from bucketstate.stateful.instants import EPOCH, MILLISECOND
from bucketstate.stateful.kept import Kept
from bucketstate.stateful.keys import KeyCodec
from bucketstate.stateful.processor import STATE
from bucketstate.stateful.zones import zone_of
from bucketstate.testing.batches import Batches
from bucketstate.testing.harness import Harness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from bucketstate.stateful.handle import Timeout
    from bucketstate.stateful.operators import Operator

_ZONE = "spark.sql.session.timeZone"
_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
_FIRST_MODIFIED = 1_700_000_000


class DifferenceError(StatefulError, AssertionError):
    """The harness and Spark did not answer alike.

    Raised by `compare` for the first batch that differs, with its rows, and for a query that does
    not end in time.

    What to do: make the function depend on its rows, state and clocks alone, or give `compare` what
    the query has; if that is so, it is a defect of the harness.
    """


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
        patience: how long the query may take, in whole seconds.

    Returns:
        The output of each of the query's batches: of those given, and of those after them that have
        no rows and fire timeouts by event time.

    Raises:
        DifferenceError: an AssertionError, for the first batch that differs, and for a query that
            does not end in time.
        DefinitionError: the function can never work, or the batches have no rows at all.
        SessionError: the session cannot run the operator.
        InvalidSettingError: the session's time zone is not known.
        StatefulError: what the function or its rows do wrong, as for `Harness.run`.
    """
    zone_name = str(spark.conf.get(_ZONE))
    definition = stateful.define(fn, state=state, output=output, chunked=chunked)
    zone = zone_of(zone_name, _ZONE)
    harness = Harness(
        definition,
        by=by,
        operator=operator,
        schema=schema,
        timeout=timeout,
        event_time=event_time,
        delay=delay,
        time_zone=zone_name,
    )
    # Both read them.
    given = [list(rows) if isinstance(rows, Iterator) else rows for rows in batches]
    read = Batches(schema, zone)
    tables = _tables(given, read)
    with (
        tempfile.TemporaryDirectory(prefix="bucketstate-compare-") as name,
        _ending(spark, clocked=timeout == "processing" or _fading(definition, operator)),
    ):
        folder = Path(name)
        _write(folder / "input", tables)
        source = spark.readStream.schema(read.schema).option("maxFilesPerTrigger", 1)
        rows = source.parquet(str(folder / "input"))
        if event_time is not None:
            rows = rows.withWatermark(event_time, f"{delay // MILLISECOND} milliseconds")
        applied = stateful.apply(
            rows,
            by=by if isinstance(by, str) else list(by),
            fn=definition,
            operator=operator,
            output_mode=output_mode,
            timeout=timeout,
        )
        streamed = _streamed(applied, folder / "checkpoint", output_mode, patience)
        answers = []
        for batch in _offset_log(folder / "checkpoint"):
            _check_watermark(batch, harness, zone)
            harness.clock = batch.at
            told = harness.run(given[batch.number] if batch.number < len(given) else ())
            found = _typed(streamed.get(batch.number), definition, zone)
            _check("rows", batch.number, told, found)
            answers.append(found)
        if answers:
            key = KeyCodec(read.key_schema([by] if isinstance(by, str) else list(by)), zone)
            stored = _stored(spark, folder / "checkpoint", operator, key)
            _check("states", len(answers) - 1, _told(harness._stored.kept()), _told(stored))
        return answers


@dataclass(frozen=True)
class _Batch:
    """What Spark decided for a batch before it ran."""

    number: int
    at: datetime
    watermark: datetime


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
    arrow = to_arrow_schema(columns, timezone="UTC")
    return [arrow.empty_table() if t is None else t.cast(arrow) for t in tables]


def _write(folder: Path, tables: list[pa.Table]) -> None:
    """One file for each batch, in the order in which Spark reads them."""
    folder.mkdir()
    for number, table in enumerate(tables):
        file = folder / f"{number:06d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))


def _fading(definition: stateful.Definition, operator: Operator) -> bool:
    """Whether Spark's own clock ends the life of parts."""
    parts = definition.state_codec(UTC).parts.values()
    return operator == "transformWithState" and any(p.ttl for p in parts)


@contextmanager
def _ending(spark: SparkSession, *, clocked: bool) -> Iterator[None]:
    """By the clock there is always one more batch to run, and the query would never end."""
    if not clocked:
        yield
        return
    before = str(spark.conf.get(_NO_DATA))
    spark.conf.set(_NO_DATA, "false")
    try:
        yield
    finally:
        spark.conf.set(_NO_DATA, before)


def _streamed(
    rows: DataFrame, checkpoint: Path, output_mode: str, patience: timedelta
) -> dict[int, pa.Table]:
    kept: dict[int, pa.Table] = {}

    def keep(batch: DataFrame, number: int) -> None:
        kept[number] = batch.toArrow()

    writer = rows.writeStream.outputMode(output_mode).foreachBatch(keep)
    writer = writer.trigger(availableNow=True).option("checkpointLocation", str(checkpoint))
    query = writer.start()
    try:
        if not query.awaitTermination(int(patience.total_seconds())):
            raise DifferenceError(
                f"The query did not end within {patience}: give more patience=, or fewer batches."
            )
    finally:
        query.stop()
    return kept


def _offset_log(checkpoint: Path) -> list[_Batch]:
    logged = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda f: int(f.name))
    made = []
    for file in logged:
        clocks = json.loads(file.read_text(encoding="utf-8").splitlines()[1])
        at, watermark = (
            EPOCH + clocks[f"batch{clock}Ms"] * MILLISECOND for clock in ("Timestamp", "Watermark")
        )
        made.append(_Batch(int(file.name), at, watermark))
    return made


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


def _stored(
    spark: SparkSession, checkpoint: Path, operator: Operator, key: KeyCodec
) -> dict[Any, Kept]:
    """What the last batch left, by Spark's own reader."""
    reader = spark.read.format("statestore")
    if operator == "transformWithState":
        held = "value"
        rows = reader.option("stateVarName", STATE).load(str(checkpoint))
    else:
        held = "value.groupState"
        rows = reader.load(str(checkpoint)).where("value.groupState is not null")
    found = rows.selectExpr("key", f"{held}.version", f"{held}.timeout", f"{held}.state").toArrow()
    made = {}
    for row in found.to_pylist():
        cells = tuple(row["key"].values())
        made[key.identity(cells)] = Kept.of((row["version"], row["timeout"], row["state"]))
    return made


def _told(kept: Mapping[Any, Kept]) -> list[dict[str, Any]]:
    return [
        {
            "key": tuple(key),
            "state": None if found.text is None else json.loads(found.text),
            "timeout": found.timeout,
            "timers": found.timers,
        }
        for key, found in kept.items()
        if not found.empty
    ]


def _check_watermark(batch: _Batch, harness: Harness, zone: tzinfo) -> None:
    at = batch.watermark.astimezone(zone).replace(tzinfo=None)
    if harness.watermark not in (None, at):
        raise DifferenceError(
            f"Batch {batch.number}: the watermark is {harness.watermark} in the harness, {at} in "
            "Spark. Give event_time= and delay= as the query has them."
        )


def _check(what: str, batch: int, harness: list[Any], spark: list[Any]) -> None:
    told, found = Counter(map(_frozen, harness)), Counter(map(_frozen, spark))
    if told == found:
        return
    lines = [f"  harness: {row}" for row in harness if _frozen(row) in told - found]
    lines += [f"  Spark: {row}" for row in spark if _frozen(row) in found - told]
    raise DifferenceError(
        f"Batch {batch}: the {what} differ. A function has to depend on its rows, its state and "
        "its clocks alone, and not on the order of rows.\n" + "\n".join(lines)
    )


def _frozen(value: Any) -> Any:
    """A value that is equal to another one's if they are the same, whatever the order of maps."""
    if isinstance(value, Mapping):
        return frozenset((_frozen(k), _frozen(v)) for k, v in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(map(_frozen, value))
    if isinstance(value, list | tuple):
        made = [_frozen(v) for v in value]
        # Entries of a map.
        entries = bool(value) and all(isinstance(v, Mapping) and "key" in v for v in value)
        return frozenset(made) if entries else tuple(made)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(_frozen(getattr(value, f.name)) for f in dataclasses.fields(value))
    return "NaN" if value != value else value
