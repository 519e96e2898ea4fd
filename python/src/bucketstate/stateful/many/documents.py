"""The documents of a state class as columns of Arrow, and back.

They are those of a function with one key in a call, to the letter but for zeros at the end of a
Decimal; see `codec.document`. Arrow's own reader and kernels do what they do alike; what
they would read or write in another way goes through the class's codec, document by document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from bucketstate.stateful.codec.classes import has_own_code
from bucketstate.stateful.codec.codecs import BoolCodec, FloatCodec, IntCodec, StrCodec
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.defaults import varying_fields
from bucketstate.stateful.codec.document import Clock
from bucketstate.stateful.codec.json_text import encode
from bucketstate.stateful.errors import (
    MismatchError,
    StateUsageError,
    UnreadableError,
)
from bucketstate.stateful.many.cells import Cells
from bucketstate.stateful.run.chunks import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from bucketstate.stateful.codec.document import StateCodec

_TIMERS = '{"$timers":'
_READ = pj.ReadOptions(use_threads=False, block_size=1 << 30)
_PLAIN = (BoolCodec, FloatCodec, IntCodec, StrCodec)
# The parts of a document have no clock, as a class with parts has no columns.
_NO_CLOCK = Clock(0, None)
# Of so few documents Arrow's ways cost more to begin with than each one through its codec.
_FEW = 16
_CONTROL = r"[\x00-\x1f]"
# Within these Arrow writes a float as Python does.
_SMALLEST, _LARGEST = 1e-4, 1e10


class Documents:
    """The documents of one state class: picklable, without side effects.

    Args:
        codec: of a class without parts.
    """

    def __init__(self, codec: StateCodec) -> None:
        self._codec = codec
        self.kind = pa.struct(list(arrow_schema(codec.columns)))
        """The type of the columns."""
        self._cells = [Cells(f.codec.spark) for f in codec.fields]
        # Arrow makes no instance of the class, whose own code may refuse values or change them.
        self._plain = not has_own_code(codec.cls) and all(
            isinstance(_inner(f.codec), _PLAIN) for f in codec.fields
        )
        self._migrated = max(codec.evolution.migrations, default=None)
        self._varying = varying_fields(codec.cls)
        try:
            self._fresh: tuple[Any, ...] | None = codec.row(codec.new())
            again = codec.row(codec.new())
        except MismatchError:
            # A field has no default, so a key without a state has none of them.
            self._fresh = None
        else:
            # The class itself may number its instances; a NaN is not equal to itself.
            pairs = zip(codec.fields, self._fresh, again, strict=True)
            self._varying |= {f.name for f, one, other in pairs if repr(one) != repr(other)}

    @property
    def version(self) -> int:
        """The version of the class, which is stored beside each document."""
        return self._codec.evolution.version

    def older(self, versions: pa.Array) -> np.ndarray[Any, Any] | None:
        """Which documents have fields that a migration changes; None where there is none."""
        if self._migrated is None:
            return None
        found = pc.fill_null(pc.less_equal(versions, self._migrated), False)
        made: np.ndarray[Any, Any] = found.to_numpy(zero_copy_only=False)
        return made

    def check_timers(self, texts: pa.Array, key: Callable[[int], Any]) -> None:
        """Raises StateUsageError for a document that has timers, which no column has."""
        timers = pc.fill_null(pc.starts_with(texts, _TIMERS), False)
        if pc.any(timers).as_py():
            first = pc.index(timers, pa.scalar(True)).as_py()
            raise StateUsageError(
                f"The state of {key(first)!r} has timers, which a function with one key in a call "
                "registered, and one with columns has none. Run that one until they have fired."
            )

    def read(
        self, versions: pa.Array, texts: pa.Array, key: Callable[[int], Any]
    ) -> pa.StructArray:
        """The columns; where there is no document those of a new value, or nulls.

        `key` tells the key of the n-th document for messages. Raises MigrationError for one that
        does not fit the class.
        """
        count = len(texts)
        present = texts.is_valid().to_numpy(zero_copy_only=False)
        if not present.any():
            return self._new(count)
        alone = present & self._asks_codec(versions, texts)
        if alone.all():
            return self._loaded(versions, texts, np.arange(count), key)
        together = present & ~alone
        made = None
        if together.any():
            every = bool(together.all())
            made = self._parsed(texts if every else texts.filter(pa.array(together)))
            if made is not None and every:
                return made
            if made is None:
                alone, together = present, np.zeros(count, dtype=bool)
        parts = [] if made is None else [made]
        at = np.zeros(count, dtype=np.int64)
        at[together] = np.arange(np.count_nonzero(together))
        length = int(np.count_nonzero(together))
        if alone.any():
            at[alone] = length + np.arange(np.count_nonzero(alone))
            parts.append(self._loaded(versions, texts, np.flatnonzero(alone), key))
            length += int(np.count_nonzero(alone))
        if not present.all():
            absent = int(np.count_nonzero(~present)) if self._varying else 1
            at[~present] = length + (np.arange(absent) if self._varying else 0)
            parts.append(self._new(absent))
        return pa.concat_arrays(parts).take(pa.array(at))

    def write(self, columns: pa.StructArray, key: Callable[[int], Any]) -> pa.Array:
        """The documents. Raises WrongTypeError for a value that the class cannot have."""
        for n, field in enumerate(self._codec.fields):
            column = columns.field(n)
            if column.null_count and not field.codec.nullable:
                first = pc.index(column.is_null(), pa.scalar(True)).as_py()
                found = MismatchError(field.codec.expected, None, field.name)
                raise self._codec.unfit(key(first), found)
        if not self._plain or len(columns) <= _FEW:
            return pa.array([*self._dumped(columns, key)], pa.string())
        pieces: list[Any] = []
        for n, field in enumerate(self._codec.fields):
            pieces += [("," if n else "{") + encode(field.name) + ":", _json(columns.field(n))]
        return pc.binary_join_element_wise(*pieces, "}", "")

    def _asks_codec(self, versions: pa.Array, texts: pa.Array) -> np.ndarray[Any, Any]:
        """Which documents only the class's own codec reads right."""
        if not self._plain or len(texts) <= _FEW:
            return np.ones(len(texts), dtype=bool)
        older = pc.not_equal(versions, self.version)
        odd = pc.or_(pc.match_substring(texts, "NaN"), pc.match_substring(texts, "Infinity"))
        found = pc.fill_null(pc.or_(older, odd), False)
        made: np.ndarray[Any, Any] = found.to_numpy(zero_copy_only=False)
        return made

    def _parsed(self, texts: pa.Array) -> pa.StructArray | None:
        """What Arrow's reader makes of all of them; None where it would make something else."""
        ends = pa.array([0, len(texts)], pa.int32())
        lines = pc.binary_join(pa.ListArray.from_arrays(ends, texts), "\n")[0].as_buffer()
        options = pj.ParseOptions(
            explicit_schema=pa.schema(list(self.kind)), unexpected_field_behavior="error"
        )
        try:
            table = pj.read_json(pa.BufferReader(lines), _READ, options)
        except pa.ArrowInvalid:
            return None
        arrays = [table.column(f.name).combine_chunks() for f in self.kind]
        for field, array in zip(self._codec.fields, arrays, strict=True):
            # What is missing is the default, and what is null is None.
            if array.null_count and (not field.codec.nullable or not self._defaults_to_null(field)):
                return None
            # A number that Spark's float has not; the documents with an infinity are not here.
            if pa.types.is_float32(array.type) and pc.any(pc.is_inf(array)).as_py():
                return None
        return pa.StructArray.from_arrays(arrays, fields=list(self.kind))

    def _defaults_to_null(self, field: Any) -> bool:
        if field.name in self._varying:
            return False
        at = self._codec.fields.index(field)
        return self._fresh is not None and self._fresh[at] is None

    def _loaded(
        self,
        versions: pa.Array,
        texts: pa.Array,
        places: np.ndarray[Any, Any],
        key: Callable[[int], Any],
    ) -> pa.StructArray:
        rows = []
        for n in places.tolist():
            version, text = versions[n].as_py(), texts[n].as_py()
            try:
                rows.append(self._codec.row(self._codec.load(text, version, _NO_CLOCK)))
            except MismatchError as e:
                raise self._codec.unreadable(key(n), version, e) from e.cause
            except UnreadableError as e:
                raise self._codec.unreadable(key(n), version, e) from e
        return self._struct(rows)

    def _new(self, count: int) -> pa.StructArray:
        """The columns of so many new values."""
        if self._fresh is None:
            arrays = [pa.nulls(count, f.type) for f in self.kind]
            return pa.StructArray.from_arrays(arrays, fields=list(self.kind))
        if self._varying and count:
            return self._struct([self._codec.row(self._codec.new()) for _ in range(count)])
        return self._struct([self._fresh]).take(pa.array(np.zeros(count, np.int64)))

    def _struct(self, rows: list[tuple[Any, ...]]) -> pa.StructArray:
        arrays = [
            cells.array(column, f.type)
            for cells, column, f in zip(
                self._cells, zip(*rows, strict=True), self.kind, strict=True
            )
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(self.kind))

    def _dumped(self, columns: pa.StructArray, key: Callable[[int], Any]) -> Any:
        codec = self._codec
        values = [
            [None if v is None else cell(_with_nans(v)) for v in columns.field(n).to_pylist()]
            for n, cell in enumerate(_inner(f.codec).cell for f in codec.fields)
        ]
        names = [f.name for f in codec.fields]
        for n, row in enumerate(zip(*values, strict=True)):
            try:
                value = codec.value_of(dict(zip(names, row, strict=True)))
                yield codec.dump(value, _NO_CLOCK)
            except MismatchError as e:
                raise codec.unfit(key(n), e) from None


