"""Rows that are put into a state of `bucketstate.stateful`, as the documents that it keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    DayTimeIntervalType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from bucketstate.errors import RefusedMoveError
from bucketstate.stateful.codec.document import Clock, StateCodec, state_codec
from bucketstate.stateful.errors import MismatchError, UnreadableError, WrongTypeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE, _VERSION, _TIMERS = "state", "version", "timers"


def with_documents(rows: DataFrame, state: Any) -> DataFrame:
    """The rows with documents in place of their states.

    Args:
        rows: with a column `state` that is a struct of the class's fields or a document, or with a
            column for each field. What is not given has the class's default.
        state: a state class, a DDL text or a StructType.

    Raises:
        DefinitionError: that cannot be a state.
        RefusedMoveError: the rows have no state, or fields that the class does not have.
    """
    codec = state_codec(state, UTC)
    columns = rows.schema
    if _STATE in columns.names:
        kind = columns[_STATE].dataType
        fields = kind.names if isinstance(kind, StructType) else []
        if not fields and not isinstance(kind, StringType):
            raise RefusedMoveError(
                f"Column 'state' of the rows is {kind.simpleString()}: give a struct of the fields "
                f"of {codec.name}, or its documents as text."
            )
        taken = [_STATE]
    else:
        fields = taken = [name for name in columns.names if name in codec.stored.names]
        if not fields:
            raise RefusedMoveError(
                f"The rows have no column 'state', and none of the fields of {codec.name}: "
                f"{', '.join(codec.stored.names)}."
            )
    for name in fields:
        if name not in codec.stored.names:
            raise RefusedMoveError(
                f"Field '{name}' of the state is none of {codec.name}, which has "
                f"{', '.join(codec.stored.names)}."
            )
    dropped = {*taken, _VERSION, _TIMERS}
    kept = [field for field in columns.fields if field.name not in dropped]
    added = [StructField(_VERSION, IntegerType()), StructField(_STATE, StringType())]
    make = _Documents(codec, [f.name for f in kept], taken if fields is taken else None)
    return rows.mapInArrow(make, StructType([*kept, *added]))


class _Documents:
    """Makes documents of batches of rows, on executors."""

    def __init__(self, codec: StateCodec, kept: list[str], fields: list[str] | None) -> None:
        self._codec = codec
        self._kept = kept
        self._fields = fields
        """Columns that are fields of the state; None where it is a column."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.select(self._kept)
            keys = kept.to_pylist()
            made = [self._made(k, row) for k, row in zip(keys, self._states(batch), strict=True)]
            versions = pa.array([version for version, _ in made], pa.int32())
            texts = pa.array([text for _, text in made], pa.string())
            arrays = [*kept.columns, versions, texts]
            yield pa.RecordBatch.from_arrays(arrays, [*self._kept, _VERSION, _STATE])

    def _states(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, int]]:
        """What is given of each state, and the version that a document is of."""
        names = batch.schema.names
        if _TIMERS in names and any(batch.column(_TIMERS).to_pylist()):
            raise WrongTypeError(
                "The rows have timers, which a state that is given does not bring: leave out that "
                "column, or such keys."
            )
        count, own = batch.num_rows, self._codec.evolution.version
        versions = batch.column(_VERSION).to_pylist() if _VERSION in names else [own] * count
        if self._fields is not None:
            given = self._with_times(batch.select(self._fields).to_struct_array())
        else:
            given = self._with_times(batch.column(_STATE))
        yield from zip(given.to_pylist(), versions, strict=True)

    def _with_times(self, states: pa.Array) -> pa.Array:
        """Numbers of microseconds as the times that they are.

        Parquet has no type for a span of time, so Spark reads numbers where Arrow wrote spans.
        """
        if not pa.types.is_struct(states.type):
            return states
        fields = list(states.type)
        arrays = states.flatten()
        for i, field in enumerate(fields):
            kind = self._codec.stored[field.name].dataType
            if isinstance(kind, DayTimeIntervalType) and pa.types.is_int64(field.type):
                arrays[i] = arrays[i].cast(pa.duration("us"))
        names = [field.name for field in fields]
        return pa.StructArray.from_arrays(arrays, names, mask=states.is_null())

    def _made(self, key: Mapping[str, Any], given: tuple[Any, int]) -> tuple[int, str]:
        state, version = given
        codec = self._codec
        clock = Clock(now=int(time.time() * 1000), watermark=None)
        try:
            if isinstance(state, str):
                codec.load(state, version, clock)
                return version, state
            return codec.evolution.version, codec.dump(codec.cell(state), clock)
        except UnreadableError as error:
            raise codec.unreadable(key, version, error) from None
        except MismatchError as error:
            raise codec.unfit(key, error) from None
