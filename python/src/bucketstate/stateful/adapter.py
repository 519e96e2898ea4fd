"""Runs a definition as the function that `applyInPandasWithState` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bucketstate.stateful.chunks import columns_of, frame
from bucketstate.stateful.errors import MismatchError, WrongTypeError
from bucketstate.stateful.handle import State, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from pyspark.sql.streaming.state import GroupState

    from bucketstate.stateful.chunks import Columns
    from bucketstate.stateful.definition import Definition
    from bucketstate.stateful.keys import KeyCodec

_ROWS_PER_FRAME = 10_000


class Adapter:
    """One function on one query: picklable, made on the driver, called by Spark's workers."""

    def __init__(
        self, definition: Definition, key: KeyCodec, timeout: Timeout | None, zone: tzinfo
    ) -> None:
        self.definition = definition
        self.key = key
        self.state = definition.state_codec(zone)
        self.output = definition.output_codec(zone)
        self._codecs = {} if self.output is None else {f.name: f.codec for f in self.output.fields}
        self._record = definition.record_codec(zone)
        self._timeout = timeout
        self._zone = zone

    def __call__(
        self, cells: tuple[Any, ...], chunks: Iterable[pd.DataFrame], group: GroupState
    ) -> Iterator[pd.DataFrame]:
        """The frames of the group's output; the state is complete when they were all taken."""
        key = self.key(cells)
        state: State[Any] = State(self.state, group, key, self._timeout, self._zone)
        try:
            result = self._call(key, chunks, state)
            if result is not None:
                yield from self._frames(key, result)
            state.finish()
        except GeneratorExit:
            raise
        except Exception as e:
            e.add_note(f"in {self.definition.name} for {key!r}")
            raise

    def _call(self, key: Any, chunks: Iterable[pd.DataFrame], state: State[Any]) -> Any:
        definition = self.definition
        if state.timed_out:
            if definition.on_timeout is not None:
                return definition.on_timeout(key, state)
            if definition.chunked:
                return definition.on_rows(key, iter(()), state)
            empty: Any = next(iter(chunks)) if definition.shape == "frame" else []
            return definition.on_rows(key, empty, state)
        shaped = map(self._shape(), columns_of(chunks))
        if definition.chunked:
            return definition.on_rows(key, shaped, state)
        parts = list(shaped)
        return definition.on_rows(key, parts[0] if len(parts) == 1 else self._joined(parts), state)

    def _shape(self) -> Any:
        if self.definition.shape == "frame":
            return frame
        return self._dicts if self._record is None else self._records

    def _joined(self, parts: list[Any]) -> Any:
        if self.definition.shape == "frame":
            return pd.concat(parts, ignore_index=True)
        return [row for part in parts for row in part]

    def _dicts(self, columns: Columns) -> list[dict[str, Any]]:
        values = [c.tolist() for c in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]

    def _records(self, columns: Columns) -> list[Any]:
        record = self._record
        assert record is not None
        values = []
        for field in record.fields:
            column = columns.get(field.name)
            try:
                if column is None:
                    if not field.required:
                        continue
                    raise MismatchError(field.codec.expected, list(columns), "")
                values.append((field.name, field.codec.cells(column)))
            except MismatchError as e:
                raise WrongTypeError(
                    f"A row has {e.found_text} for {record.cls.__name__}.{field.name}, expected "
                    f"{e.expected}. Change the field's type or the column."
                ) from None
        names = [n for n, _ in values]
        make = record.cls
        if names == list(record.names):
            return [make(*row) for row in zip(*(v for _, v in values), strict=True)]
        return [
            make(**dict(zip(names, row, strict=True)))
            for row in zip(*(v for _, v in values), strict=True)
        ]

    def _frames(self, key: Any, result: Any) -> Iterator[pd.DataFrame]:
        if isinstance(result, pd.DataFrame):
            yield from self._checked(key, result)
            return
        if isinstance(result, Mapping) or self._is_row(result):
            yield self._framed([self._row(key, result)])
            return
        if isinstance(result, str | bytes) or not isinstance(result, Iterable):
            raise self._wrong(key, result)
        rows: list[tuple[Any, ...]] = []
        for item in result:
            if isinstance(item, pd.DataFrame):
                if rows:
                    yield self._framed(rows)
                    rows = []
                yield from self._checked(key, item)
                continue
            rows.append(self._row(key, item))
            if len(rows) == _ROWS_PER_FRAME:
                yield self._framed(rows)
                rows = []
        if rows:
            yield self._framed(rows)

    def _is_row(self, result: Any) -> bool:
        return self.output is not None and isinstance(result, self.output.cls)

    def _row(self, key: Any, item: Any) -> tuple[Any, ...]:
        if self.output is None:
            raise self._wrong(key, item)
        try:
            return self.output.row(item)
        except MismatchError as e:
            raise self._wrong(key, item, e) from None

    def _framed(self, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
        """One block of Python objects: a third of what a frame with a dtype per column costs."""
        assert self.output is not None
        names = self.output.names
        values = np.empty((len(rows), len(names)), dtype=object)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                values[i, j] = value
        return pd.DataFrame(values, columns=self._columns(names), dtype=object, copy=False)

    def _columns(self, names: tuple[str, ...]) -> pd.Index[str]:
        made: pd.Index[str] | None = self.__dict__.get("_index")
        if made is None:
            made = self._index = pd.Index(names)
        return made

    def _checked(self, key: Any, result: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """The frame, if each column is there and its values fit; nothing for an empty frame."""
        if not len(result):
            return
        if self.output is None:
            raise self._wrong(key, result)
        columns = list(result.columns)
        if columns != list(self.output.names):
            missing = [n for n in self.output.names if n not in columns]
            unknown = [c for c in columns if c not in self.output.names]
            if missing or unknown or len(columns) != len(self.output.names):
                raise WrongTypeError(
                    f"The output of {self.definition.name} for {key!r} has the columns "
                    f"{', '.join(map(str, columns))}, expected {', '.join(self.output.names)}"
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
        yield result

    def _check_cells(self, key: Any, name: str, values: Iterable[Any]) -> None:
        cell = self._codecs[name].cell
        try:
            for value in values:
                cell(value)
        except MismatchError as e:
            raise self._wrong(key, None, e.under(name)) from None

    def _wrong(self, key: Any, item: Any, mismatch: MismatchError | None = None) -> WrongTypeError:
        where = f"The output of {self.definition.name} for {key!r}"
        if self.output is None:
            found = MismatchError("", item).found_text
            return WrongTypeError(
                f"{where} is {found}, expected nothing: the function is declared to return None. "
                "Declare its output, in the hint or as output=."
            )
        e = mismatch or MismatchError(f"{self.output.expected}, a dict, a DataFrame or many", item)
        field = f": field {e.path}" if e.path else ""
        return WrongTypeError(
            f"{where}{field} is {e.found_text}, expected {e.expected}. Convert it in the function, "
            "or change the declared output."
        )
