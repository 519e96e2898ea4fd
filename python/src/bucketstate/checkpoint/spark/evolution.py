"""Rows that say which schema they were written with, read as of the newest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.checkpoint.format.records import varints
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.keys import Decoder, row_decoder
from bucketstate.checkpoint.spark.values import arrow_type, left_to_spark

EVOLVING = "evolving-row/1"
EVOLVING_LISTS = "evolving-rows/1"


def evolving_decoder(values: Mapping[int, T.StructType], newest: int) -> Decoder:
    """For rows behind the id of their schema; what is read has the schema of the newest id.

    ValueError for a row whose id is not known.
    """
    decoders = {number: row_decoder(schema) for number, schema in values.items()}
    into = values[newest]

    def of(number: int, rows: Slices) -> pa.StructArray:
        if number not in decoders:
            known = ", ".join(map(str, sorted(decoders)))
            raise ValueError(f"a row is of schema {number}, and the schema files have {known}")
        read = decoders[number](rows)
        return read if number == newest else resolved(read, values[number], into)

    def read(rows: Slices) -> pa.StructArray:
        ids, starts = varints(rows.buffer, rows.starts)
        inner = Slices(rows.buffer, starts, rows.starts + rows.lengths - starts)
        if (inner.lengths < 1).any():
            raise ValueError("a row ends within the id of its schema")
        found = np.unique(ids).tolist()
        if len(found) < 2:
            return of(found[0] if found else newest, inner)
        places = [np.flatnonzero(ids == number) for number in found]
        parts = [of(n, inner.at(at)) for n, at in zip(found, places, strict=True)]
        back = np.empty(len(rows), np.int64)
        back[np.concatenate(places)] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(back))

    return read


def resolved(values: pa.Array, before: T.DataType, after: T.DataType) -> pa.Array:
    """Values of an older type as of a newer one, as Avro's schema resolution does; no slices.

    Fields go by name: one that was not there is null, one that is gone is left out. Numbers get
    wider. CheckpointError for what is left to Spark.
    """
    match before, after:
        case T.StructType(), T.StructType():
            return _struct(values, before, after)
        case T.ArrayType(), T.ArrayType():
            elements = resolved(values.values, before.elementType, after.elementType)
            return pa.ListArray.from_arrays(
                values.offsets, elements, arrow_type(after), mask=values.is_null()
            )
        case T.MapType(), T.MapType():
            items = resolved(values.items, before.valueType, after.valueType)
            kind = arrow_type(after)
            return pa.MapArray.from_arrays(
                values.offsets, values.keys, items, kind, mask=values.is_null()
            )
    kind = arrow_type(after)
    if values.type == kind:
        return values
    if pa.types.is_decimal(values.type) or pa.types.is_nested(values.type):
        raise left_to_spark(
            f"A value was written as {before.simpleString()} and is {after.simpleString()} since"
        )
    # As Java does it: a long of many digits loses some as a double.
    return pc.cast(values, kind, safe=False)


def _struct(values: pa.StructArray, before: T.StructType, after: T.StructType) -> pa.StructArray:
    there = {name: i for i, name in enumerate(before.names)}
    children = [
        resolved(values.field(there[f.name]), before[f.name].dataType, f.dataType)
        if f.name in there
        else pa.nulls(len(values), arrow_type(f.dataType))
        for f in after
    ]
    return pa.StructArray.from_arrays(
        children, fields=list(arrow_type(after)), mask=values.is_null()
    )
