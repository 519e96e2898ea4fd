"""What a function returns or yields, checked against its declared output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import surrogate_in
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.codec.structs import by_name
from bucketstate.stateful.codec.times import beyond_micros, cut
from bucketstate.stateful.errors import MismatchError, WrongTypeError
from bucketstate.stateful.run.zones import instants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from bucketstate.stateful.run.definition import Definition

    Block = pd.DataFrame | list[tuple[Any, ...]]

_ROWS_PER_BLOCK = 10_000
_TEXT_PER_BLOCK = 1 << 25
"""Characters after which a block ends: whoever takes one has it in memory as a whole."""
_PLAIN = 8
_PLAIN_TYPES = frozenset((int, float, bool, type(None)))


class Output:
    """The output of one function: picklable, without side effects.

    A block is a DataFrame that the function gave, or many rows as Spark takes their values.
    """

    def __init__(self, definition: Definition, zone: tzinfo) -> None:
        self.codec = definition.output_codec(zone)
        self._zone = zone
        self._name = definition.name
        self._codecs = {} if self.codec is None else {f.name: f.codec for f in self.codec.fields}
        self._instants = {n for n, c in self._codecs.items() if isinstance(c.spark, TimestampType)}
        self.sizes = Sizes({n: c.spark for n, c in self._codecs.items()})

    def blocks(self, key: Any, result: Any) -> Iterator[Block]:
        """What a call returned or yielded, checked, in blocks."""
        if isinstance(result, pd.DataFrame):
            yield from self._checked(key, result)
            return
        if isinstance(result, Mapping) or self.is_row(result) or by_name(result) is not result:
            yield [self.row(key, result)]
            return
        if isinstance(result, tuple) and not any(map(self._like_a_row, result or [{}])):
            raise self._wrong(key, result)
        if isinstance(result, str | bytes) or not isinstance(result, Iterable):
            raise self._wrong(key, result)
        rows: list[tuple[Any, ...]] = []
        size = 0
        for item in result:
            if isinstance(item, pd.DataFrame):
                if rows:
                    yield rows
                    rows, size = [], 0
                yield from self._checked(key, item)
                continue
            rows.append(self.row(key, item))
            if self.sizes.any:
                size += self.sizes.of_row(rows[-1])
            if len(rows) == _ROWS_PER_BLOCK or size >= _TEXT_PER_BLOCK:
                yield rows
                rows, size = [], 0
        if rows:
            yield rows

    def framed(self, block: Block) -> pd.DataFrame:
        """A block as Spark takes it from `applyInPandasWithState`."""
        if not isinstance(block, pd.DataFrame):
            return self.frame(block)
        # Spark refuses what a clock change leaves out, and takes datetimes without a zone for UTC.
        kinds = zip(block.columns, block.dtypes, strict=True)
        found = [(n, t) for n, t in kinds if n in self._instants and t.kind in "MO"]
        made = {n: self._zoned(n, block[n]) for n, t in found if getattr(t, "tz", None) is None}
        return block.assign(**made) if made else block

    def _zoned(self, name: str, column: pd.Series[Any]) -> pd.Series[Any]:
        if column.dtype.kind == "M":
            return instants(column, self._zone)
        codec = OptionalCodec(self._codecs[name])
        values = [codec.check(codec.cell(v)) for v in column.tolist()]
        return pd.Series(values, index=column.index, dtype=object)

    def frame(self, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
        """One block of Python objects: a third of what a frame with a dtype per column costs."""
        assert self.codec is not None
        names = self.codec.names
        values = np.empty((len(rows), len(names)), dtype=object)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                values[i, j] = value
        return pd.DataFrame(values, columns=self._columns(names), dtype=object, copy=False)

    def rows(self, block: Block) -> Iterator[dict[str, Any]]:
        """A block as rows by name, with the values as Arrow takes them."""
        assert self.codec is not None
        names = self.codec.names
        return (dict(zip(names, row, strict=True)) for row in self.tuples(block))

    def tuples(self, block: Block) -> list[tuple[Any, ...]]:
        """A block as rows, with the values as Arrow takes them."""
        if not isinstance(block, pd.DataFrame):
            return block
        cells = []
        for name, each in self._codecs.items():
            codec, column = OptionalCodec(each), block[name]
            if column.dtype.kind == "M" and name in self._instants:
                column = instants(column, self._zone)
            cells.append([codec.check(codec.cell(v)) for v in column.tolist()])
        return list(zip(*cells, strict=True))

    def is_row(self, result: Any) -> bool:
        """Whether it is one row, of the class that is declared."""
        return self.codec is not None and isinstance(result, self.codec.cls)

    def _like_a_row(self, item: Any) -> bool:
        return isinstance(item, Mapping | pd.DataFrame | tuple) or self.is_row(item)

    def row(self, key: Any, item: Any) -> tuple[Any, ...]:
        """The values of a row as Spark takes them; WrongTypeError where they do not fit."""
        if self.codec is None:
            raise self._wrong(key, item)
        try:
            made = self.codec.row(item)
            for name, value in zip(self.codec.names, made, strict=True):
                if type(value) is str and (odd := surrogate_in(value)) is not None:
                    raise odd.under(name)
        except MismatchError as e:
            raise self._wrong(key, item, e) from None
        return made

    def _columns(self, names: tuple[str, ...]) -> pd.Index[str]:
        made: pd.Index[str] | None = self.__dict__.get("_index")
        if made is None:
            made = self._index = pd.Index(names)
        return made

    def _checked(self, key: Any, result: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """The frame, if each column is there and its values fit; nothing for an empty frame."""
        if not len(result):
            return
        if self.codec is None:
            raise self._wrong(key, result)
        columns = list(result.columns)
        if columns != list(self.codec.names):
            missing = [n for n in self.codec.names if n not in columns]
            unknown = [c for c in columns if c not in self.codec.names]
            if missing or unknown or len(columns) != len(self.codec.names):
                raise WrongTypeError(
                    f"The output of {self._name} for {key!r} has the columns "
                    f"{', '.join(map(str, columns))}, expected {', '.join(self.codec.names)}"
                    + (f"; missing: {', '.join(missing)}" if missing else "")
                    + (f"; unknown: {', '.join(map(str, unknown))}" if unknown else "")
                    + ". Return those columns, or change the declared output."
                )
        # Taking a column would leave it cached in the frame, which lives until its Arrow batch is
        # full: that costs more than all the rest of a small group's output.
        to_check = [
            n
            for n, t in enumerate(result.dtypes)
            if t.kind not in self._codecs[columns[n]].column_kinds
        ]
        if to_check:
            values = result.to_numpy(dtype=object)
            for n in to_check:
                self._check_cells(key, columns[n], values[:, n])
        for n, dtype in enumerate(result.dtypes):
            if dtype.kind in "mM" and (odd := beyond_micros(result.iloc[:, n])) is not None:
                raise self._wrong(key, None, cut(odd).under(columns[n]))
        yield result

    def _check_cells(self, key: Any, name: str, values: Iterable[Any]) -> None:
        cell = self._codecs[name].cell
        try:
            for value in values:
                cell(value)
        except MismatchError as e:
            raise self._wrong(key, None, e.under(name)) from None

    def _wrong(self, key: Any, item: Any, mismatch: MismatchError | None = None) -> WrongTypeError:
        where = f"The output of {self._name} for {key!r}"
        if self.codec is None:
            found = MismatchError("", item).found_text
            return WrongTypeError(
                f"{where} is {found}, expected nothing: the function is declared to return None. "
                "Declare its output, in the hint or as output=."
            )
        kinds = f"{self.codec.expected}, a dict, a Row, a DataFrame or many of these"
        e = mismatch or MismatchError(kinds, item)
        field = f": field {e.path}" if e.path else ""
        return WrongTypeError(
            f"{where}{field} is {e.found_text}, expected {e.expected}. "
            + (e.advice or "Convert it in the function, or change the declared output.")
        )


class Sizes:
    """Adds up the cells of output that may be long: text, bytes and what is nested.

    Picklable, without side effects.

    Args:
        kinds: of the columns, by name.
    """

    def __init__(self, kinds: Mapping[str, DataType]) -> None:
        texts, nested = StringType | BinaryType, ArrayType | MapType | StructType
        self._names = {n for n, kind in kinds.items() if isinstance(kind, texts | nested)}
        places = list(enumerate(kinds.values()))
        self._texts = [n for n, kind in places if isinstance(kind, texts)]
        self._nested = [n for n, kind in places if isinstance(kind, nested)]
        self.any = bool(self._names)
        """Whether there are such columns: rows of numbers alone need no look."""

    def of(self, block: Block) -> int:
        """About how many bytes such cells have in a block."""
        if isinstance(block, list):
            return sum(map(self.of_row, block))
        # Not column by column, since each would stay cached in the frame.
        cells = block.to_numpy(dtype=object)
        places = [n for n, name in enumerate(block.columns) if name in self._names]
        return sum(_size(value) for n in places for value in cells[:, n])

    def of_row(self, row: tuple[Any, ...]) -> int:
        """As `of`, for one row."""
        size = 0
        for n in self._texts:
            text = row[n]
            if text is not None:
                size += len(text)
        for n in self._nested:
            size += _size(row[n])
        return size


def _size(value: Any) -> int:
    """About how many bytes a cell has, as a codec's `check` gives it or as a frame holds it."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        return len(value)
    if isinstance(value, list | tuple | set | frozenset):
        size = _PLAIN * len(value)
        if _PLAIN_TYPES.issuperset(map(type, value)):
            return size
        return size + sum(_size(v) for v in value if type(v) not in _PLAIN_TYPES)
    if isinstance(value, Mapping):
        return _size(list(value)) + _size(list(value.values()))
    if isinstance(value, np.ndarray):
        return _size(value.tolist()) if value.dtype == object else value.nbytes
    return _PLAIN
