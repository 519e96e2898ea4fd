"""A streaming query that `compare` runs: its input, its batches, and what it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from bucketstate import stateful
from bucketstate.stateful.codec.instants import EPOCH, MILLISECOND
from bucketstate.stateful.codec.kept import Kept
from bucketstate.stateful.run.processor import STATE
from bucketstate.testing.differences import DifferenceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from bucketstate.stateful.ready.recipe import Recipe
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.operators import Operator

_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
_FIRST_MODIFIED = 1_700_000_000


@dataclass(frozen=True)
class Planned:
    """What Spark decided for a batch before it ran."""

    number: int
    at: datetime
    watermark: datetime


@dataclass(frozen=True)
class SparkQuery:
    """A query over files, one for each batch, whose checkpoint outlives its runs.

    Attributes:
        folder: of its own, for input and checkpoint.
        schema: of the rows.
        patience: how long a run may take.
    """

    spark: SparkSession
    folder: Path
    schema: StructType
    by: list[str]
    operator: Operator
    output_mode: str
    timeout: Timeout | None
    event_time: str | None
    delay: timedelta
    many_keys: bool
    patience: timedelta

    def run(
        self, fn: stateful.Definition | Recipe, tables: Sequence[pa.Table], *, idle: bool
    ) -> dict[int, pa.Table]:
        """Goes on from the checkpoint, if there is one, and runs these batches, each a table.

        idle: whether batches without rows follow, as long as the watermark has them do something.

        Returns the output by batch. Raises DifferenceError for a query that does not end.
        """
        self._write(tables)
        source = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        rows = source.parquet(str(self._input))
        if self.event_time is not None:
            rows = rows.withWatermark(self.event_time, f"{self.delay // MILLISECOND} milliseconds")
        applied = stateful.apply(
            rows,
            by=self.by,
            fn=fn,
            operator=self.operator,
            output_mode=self.output_mode,
            timeout=self.timeout,
            many_keys=self.many_keys,
        )
        with self._idle(idle):
            return self._streamed(applied)

    def planned(self) -> list[Planned]:
        """All batches so far."""
        logged = sorted((self._checkpoint / "offsets").glob("[0-9]*"), key=lambda f: int(f.name))
        made = []
        for file in logged:
            clocks = json.loads(file.read_text(encoding="utf-8").split("\n")[1])
            at, watermark = (
                EPOCH + clocks[f"batch{clock}Ms"] * MILLISECOND
                for clock in ("Timestamp", "Watermark")
            )
            made.append(Planned(int(file.name), at, watermark))
        return made

    def stored(self, key: KeyCodec) -> dict[Any, Kept]:
        """What the last batch left, by Spark's own reader."""
        reader = self.spark.read.format("statestore")
        if self.operator == "transformWithState":
            held = "value"
            rows = reader.option("stateVarName", STATE).load(str(self._checkpoint))
        else:
            held = "value.groupState"
            rows = reader.load(str(self._checkpoint)).where("value.groupState is not null")
        columns = ("key", f"{held}.version", f"{held}.timeout", f"{held}.state")
        made = {}
        for row in rows.selectExpr(*columns).toArrow().to_pylist():
            cells = tuple(row["key"].values())
            made[key.identity(cells)] = Kept.of((row["version"], row["timeout"], row["state"]))
        return made

    @property
    def _input(self) -> Path:
        return self.folder / "input"

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def _write(self, tables: Sequence[pa.Table]) -> None:
        """In the order in which Spark reads files: by the times at which they were changed."""
        self._input.mkdir(exist_ok=True)
        before = len(list(self._input.iterdir()))
        for number, table in enumerate(tables, start=before):
            file = self._input / f"{number:06d}.parquet"
            pq.write_table(table, file)
            os.utime(file, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))

    @contextmanager
    def _idle(self, idle: bool) -> Iterator[None]:
        if idle:
            yield
            return
        before = self.spark.conf.get(_NO_DATA, None)
        self.spark.conf.set(_NO_DATA, "false")
        try:
            yield
        finally:
            if before is None:
                self.spark.conf.unset(_NO_DATA)
            else:
                self.spark.conf.set(_NO_DATA, before)

    def _streamed(self, rows: DataFrame) -> dict[int, pa.Table]:
        kept: dict[int, pa.Table] = {}

        def keep(batch: DataFrame, number: int) -> None:
            kept[number] = batch.toArrow()

        writer = rows.writeStream.outputMode(self.output_mode).foreachBatch(keep)
        writer = writer.trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self._checkpoint)).start()
        try:
            if not query.awaitTermination(int(self.patience.total_seconds())):
                raise DifferenceError(
                    f"The query did not end within {self.patience}: give more patience=, or fewer "
                    "batches."
                )
        finally:
            query.stop()
        return kept
