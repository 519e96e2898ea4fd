"""Where the fields of rows lie: in UnsafeRows, and in bucketstate's compact rows.

Everything works on many rows at once. What comes out are positions, one per row and field; nothing
is copied yet. IndexError or ValueError for bytes that cannot be such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bucketstate.checkpoint.format.records import varints
from bucketstate.checkpoint.format.slices import Mask, Positions, Slices, gather
from bucketstate.checkpoint.spark import types as T  # noqa: N812

_RAW, _COMPACT = 0, 1
_LONG_DIGITS = 18
"""Decimals of up to so many digits are stored as a long."""

_WIDTHS: dict[type[T.DataType], int] = {
    T.BooleanType: 1,
    T.ByteType: 1,
    T.ShortType: 2,
    T.IntegerType: 4,
    T.FloatType: 4,
    T.DateType: 4,
    T.YearMonthIntervalType: 4,
    T.LongType: 8,
    T.DoubleType: 8,
    T.TimestampType: 8,
    T.TimestampNTZType: 8,
    T.DayTimeIntervalType: 8,
    T.TimeType: 8,
    T.NullType: 8,
}


def width(kind: T.DataType) -> int:
    """Bytes of a value that lies in the fixed part of a row; 0 for one of the variable part."""
    if isinstance(kind, T.UserDefinedType):
        return width(kind.sqlType())
    if isinstance(kind, T.DecimalType):
        return 8 if kind.precision <= _LONG_DIGITS else 0
    return _WIDTHS.get(type(kind), 0)


@dataclass(frozen=True)
class Column:
    """One field of many rows: where its value lies, and how long it is if that varies."""

    valid: Mask
    starts: Positions
    lengths: Positions | None = None

    def slices(self, rows: Slices) -> Slices:
        assert self.lengths is not None
        return Slices(rows.buffer, self.starts, self.lengths)


def unsafe_rows(rows: Slices, kinds: Sequence[T.DataType]) -> list[Column]:
    """UnsafeRows: a bit set of nulls in words of 8 bytes, a word per field, the variable part."""
    words = 8 * ((len(kinds) + 63) // 64)
    fixed = words + 8 * len(kinds)
    if len(rows) and int(rows.lengths.min()) < fixed:
        raise ValueError(f"a row is too short for {len(kinds)} fields")
    if (rows.lengths & 7).any():
        raise ValueError("the length of a row is no multiple of 8")
    columns = []
    left = rows.lengths - fixed
    for i, kind in enumerate(kinds):
        valid = _valid(rows, rows.starts + (i >> 3), i)
        word = rows.starts + words + 8 * i
        if width(kind):
            columns.append(Column(valid, word))
        else:
            lengths, starts = _pointed_to(rows, word, valid, fixed)
            columns.append(Column(valid, starts, lengths))
            left = left - lengths
    # Values that share bytes would be copied as often as rows in rows have them.
    if (left < 0).any():
        raise ValueError("the values of a row have more bytes than it")
    return columns


def _pointed_to(
    rows: Slices, word: Positions, valid: Mask, fixed: int
) -> tuple[Positions, Positions]:
    """What a word says: how long a value is, and where in the row it is, behind the fixed part."""
    lengths = np.where(valid, gather(rows.buffer, word, "<u4"), 0).astype(np.int64)
    offsets = np.where(valid, gather(rows.buffer, word + 4, "<u4"), 0).astype(np.int64)
    if (valid & (offsets < fixed)).any() or (offsets + lengths > rows.lengths).any():
        raise ValueError("a value would lie before or behind the variable part of its row")
    return lengths, rows.starts + offsets


def encoded_rows(rows: Slices, kinds: Sequence[T.DataType]) -> list[Column]:
    """Rows as `compact-row/1` stores them: each compact, or raw behind a byte that says so."""
    tags = gather(rows.buffer, rows.starts, "u1")
    inner = Slices(rows.buffer, rows.starts + 1, rows.lengths - 1)
    compact = tags == _COMPACT
    if compact.all():
        return _compact_rows(inner, kinds)
    if (tags[~compact] != _RAW).any():
        raise ValueError("a row is neither compact nor raw")
    parts = [
        (np.flatnonzero(compact), _compact_rows(inner.where(compact), kinds)),
        (np.flatnonzero(~compact), unsafe_rows(inner.where(~compact), kinds)),
    ]
    return [_scattered(len(rows), [(at, cs[i]) for at, cs in parts]) for i in range(len(kinds))]


def _scattered(count: int, parts: Sequence[tuple[Positions, Column]]) -> Column:
    valid, starts = np.empty(count, np.bool_), np.empty(count, np.int64)
    lengths = np.empty(count, np.int64)
    varies = False
    for at, column in parts:
        valid[at], starts[at] = column.valid, column.starts
        if column.lengths is not None:
            lengths[at] = column.lengths
            varies = True
    return Column(valid, starts, lengths if varies else None)


def _compact_rows(rows: Slices, kinds: Sequence[T.DataType]) -> list[Column]:
    """A bit set of nulls, the fixed-width values, then each other one behind its length."""
    nulls = (len(kinds) + 7) // 8
    widths = [width(kind) for kind in kinds]
    if len(rows) and int(rows.lengths.min()) < nulls + sum(widths):
        raise ValueError(f"a row is too short for {len(kinds)} fields")
    fixed = rows.starts + nulls
    variable = fixed + sum(widths)
    columns = []
    for i, size in enumerate(widths):
        valid = _valid(rows, rows.starts + (i >> 3), i)
        if size:
            columns.append(Column(valid, fixed))
            fixed = fixed + size
        else:
            lengths, starts = varints(rows.buffer, variable)
            variable = starts + lengths
            columns.append(Column(valid, starts, lengths))
    if (variable != rows.starts + rows.lengths).any():
        raise ValueError("a row is longer or shorter than its fields")
    return columns


def _valid(rows: Slices, at: Positions, field: int) -> Mask:
    bits = gather(rows.buffer, at, "u1")
    return np.asarray((bits >> (field & 7)) & 1 == 0)
