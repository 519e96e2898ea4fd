"""A test's rows as the groups of pandas columns that Spark hands to a function."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType, TimestampType

from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.definition import output_codec
from bucketstate.stateful.errors import DefinitionError, MismatchError, WrongTypeError
from bucketstate.testing.runs import Group

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from bucketstate.stateful.containers import StructCodec
    from bucketstate.stateful.keys import KeyCodec


class Batches:
    """Reads batches of one schema: the given one, or that of the first batch with rows."""

    def __init__(self, schema: Any, zone: ZoneInfo) -> None:
        self._zone = zone
        self._codec: StructCodec | None = None if schema is None else output_codec(schema, zone)
        self._arrow: pa.Schema | None = None
        if self._codec is not None:
            self._arrow = to_arrow_schema(self._codec.schema, timezone="UTC")

    @property
    def known(self) -> bool:
        """Whether the columns are known."""
        return self._arrow is not None

    @property
    def schema(self) -> StructType:
        """The columns' types, once they are known."""
        if self._codec is not None:
            return self._codec.schema
        assert self._arrow is not None
        return from_arrow_schema(self._arrow)

    def key_schema(self, by: list[str]) -> StructType:
        if absent := [n for n in by if n not in self.schema.names]:
            raise DefinitionError(
                f"by={absent[0]!r} is not a column of the rows, which have "
                f"{', '.join(self.schema.names)}."
            )
        return StructType([self.schema[n] for n in by])

    def table(self, rows: Any) -> pa.Table | None:
        """The batch as Arrow; None where it has no rows."""
        if isinstance(rows, pd.DataFrame):
            if not len(rows):
                return None
            if self._codec is None:
                return self._pinned(pa.Table.from_pandas(rows, self._arrow, preserve_index=False))
            rows = rows.to_dict("records")
        made = [dataclasses.asdict(r) if dataclasses.is_dataclass(r) else r for r in rows]  # type: ignore[arg-type]
        if not made:
            return None
        if self._codec is not None:
            made = [self._checked(n, row, self._codec) for n, row in enumerate(made)]
        return self._pinned(pa.Table.from_pylist(made, schema=self._arrow))

    def groups(self, table: pa.Table, key: KeyCodec, rows_per_chunk: int | None) -> Iterator[Group]:
        """The rows by key, in the order of each one's first row."""
        keys = zip(*(table.column(n).to_pylist() for n in key.names), strict=True)
        rows_of: dict[Any, list[int]] = {}
        for row, cells in enumerate(keys):
            rows_of.setdefault(key(cells), []).append(row)
        for made, rows in rows_of.items():
            size = rows_per_chunk or len(rows)
            chunks = [table.take(rows[at : at + size]) for at in range(0, len(rows), size)]
            yield Group(made, chunks)

    def micros(self, table: pa.Table, column: str) -> list[int | None]:
        """An event-time column in microseconds since the epoch."""
        if column not in table.column_names:
            raise DefinitionError(
                f"event_time={column!r} is not a column of the rows, which have "
                f"{', '.join(table.column_names)}."
            )
        values = table.column(column)
        if not pa.types.is_timestamp(values.type):
            raise DefinitionError(
                f"event_time={column!r} is {values.type}: it must be a timestamp."
            )
        if values.type.tz is None:
            values = pa.compute.assume_timezone(values, str(self._zone))
        made: list[int | None] = values.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
        return made

    def _pinned(self, table: pa.Table) -> pa.Table:
        """The table, with instants where its types have no zone but Spark's have."""
        self._arrow = self._arrow or table.schema
        for n, spark in enumerate(self.schema.fields):
            values = table.column(n)
            if isinstance(spark.dataType, TimestampType) and values.type.tz is None:
                instants = pa.compute.assume_timezone(
                    values, str(self._zone), ambiguous="earliest", nonexistent="earliest"
                )
                table = table.set_column(n, spark.name, instants)
        return table

    def _checked(self, number: int, row: Any, codec: StructCodec) -> dict[str, Any]:
        try:
            if not isinstance(row, dict):
                raise codec.mismatch(row)
            return codec.check({**row, **self._cells(row, codec)})
        except MismatchError as e:
            field = f", field {e.path}," if e.path else ""
            raise WrongTypeError(
                f"Row {number} of the batch{field} is {e.found_text}, expected {e.expected}. "
                "Change the row, or the harness's schema."
            ) from None

    def _cells(self, row: dict[str, Any], codec: StructCodec) -> dict[str, Any]:
        """The row's values without pandas' ways: NaN for null, floats for whole numbers."""
        cells = {}
        for field in codec.fields:
            if field.name not in row:
                continue
            try:
                cells[field.name] = OptionalCodec(field.codec).cell(row[field.name])
            except MismatchError as e:
                raise e.under(field.name) from None
        return cells
