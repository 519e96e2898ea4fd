"""Recipes of spans of event time, one of which each row has in a column that is added."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import col
from pyspark.sql.types import StructField, StructType, TimestampType

from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.instants import instants, timeouts
from bucketstate.stateful.ready.recipe import Recipe, time_column
from bucketstate.stateful.run.wire import WATERMARK

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bucketstate.stateful.run.many_keys import Keys

SPAN = StructType([StructField("start", TimestampType()), StructField("end", TimestampType())])
"""The type of a span."""


class Spanned(Recipe):
    """A recipe of spans, whose rows are late when their span has ended.

    Args:
        at: the event-time column.
    """

    timeout = "event"

    span: str
    """The name of the column that it adds."""

    def __init__(self, at: str) -> None:
        self.event_time = self._at = at

    @abstractmethod
    def spans(self) -> Column:
        """The span of each row, or the spans, in Spark."""

    def columns(self, schema: StructType) -> StructType:
        time_column(schema, self._at, self.name)
        if self.span in schema.names:
            raise DefinitionError(
                f"{self.name}: the rows have a column {self.span}, which it adds. Rename that one."
            )
        return StructType([*schema.fields, StructField(self.span, SPAN)])

    def project(self, rows: DataFrame) -> DataFrame:
        rows = super().project(rows)
        self.columns(rows.schema)
        # The watermark goes over to the spans: Spark has a row as late when its span has ended.
        mark = {WATERMARK: rows.schema[self._at].metadata[WATERMARK]}
        # Not with `withColumn`, which loses what is noted at a column on Spark Connect.
        columns = {n: col(f"`{n.replace('`', '``')}`") for n in rows.columns}
        timed = rows.where(columns[self._at].isNotNull())
        columns[self._at] = columns[self._at].alias(self._at, metadata={})
        return timed.select(*columns.values(), self.spans().alias(self.span, metadata=mark))

    def late_by(self, _event_time: str) -> str:
        return self.span


def call_at(keys: Keys[Any], ends: pa.Array, where: pa.Array) -> None:
    """Keys are called when the watermark has reached the end of their span, in microseconds."""
    # A timeout is reached once the watermark is beyond it. Both have whole milliseconds, so that of
    # an end within one is the last that lies before it, and never one that is over.
    keys.timeout_at(timeouts(pc.subtract(ends, 1)), where=where)


def spans_of(starts: pa.Array, ends: pa.Array) -> pa.StructArray:
    """Spans, of microseconds since 1970."""
    edges = [instants(starts), instants(ends)]
    return pa.StructArray.from_arrays(edges, names=["start", "end"])
