"""Runs a function over columns: with many keys in a call, and with one on Spark's own operator."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import missing
from bucketstate.stateful.codec.kept import NO_TIMEOUT, NOTHING_KEPT, SCHEMA, Kept
from bucketstate.stateful.errors import MismatchError, WrongTypeError
from bucketstate.stateful.many.answers import answer
from bucketstate.stateful.many.call import ColumnsCall
from bucketstate.stateful.many.cells import Cells
from bucketstate.stateful.many.documents import Documents
from bucketstate.stateful.many.given import Given, zone_name
from bucketstate.stateful.many.protocol import (
    NO_TIME,
    REMOVED,
    UNTOUCHED,
    answer_schema,
    call_type,
)
from bucketstate.stateful.many.reading import Block, blocks
from bucketstate.stateful.many.tables import tables_of
from bucketstate.stateful.run.chunks import arrow_schema, columns_of
from bucketstate.stateful.run.frames import Frames
from bucketstate.stateful.run.keys import key_field
from bucketstate.stateful.run.many_keys import Keys
from bucketstate.stateful.run.plain import Plain
from bucketstate.stateful.run.slots import GroupSlot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from pyspark.sql.streaming.state import GroupState

    from bucketstate.stateful.run.definition import Definition
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.keys import KeyCodec
    from bucketstate.stateful.run.wire import Wire


_FEW = 16
_NESTED = ArrayType | MapType | StructType


class Answer(NamedTuple):
    """What one call came to."""

    rows: pa.StructArray
    actions: np.ndarray[Any, Any]
    states: pa.StructArray
    timeouts: np.ndarray[Any, Any]


class Columnar:
    """One function over columns on one query: picklable, made on the driver, used by workers.

    Args:
        definition: the function.
        schema: of the rows as the function gets them.
        key: makes keys for messages.
        wire: how rows travel.
        output: the schema of the query's output.
        timeout: the query's clock.
        zone: the session's.
        extension: as of `Frames`.
    """

    def __init__(
        self,
        definition: Definition,
        schema: StructType,
        key: KeyCodec,
        wire: Wire,
        output: StructType,
        timeout: Timeout | None,
        zone: tzinfo,
        *,
        extension: bool = False,
    ) -> None:
        assert definition.library is not None
        name = definition.name
        state = definition.state_codec(zone)
        made = definition.output_codec(zone)
        fields = () if made is None else made.fields
        self.answer_schema = answer_schema(output)
        self.by_event = timeout == "event"
        self.wire = wire
        self._definition = definition
        self._library = definition.library
        self._tables = tables_of(definition.library, extension=extension)
        self._documents = Documents(state)
        self._state = Given(f"The state of {name}", state.fields, zone, as_pandas=False)
        self._output = Given(f"The output of {name}", fields, zone, as_pandas=True)
        self._timeout: Timeout | None = timeout
        self._key = key
        self._zone = zone
        self._frames = Frames(schema, zone, extension=extension)
        self._kinds = {f.name: _zoned(f.type, zone) for f in arrow_schema(schema)}
        # The key's columns have the names that `by` has for them.
        self._kinds |= {n: self._kinds[key_field(schema, n).name] for n in key.names}

    def call(self, block: Block) -> Answer:
        """One call of the function, for all keys of a block."""
        definition = self._definition
        call = ColumnsCall(
            definition.name,
            block,
            self._documents,
            self._state,
            self._tables,
            self._key,
            self._timeout,
            self._zone,
            self._keys(block),
        )
        keys: Keys[Any] = Keys(call)
        try:
            call.check()
            if block.timed_out and definition.expired_timer is not None:
                result = definition.expired_timer(keys)
            else:
                result = definition.input_rows(keys, self._rows(block))
            return Answer(self._put_out(result), *call.settled())
        except Exception as e:
            e.add_note(self._note(call))
            raise
        finally:
            keys.close()

    def _keys(self, block: Block) -> pa.RecordBatch:
        key = block.calls.field("key")
        arrays = {f.name: key.field(n) for n, f in enumerate(key.type)}
        return self._seen(arrays)

    def _rows(self, block: Block) -> Any:
        arrays = self.wire.arrays(block.rows)
        if self._library == "pandas":
            return self._frames.made(arrays).copy()
        return self._tables.table(self._seen(arrays), "the rows")

    def _seen(self, arrays: dict[str, pa.Array]) -> pa.RecordBatch:
        """Columns that travelled, as the function sees them."""
        made = {n: _seen(array, self._kinds[n]) for n, array in arrays.items()}
        return pa.RecordBatch.from_arrays([*made.values()], [*made])

    def _put_out(self, result: Any) -> pa.StructArray:
        kind = self.answer_schema.field("row").type
        if result is None:
            return pa.array([], kind)
        if self._definition.output is None:
            raise WrongTypeError(
                f"The output of {self._definition.name} is {MismatchError('', result).found_text}, "
                "expected nothing: the function is declared to return None. Declare its output "
                "with output=."
            )
        return self._output.struct(result, kind, None)

    def _note(self, call: ColumnsCall) -> str:
        last = call.count - 1
        which = f"for {call.key(0)!r}"
        if last:
            which = f"in a call for {call.count} keys, from {call.key(0)!r} to {call.key(last)!r}"
        return f"in {self._definition.name} {which}"


class ManyColumns:
    """The function on the operator for many keys: see `protocol`."""

    def __init__(self, columnar: Columnar) -> None:
        self._columnar = columnar

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self._columnar.answer_schema
        for block in blocks(batches):
            made = self._columnar.call(block)
            yield answer(
                schema, made.rows, pa.array(made.actions), made.states, pa.array(made.timeouts)
            )


class ColumnsAlone:
    """The function on Spark's own operator, with one key in a call."""

    def __init__(self, columnar: Columnar, names: tuple[str, ...]) -> None:
        self._columnar = columnar
        schema = columnar.wire.schema
        key = StructType([StructField(n, key_field(schema, n).dataType) for n in names])
        self._call = call_type(key)
        self._keys = [_Travelled(f) for f in key.fields]
        self._sent = [_Travelled(f) for f in columnar.wire.sent.fields]
        self._types = arrow_schema(columnar.wire.sent)

    def __call__(
        self, cells: tuple[Any, ...], chunks: Iterable[pd.DataFrame], group: GroupState
    ) -> Iterator[pd.DataFrame]:
        slot = GroupSlot(group)
        timed_out = bool(group.hasTimedOut)
        rows = self._line([]) if timed_out else self._line([dict(c) for c in columns_of(chunks)])
        kept = slot.kept
        call = {
            "key": {k.name: k.cell(c) for k, c in zip(self._keys, cells, strict=True)},
            "state": None
            if kept is NOTHING_KEPT
            else dict(zip(SCHEMA.names, kept.row, strict=True)),
            "timeout": NO_TIMEOUT,
            "timed_out": timed_out,
            "now": slot.now,
            "watermark": NO_TIME if slot.watermark is None else slot.watermark,
        }
        calls = pa.array([call], self._call)
        made = self._columnar.call(Block(calls, np.array([0, len(rows)]), rows))
        if made.actions[0] != UNTOUCHED:
            (row,) = made.states.to_pylist()
            gone = made.actions[0] == REMOVED
            slot.write(NOTHING_KEPT if gone else Kept.of(tuple(row.values())))
            slot.flush(by_event=self._columnar.by_event)
        if len(made.rows):
            yield _frame(made.rows)

    def _line(self, chunks: list[dict[str, Any]]) -> pa.StructArray:
        """The rows as they travel on the operator for many keys."""
        arrays = [
            pa.concat_arrays([sent.array(c[f.name], f.type) for c in chunks])
            if chunks
            else pa.array([], f.type)
            for f, sent in zip(self._types, self._sent, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(self._types))


class _Travelled:
    """A column as Spark's own worker hands it over: picklable, without side effects."""

    def __init__(self, field: StructField) -> None:
        kind = field.dataType
        self.name = field.name
        self._cells = Cells(kind)
        self._is_float = isinstance(kind, FloatType | DoubleType)
        # Times travel as whole numbers, so that no zone matters.
        self._plain = Plain(kind, UTC) if isinstance(kind, _NESTED) else None

    def array(self, series: pd.Series[Any], kind: pa.DataType) -> pa.Array:
        """The column as Arrow; NaN stays NaN, since no float travels as null.

        Raises WrongTypeError, with the column's name, for what pandas may have changed.
        """
        if self._plain is not None:
            return self._cells.array(self._plain.column(self.name, series.tolist()), kind)
        if series.dtype == object:
            return self._cells.array(series.tolist(), kind)
        if self._is_float:
            return pa.array(series.to_numpy(), kind, from_pandas=False)
        return pa.Array.from_pandas(series, type=kind)

    def cell(self, value: Any) -> Any:
        """A key's value as Python has it. Raises as `array` does."""
        if self._plain is not None:
            return self._plain.column(self.name, [value])[0]
        # To pandas a null is a NaN or a NaT; a key of floats may be a NaN itself.
        if not self._is_float and missing(value):
            return None
        return value.item() if isinstance(value, np.generic) else value


def _frame(rows: pa.StructArray) -> pd.DataFrame:
    """The output as Spark's worker takes it: few rows as one block of objects, which is cheap."""
    # Within what is nested pandas has values of numpy's, which Spark does not take.
    if len(rows) > _FEW and not any(pa.types.is_nested(f.type) for f in rows.type):
        made: pd.DataFrame = pa.RecordBatch.from_struct_array(rows).to_pandas(
            integer_object_nulls=True
        )
        return made
    values = np.empty((len(rows), rows.type.num_fields), dtype=object)
    for n, field in enumerate(rows.type):
        # One by one, or numpy makes columns of lists.
        for at, value in enumerate(rows.field(n).to_pylist()):
            values[at, n] = _with_dicts(value, field.type)
    names = [f.name for f in rows.type]
    return pd.DataFrame(values, columns=names, dtype=object, copy=False)


def _with_dicts(value: Any, kind: pa.DataType) -> Any:
    """A value of Arrow's with dicts for maps."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {k: _with_dicts(v, kind.item_type) for k, v in value}
    if pa.types.is_list(kind):
        return [_with_dicts(v, kind.value_type) for v in value]
    return {f.name: _with_dicts(value[f.name], f.type) for f in kind}


def _seen(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column that travelled, in its own type; nulls within lists of floats are NaN.

    So they are to pandas, and on every way that rows come.
    """
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        values = array.flatten() if array.offset or array.null_count else array.values
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        offsets = np.concatenate(([0], np.cumsum(lengths.to_numpy())))
        inner = _seen(values, kind.value_type)
        if pa.types.is_floating(inner.type):
            inner = inner.fill_null(np.nan)
        make = pa.ListArray if offsets[-1] < 1 << 31 else pa.LargeListArray
        mask = array.is_null() if array.null_count else None
        return make.from_arrays(
            pa.array(offsets, pa.int32() if make is pa.ListArray else pa.int64()), inner, mask=mask
        )
    if pa.types.is_map(array.type):
        return _seen_maps(array, kind)
    if pa.types.is_struct(array.type):
        inner = [_seen(array.field(n), f.type) for n, f in enumerate(kind)]
        fields = [pa.field(f.name, a.type) for f, a in zip(kind, inner, strict=True)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(inner, fields=fields, mask=mask)
    if array.type == kind or pa.types.is_large_string(array.type):
        return array
    return array.cast(kind)


def _seen_maps(array: pa.MapArray, kind: pa.MapType) -> pa.Array:
    if not len(array):
        return pa.array([], kind)
    edges = array.offsets.to_numpy()
    first, count = int(edges[0]), int(edges[-1] - edges[0])
    keys, items = array.keys.slice(first, count), array.items.slice(first, count)
    lengths = np.diff(edges)
    absent = array.is_null().to_numpy(zero_copy_only=False)
    if lengths[absent].any():
        # What lies behind a null is not of it.
        kept = pa.array(np.repeat(~absent, lengths))
        keys, items = keys.filter(kept), items.filter(kept)
        lengths = np.where(absent, 0, lengths)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32(), mask=np.append(absent, False)),
        _seen(keys, kind.key_type),
        _seen(items, kind.item_type),
    )


def _zoned(kind: pa.DataType, zone: tzinfo) -> pa.DataType:
    """The type with times in the session's zone."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp("us", zone_name(zone))
    if pa.types.is_list(kind):
        return pa.list_(_zoned(kind.value_type, zone))
    if pa.types.is_map(kind):
        return pa.map_(_zoned(kind.key_type, zone), _zoned(kind.item_type, zone))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _zoned(f.type, zone)) for f in kind])
    return kind