class _Nan(float):
    """A NaN within a list or a struct, which a codec of pandas' values does not take for a null."""

    def __ne__(self, other: object) -> bool:
        return self is not other


def _with_nans(value: Any) -> Any:
    if isinstance(value, float):
        return _Nan(value) if value != value else value
    if isinstance(value, dict):
        return {n: _with_nans(v) for n, v in value.items()}
    # The items of a map are tuples.
    return type(value)(map(_with_nans, value)) if isinstance(value, list | tuple) else value


def _inner(codec: Any) -> Any:
    return codec.inner if isinstance(codec, OptionalCodec) else codec


def _json(column: pa.Array) -> pa.Array:
    """The values as JSON, as Python writes them."""
    kind = column.type
    if pa.types.is_string(kind):
        made = _quoted(column)
    elif pa.types.is_floating(kind):
        made = _digits(column)
    else:
        made = column.cast(pa.string())
    return pc.fill_null(made, "null") if made.null_count else made


def _quoted(column: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(column, _CONTROL)).as_py():
        return pa.array([None if v is None else encode(v) for v in column.to_pylist()], pa.string())
    column = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    return pc.binary_join_element_wise('"', column, '"', "")


def _digits(column: pa.Array) -> pa.Array:
    values = column.cast(pa.float64())
    text = values.cast(pa.string())
    text = pc.if_else(
        pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, ".0", "")
    )
    size = pc.abs(values)
    near = pc.and_(pc.greater_equal(size, _SMALLEST), pc.less(size, _LARGEST))
    odd = pc.fill_null(pc.invert(pc.or_(near, pc.equal(size, 0.0))), False)
    if not pc.any(odd).as_py():
        return text
    written = [encode(v) for v in values.filter(odd).to_pylist()]
    return pc.replace_with_mask(text, odd, pa.array(written, pa.string()))
