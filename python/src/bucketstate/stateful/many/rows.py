"""Output rows of a typed function as columns of Arrow."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.errors import WrongTypeError
from bucketstate.stateful.many.cells import Cells
from bucketstate.stateful.run.zones import instants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from bucketstate.stateful.codec.structs import Field
    from bucketstate.stateful.run.output import Block, Output


class OutputRows:
    """Makes columns of one query's output: picklable, without side effects.

    Args:
        output: which checked each row.
        name: of the function, for messages.
        zone: the session's.
        as_pandas: whether NaN and null are one, as they are to pandas.
    """

    def __init__(self, output: Output, name: str, zone: tzinfo, *, as_pandas: bool = True) -> None:
        self._fields = () if output.codec is None else output.codec.fields
        self._name = name
        self._zone = zone
        self._as_pandas = as_pandas
        self.sizes = output.sizes
        self._cells = {f.name: Cells(f.codec.spark) for f in self._fields}

    def columns(self, blocks: list[Block], kind: pa.StructType) -> pa.StructArray:
        """The rows of all blocks, in their order.

        Raises WrongTypeError, with the column's name, for values that Arrow cannot hold.
        """
        parts = []
        for shape, alike in groupby(blocks, _shape):
            if shape is None:
                rows = [row for block in alike for row in block]
                cells: Any = zip(*rows, strict=True) if rows else [()] * kind.num_fields
                columns = [self._array(f, c, t.type) for f, c, t in self._zipped(cells, kind)]
            else:
                frames = cast("list[pd.DataFrame]", list(alike))
                # Frames of the same dtypes alone: together, others would be made floats or objects.
                frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
                series = [frame[f.name] for f in self._fields]
                columns = [self._series(f, s, t.type) for f, s, t in self._zipped(series, kind)]
            parts.append(pa.StructArray.from_arrays(columns, fields=list(kind)))
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts) if parts else pa.array([], kind)

    def _zipped(self, values: Any, kind: pa.StructType) -> Iterator[tuple[Field, Any, pa.Field]]:
        return zip(self._fields, values, kind, strict=True)

    def _array(self, field: Field, values: Any, kind: pa.DataType) -> pa.Array:
        try:
            made = self._cells[field.name].array(values, kind, as_pandas=self._as_pandas)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
            raise WrongTypeError(
                f"The output of {self._name}: a value of the column {field.name} does not fit into "
                f"{field.codec.spark.simpleString()}: {e}. Convert it in the function, or change "
                "the declared output."
            ) from None
        if isinstance(made, pa.ChunkedArray):
            # So pyarrow gives what is more than one array has room for.
            raise WrongTypeError(
                f"The output of {self._name}: the column {field.name} of rows that come together "
                "has more than 2 GiB, which Arrow has no room for. Give rows with less in them, or "
                "frames of fewer rows."
            )
        return made

    def _series(self, field: Field, series: pd.Series[Any], kind: pa.DataType) -> pa.Array:
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "ifb"
        if plain and series.dtype.kind in field.codec.column_kinds:
            return self._array(field, series, kind)
        if series.dtype.kind == "M" and pa.types.is_timestamp(kind):
            zoned = series if kind.tz is None else instants(series, self._zone)
            return self._array(field, zoned, kind)
        codec = OptionalCodec(field.codec)
        return self._array(field, [codec.check(codec.cell(v)) for v in series.tolist()], kind)


def _shape(block: Block) -> tuple[Any, ...] | None:
    return tuple(block.dtypes) if isinstance(block, pd.DataFrame) else None
