r"""Arrow values as Python's, also those that Python has no value for.

Spark keeps any bytes as text (a binary that was cast, a file in Latin-1), and years that are
negative or have more than four digits. Python's text is Unicode, and its years are 1 to 9999.
Wherever a value becomes Python's, this is how:

- In text, bytes that are not UTF-8 are written `\xNN`, as `backslashreplace` does.
- A date or a time beyond Python's years is its text in ISO 8601, with Spark's form of the year:
  `+10000-01-01`, `-5000-03-01T12:00:00+00:00`.

Arrow and Parquet have them as they are. As a key such a value is given in the same form, but a
text that is not UTF-8: `key_values` says how.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd

NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""The text of floats that JSON has no number for, as Spark's `to_json` writes it."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_DAY = 86_400
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""After so many the calendar is the same again."""
_FAR = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:[T ](.+))?")


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of an array, as `to_pylist` has them but for those that it has no way for."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in python_values(chunk)]
    found: list[Any] = array.to_pylist() if held_by_python(array) else list(_values(array))
    return found


def with_dicts(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """As `python_values`, but for maps: a dict where keys are no structs, lists or maps.

    Those stay pairs of a key and a value, since a dict has no place for them.
    """
    found = python_values(array)
    return [_with_dicts(value, array.type) for value in found] if _has_map(array.type) else found


def _with_dicts(value: Any, kind: pa.DataType) -> Any:
    if value is None or not _has_map(kind):
        return value
    if pa.types.is_map(kind):
        pairs = [(_with_dicts(k, kind.key_type), _with_dicts(v, kind.item_type)) for k, v in value]
        return pairs if pa.types.is_nested(kind.key_type) else dict(pairs)
    if pa.types.is_list(kind):
        return [_with_dicts(element, kind.value_type) for element in value]
    return {field.name: _with_dicts(value[field.name], field.type) for field in kind}


def _has_map(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_map(kind.value_type)
    return pa.types.is_map(kind) or (
        pa.types.is_struct(kind) and any(_has_map(field.type) for field in kind)
    )


def flattened(table: pa.Table) -> pa.Table:
    """With a column for each field of a struct, also within others: `key.window.start`."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def as_frame(table: pa.Table) -> pd.DataFrame:
    """The table as a DataFrame; a column with values beyond Python's is one of objects."""
    import pandas as pd

    beyond = [
        n
        for n, column in enumerate(table.columns)
        if _has_map(column.type) or not all(map(held_by_python, column.chunks))
    ]
    if not beyond:
        plain: pd.DataFrame = table.to_pandas()
        return plain
    # By place: two columns may have one name.
    columns = [
        pd.Series(with_dicts(column), dtype="object")
        if n in beyond
        else table.select([n]).to_pandas().iloc[:, 0]
        for n, column in enumerate(table.columns)
    ]
    found: pd.DataFrame = pd.concat(columns, axis=1)
    found.columns = pd.Index(table.column_names)
    return found


def day_of(text: str) -> int:
    """Days since 1970 of a date in ISO 8601, of whatever year. ValueError for what is none."""
    days, rest = _parsed(text)
    if rest is not None:
        raise ValueError(f"{text!r} has a time")
    return days


def micros_of(text: str, *, zoned: bool) -> int:
    """Microseconds since 1970 of a time in ISO 8601, of whatever year.

    In UTC if it says no zone; its zone is left out of account where it is not `zoned`. ValueError
    for what is none.
    """
    days, rest = _parsed(text)
    # Its time is put on a day that Python has.
    at = datetime.fromisoformat(f"2000-01-01T{rest or '00:00'}")
    at = at.replace(tzinfo=UTC) if at.tzinfo is None or not zoned else at
    of_day = at - datetime(2000, 1, 1, tzinfo=UTC)
    return days * _DAY * 10**6 + of_day // timedelta(microseconds=1)


def _parsed(text: str) -> tuple[int, str | None]:
    found = _FAR.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not ISO 8601")
    cycles, year = divmod(int(found[1]) - 2000, _CYCLE_YEARS)
    at = date(2000 + year, int(found[2]), int(found[3]))
    return (at - _EPOCH).days + cycles * _CYCLE_DAYS, found[4]


def held_by_python(array: pa.Array) -> bool:
    """Whether Python, and pandas, have a value for each of these."""
    kind = array.type
    if pa.types.is_string(kind):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True
    if pa.types.is_date(kind):
        return _within(array, _FIRST_DAY, _LAST_DAY)
    if pa.types.is_timestamp(kind):
        per_day = _DAY * _PER_SECOND[kind.unit]
        return _within(array, _FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1)
    if pa.types.is_duration(kind):
        # The least one is what pandas has for none.
        return _within(array, -(2**63) + 1, 2**63 - 1)
    return all(map(held_by_python, _children(array)))


def _within(array: pa.Array, first: int, last: int) -> bool:
    found = pc.min_max(_numbers(array)).as_py()
    return found["min"] is None or first <= found["min"] <= found["max"] <= last


def _numbers(array: pa.Array) -> pa.Array:
    return array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())


def _children(array: pa.Array) -> list[pa.Array]:
    kind = array.type
    if pa.types.is_map(kind):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [part.slice(first, last - first) for part in (array.keys, array.items)]
    if pa.types.is_list(kind) or pa.types.is_struct(kind):
        found = array.flatten()
        return [found] if pa.types.is_list(kind) else list(found)
    return []


def _values(array: pa.Array) -> Iterator[Any]:
    """One by one, for an array with a value that Python has not."""
    kind = array.type
    if pa.types.is_string(kind):
        return _each(array.cast(pa.binary()), lambda raw: raw.decode("utf-8", "backslashreplace"))
    if pa.types.is_date(kind):
        return _each(_numbers(array), _date)
    if pa.types.is_timestamp(kind):
        per_second, zoned = _PER_SECOND[kind.unit], kind.tz is not None
        return _each(_numbers(array), lambda number: _moment(number, per_second, zoned=zoned))
    if pa.types.is_map(kind):
        return _slices(array, list(zip(_list(array.keys), _list(array.items), strict=True)))
    if pa.types.is_list(kind):
        return _slices(array, _list(array.values))
    if pa.types.is_struct(kind):
        return _structs(array)
    return iter(array.to_pylist())


def _list(array: pa.Array) -> list[Any]:
    return python_values(array)


def _each(array: pa.Array, made: Callable[[Any], Any]) -> Iterator[Any]:
    return (None if value is None else made(value) for value in array.to_pylist())


def _slices(array: pa.Array, values: list[Any]) -> Iterator[list[Any] | None]:
    offsets, there = array.offsets.to_pylist(), array.is_valid().to_pylist()
    for n, valid in enumerate(there):
        yield values[offsets[n] : offsets[n + 1]] if valid else None


def _structs(array: pa.Array) -> Iterator[dict[str, Any] | None]:
    names = [field.name for field in array.type]
    columns = [_list(child) for child in array.flatten()]
    for valid, *row in zip(array.is_valid().to_pylist(), *columns, strict=True):
        yield dict(zip(names, row, strict=True)) if valid else None


def _date(days: int) -> date | str:
    if _FIRST_DAY <= days <= _LAST_DAY:
        return _EPOCH + timedelta(days=days)
    cycles, rest = divmod(days - (date(2000, 1, 1) - _EPOCH).days, _CYCLE_DAYS)
    at = date(2000, 1, 1) + timedelta(days=rest)
    year = at.year + cycles * _CYCLE_YEARS
    return f"{'+' if year > 0 else ''}{year:0{5 if year < 0 else 4}d}-{at:%m-%d}"


def _moment(number: int, per_second: int, *, zoned: bool) -> datetime | str:
    days, of_day = divmod(number, _DAY * per_second)
    at = timedelta(microseconds=of_day * 10**6 // per_second)
    zone = UTC if zoned else None
    if _FIRST_DAY <= days <= _LAST_DAY:
        return datetime(1970, 1, 1, tzinfo=zone) + timedelta(days=days) + at
    time = (datetime(2000, 1, 1, tzinfo=zone) + at).isoformat().partition("T")[2]
    return f"{_date(days)}T{time}"
