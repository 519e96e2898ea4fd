"""Rows that are put into a state of `bucketstate.stateful`, as the documents that it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    DayTimeIntervalType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.errors import RefusedMoveError
from bucketstate.stateful.codec.document import Clock, StateCodec, state_codec
from bucketstate.stateful.errors import MismatchError, UnreadableError, WrongTypeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE, _VERSION, _TIMERS = "state", "version", "timers"
_PARTS = (_STATE, _VERSION, _TIMERS)
_OUT_VERSION, _OUT_STATE = f"value.{_VERSION}", f"value.{_STATE}"
"""Names that no column of a key has."""


def with_documents(
    rows: DataFrame, state: Any, key_columns: Callable[[], Collection[str]]
) -> DataFrame:
    """The rows with documents in place of their states, as `value.version` and `value.state`.

    Args:
        rows: with a column `state` that is a struct of the class's fields or a document, or with a
            column for each field. What is not given has the class's default. A column of a name
            that the key has, too, is the key's, unless the key is given apart.
        state: a state class, a DDL text or a StructType.
        key_columns: tells the names of the key's columns. It reads the checkpoint, and is asked
            once at most, and only where a name may be of the key or of the state.

    Raises:
        DefinitionError: that cannot be a state.
        RefusedMoveError: the rows have no state, or fields that the class does not have.
    """
    codec = state_codec(state, UTC)
    columns = rows.schema
    asked = cache(key_columns)
    given = _parts(columns, codec.stored.names, asked)
    column = given.get(_STATE)
    if column is not None:
        kind = columns[column].dataType
        fields = kind.names if isinstance(kind, StructType) else []
        if not fields and not isinstance(kind, StringType):
            raise RefusedMoveError(
                f"Column '{column}' of the rows is {kind.simpleString()}: give a struct of the "
                f"fields of {codec.name}, or its documents as text."
            )
    else:
        fields = _fields(columns, codec.stored.names, asked)
        if not fields:
            raise RefusedMoveError(
                f"The rows have no column 'state', and none of the fields of {codec.name}: "
                f"{', '.join(codec.stored.names)}. A column that the key has, too, is the key's: "
                "give the key's columns as 'key.<name>' then."
            )
    for name in fields:
        if name not in codec.stored.names:
            raise RefusedMoveError(
                f"Field '{name}' of the state is none of {codec.name}, which has "
                f"{', '.join(codec.stored.names)}."
            )
    if fields:
        # Fields are of the class as it is: a version beside them is a column that is too many.
        given.pop(_VERSION, None)
    dropped = {*given.values(), *(fields if column is None else ())}
    kept = [field for field in columns.fields if field.name not in dropped]
    added = [StructField(_OUT_VERSION, IntegerType()), StructField(_OUT_STATE, StringType())]
    names = [field.name for field in kept]
    make = _Documents(codec, names, fields if column is None else None, given)
    return rows.mapInArrow(make, StructType([*kept, *added]))


def _parts(
    columns: StructType, fields: Collection[str], key_columns: Callable[[], Collection[str]]
) -> dict[str, str]:
    """The columns of the rows that are parts of a document, by the names of these.

    A name that the key has, too, is the key's, as with all rows, unless the key is given apart.
    """
    names = columns.names
    apart = _apart(columns)
    found = {part: f"value.{part}" for part in _PARTS if f"value.{part}" in names}
    plain = [part for part in _PARTS if part in names and part not in found]
    # A state beside which there are no fields can be nothing else.
    unclear = [part for part in plain if part not in apart and part != _STATE]
    if _STATE in plain and _STATE not in apart and any(n in fields for n in names if n != _STATE):
        unclear.append(_STATE)
    of_key = set(key_columns()).intersection(unclear) if unclear else set()
    return found | {part: part for part in plain if part not in of_key}


def _fields(
    columns: StructType, fields: Collection[str], key_columns: Callable[[], Collection[str]]
) -> list[str]:
    """The columns of the rows that are fields of the state, where none is the state itself.

    A name that the key has, too, is the key's, as with all rows, unless the key is given apart.
    """
    named = [name for name in columns.names if name in fields]
    apart = _apart(columns)
    if all(name in apart for name in named):
        return named
    of_key = set(key_columns())
    return [name for name in named if name in apart or name not in of_key]


def _apart(columns: StructType) -> set[str]:
    """The columns of the key that are given as such, beside which the same names are no key's."""
    names = columns.names
    apart = {name[len("key.") :] for name in names if name.startswith("key.")}
    if "key" in names and isinstance(columns["key"].dataType, StructType):
        apart.update(columns["key"].dataType.names)
    return apart


class _Documents:
    """Makes documents of batches of rows, on executors."""

    def __init__(
        self,
        codec: StateCodec,
        kept: list[str],
        fields: list[str] | None,
        given: Mapping[str, str],
    ) -> None:
        self._codec = codec
        self._kept = kept
        self._fields = fields
        """Columns that are fields of the state; None where it is a column."""
        self._given = given
        """Columns that are parts of a document, by the names of these."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.select(self._kept)
            made = [
                self._made(kept.slice(number, 1), *given)
                for number, given in enumerate(self._states(batch))
            ]
            versions = pa.array([version for version, _ in made], pa.int32())
            texts = pa.array([text for _, text in made], pa.string())
            arrays = [*kept.columns, versions, texts]
            yield pa.RecordBatch.from_arrays(arrays, [*self._kept, _OUT_VERSION, _OUT_STATE])

    def _states(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, int | None]]:
        """What is given of each state, and the version that a document is of."""
        given = self._given
        if _TIMERS in given and any(batch.column(given[_TIMERS]).to_pylist()):
            raise WrongTypeError(
                f"The rows have timers in column '{given[_TIMERS]}', which a state that is given "
                "does not bring: leave out that column, or such keys."
            )
        versions = [self._codec.evolution.version] * batch.num_rows
        if _VERSION in given:
            versions = batch.column(given[_VERSION]).to_pylist()
        if self._fields is not None:
            states = self._with_times(batch.select(self._fields).to_struct_array())
        else:
            states = self._with_times(batch.column(given[_STATE]))
        yield from zip(states.to_pylist(), versions, strict=True)

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

    def _made(self, row: pa.RecordBatch, state: Any, version: int | None) -> tuple[int, str]:
        """The document of a state; the row is its key and what else is kept, for errors alone."""
        codec = self._codec
        if version is None and isinstance(state, str):
            raise WrongTypeError(
                f"The state of {_shown(row)!r}: column '{self._given[_VERSION]}' is null, expected "
                "the number of the version that wrote the document."
            )
        written = codec.evolution.version if version is None else version
        clock = Clock(now=int(time.time() * 1000), watermark=None)
        try:
            if isinstance(state, str):
                codec.load(state, written, clock)
                return written, state
            return codec.evolution.version, codec.dump(codec.cell(state), clock)
        except UnreadableError as error:
            raise codec.unreadable(_shown(row), written, error) from None
        except MismatchError as error:
            raise codec.unfit(_shown(row), error) from None


def _shown(row: pa.RecordBatch) -> Any:
    """One row for an error, with values that Python has none for as their text."""
    (found,) = python_values(row.to_struct_array())
    return found
