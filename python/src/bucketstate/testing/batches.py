"""A test's rows as the groups of pandas columns that Spark hands to a function."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.definition import output_codec
from bucketstate.stateful.errors import DefinitionError, MismatchError, WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from pyspark.sql.types import StructType

    from bucketstate.stateful.containers import StructCodec


class Batches:
    """Reads batches of one schema: the given one, or that of the first batch with rows."""

    def __init__(self, schema: Any, zone: ZoneInfo) -> None:
        self._zone = zone
        self._codec: StructCodec | None = None if schema is None else output_codec(schema, zone)
        self._arrow: pa.Schema | None = None
        if self._codec is not None:
            self._arrow = to_arrow_schema(self._codec.schema, timezone="UTC")

    @property
    def names(self) -> list[str]:
        """The columns, once they are known."""
        return [] if self._arrow is None else list(self._arrow.names)

    def key_schema(self, by: list[str]) -> StructType:
        assert self._arrow is not None
        if absent := [n for n in by if n not in self._arrow.names]:
            raise DefinitionError(
                f"by={absent[0]!r} is not a column of the rows, which have {', '.join(self.names)}."
            )
        return from_arrow_schema(pa.schema([self._arrow.field(n) for n in by]))

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

    def groups(
        self, table: pa.Table, by: list[str], rows_per_chunk: int | None
    ) -> Iterator[tuple[tuple[Any, ...], list[pd.DataFrame]]]:
        """The key's cells and the chunks of each group, groups in the order of their first row."""
        keys = zip(*(table.column(n).to_pylist() for n in by), strict=True)
        rows_of: dict[Any, list[int]] = {}
        for row, key in enumerate(keys):
            rows_of.setdefault(tuple("NaN" if v != v else (v,) for v in key), []).append(row)
        for rows in rows_of.values():
            size = rows_per_chunk or len(rows)
            chunks = [
                self._frame(table.take(rows[at : at + size])) for at in range(0, len(rows), size)
            ]
            yield tuple(chunks[0][n][0] for n in by), chunks

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
        self._arrow = self._arrow or table.schema
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

    def _frame(self, table: pa.Table) -> pd.DataFrame:
        """As Spark's worker makes it: nanoseconds without a zone, nulls as NaN, maps as dicts."""
        columns = {}
        for name in table.column_names:
            values = table.column(name)
            column = values.to_pandas(date_as_object=True)
            if pa.types.is_timestamp(values.type):
                if values.type.tz is not None:
                    column = column.dt.tz_convert(self._zone).dt.tz_localize(None)
                column = column.astype("datetime64[ns]")
            elif pa.types.is_duration(values.type):
                column = column.astype("timedelta64[ns]")
            elif pa.types.is_map(values.type):
                column = column.map(lambda v: v if v is None else dict(v))
            columns[name] = column
        return pd.DataFrame(columns)
