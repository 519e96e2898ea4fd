"""Key values as people have them, made those that Spark stores."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from enum import Enum
from typing import Any
from uuid import UUID

from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.partitioning import utf8
from bucketstate.checkpoint.spark.python_values import NOT_FINITE, day_of, micros_of
from bucketstate.errors import InvalidArgumentError

_EPOCH = datetime(1970, 1, 1)
_BITS: dict[type[T.DataType], int] = {
    T.ByteType: 8,
    T.ShortType: 16,
    T.IntegerType: 32,
    T.LongType: 64,
}
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def stored_key(schema: T.StructType, key: Any, argument: str = "key") -> tuple[Any, ...]:
    """The fields of a key in the order of its schema: see `stored`.

    A key is a dict by column, a tuple or list of its columns, or, of a single column, its value.
    Its first columns may be given alone.
    """
    names = schema.names
    if not _is_row(key, names):
        key = (key,)
    return _fields(T.StructType(schema.fields[: len(key)]), key, argument)


def meanings(*keys: Any) -> Iterator[tuple[Any, ...]]:
    r"""The keys as they are given; then, if that is another, with `\xNN` in texts taken for bytes.

    So is a text shown that is not UTF-8; there may also be one that has a backslash and an x.
    """
    yield keys
    others = tuple(map(_unescaped, keys))
    if others != keys:
        yield others


def without_negative_zeros(values: Any) -> Any:
    """Stored fields as aggregations and joins have them, which make one of 0.0 and -0.0."""
    match values:
        case float():
            return values + 0.0
        case tuple() | list():
            return type(values)(map(without_negative_zeros, values))
    return values


def json_key(value: Any) -> Any:
    """A key of a map as a function of `bucketstate.stateful` keeps it: as JSON.

    What can be no such key stays as it is.
    """
    match value:
        case Enum():
            return json_key(value.value)
        case bool() | int() | float():
            found: Any = value + 0 if isinstance(value, float) else value
        case Decimal():
            with localcontext(prec=80):
                found = str(value.normalize() + 0)
        case datetime():
            at = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            found = at.astimezone(UTC).isoformat()
        case date() | time():
            found = value.isoformat()
        case timedelta():
            found = _day_time(value)
        case bytes():
            found = base64.b64encode(value).decode("ascii")
        case str() | UUID():
            found = str(value)
        case _:
            return value
    return json.dumps(found, ensure_ascii=False)


def _day_time(span: timedelta) -> str:
    """A day-time interval as Spark writes it: `-1 02:03:04.000005`."""
    size = abs(span)
    minutes, seconds = divmod(size.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{size.microseconds:06}"
    return f"{'-' if span < timedelta(0) else ''}{size.days} {clock}"


def _unescaped(value: Any) -> Any:
    match value:
        case str():
            given = utf8(value)
            found = _ESCAPED.sub(lambda escape: bytes([int(escape[1], 16)]), given)
            return value if _is_text(found) else found
        case Mapping():
            return {name: _unescaped(inner) for name, inner in value.items()}
        case list() | tuple():
            found_all = [_unescaped(inner) for inner in value]
            return tuple(found_all) if isinstance(value, tuple) else found_all
    return value


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def stored(kind: T.DataType, value: Any, where: str) -> Any:
    """A value as Spark stores it: times as numbers, decimals unscaled, structs as tuples.

    Texts are their bytes in UTF-8. Times, decimals, bytes and floats may be given as the text that
    `show --json` has of them: ISO 8601, digits, hex, `NaN`. Times without a zone are taken for UTC.
    A text that is not UTF-8 is given as its bytes, or with surrogates, as Python has what a shell
    gives it.

    Raises InvalidArgumentError, naming the column, for what is no value of the type.
    """
    if value is None:
        return None
    try:
        return _stored(kind, value, where)
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError, ArithmeticError, InvalidOperation) as error:
        raise InvalidArgumentError(
            f"{where}={value!r} is no {kind.simpleString()} ({error}): give a value of that type."
        ) from error


def _is_row(key: Any, names: Sequence[str]) -> bool:
    """Whether it is the columns, and not the value of a single one."""
    if isinstance(key, Mapping):
        return len(names) > 1 or set(key) == set(names)
    return isinstance(key, (tuple, list)) and (len(names) > 1 or len(key) == 1)


def _fields(schema: T.StructType, value: Any, where: str) -> tuple[Any, ...]:
    names = schema.names
    if isinstance(value, Mapping):
        if set(value) != set(names) or len(set(names)) != len(names):
            raise _unfit(schema, where, f"has {', '.join(map(str, value)) or 'nothing'}")
        value = [value[name] for name in names]
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise _unfit(schema, where, f"is {value!r}")
    if len(value) != len(names):
        raise _unfit(schema, where, f"has {len(value)} values")
    return tuple(
        stored(field.dataType, inner, f"{where}.{field.name}")
        for field, inner in zip(schema, value, strict=True)
    )


def _unfit(schema: T.StructType, where: str, found: str) -> InvalidArgumentError:
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema)
    return InvalidArgumentError(
        f"{where} {found}: give a dict of these columns, or their values in this order: {columns}."
    )


def _stored(kind: T.DataType, value: Any, where: str) -> Any:
    match kind:
        case T.BooleanType() if isinstance(value, bool):
            return value
        case T.StringType() if isinstance(value, (str, bytes)):
            return utf8(value)
        case T.BinaryType() if isinstance(value, str):
            return bytes.fromhex(value)
        # Not of whatever makes bytes: a number makes as many zeros.
        case T.BinaryType() if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        case T.FloatType() | T.DoubleType() if value in NOT_FINITE or not isinstance(
            value, (bool, str, bytes, bytearray)
        ):
            number = float(value)
            if isinstance(kind, T.FloatType):
                # One that is too large for its 4 bytes is told here, with its place.
                struct.pack("<f", number)
            return number
        case T.DecimalType() if not isinstance(value, (bool, float)):
            return _unscaled(kind, Decimal(value))
        case T.DateType():
            return _integer(_days(value), 32)
        case T.TimestampType():
            return _integer(_moment(value, zoned=True), 64)
        case T.TimestampNTZType():
            return _integer(_moment(value, zoned=False), 64)
        case T.TimeType():
            at = time.fromisoformat(value) if isinstance(value, str) else value
            return _micros(datetime.combine(_EPOCH.date(), at) - _EPOCH) * 1000
        case T.DayTimeIntervalType():
            span = value if isinstance(value, timedelta) else timedelta(seconds=value)
            return _integer(_micros(span), 64)
        case T.StructType():
            return _fields(kind, value, where)
        case T.ArrayType() if isinstance(value, (list, tuple)):
            return [stored(kind.elementType, v, f"{where}[{n}]") for n, v in enumerate(value)]
        case _ if type(kind) in _BITS:
            return _integer(value, _BITS[type(kind)])
        case T.UserDefinedType():
            return stored(kind.sqlType(), value, where)
    raise TypeError(f"a {type(value).__name__}")


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, (bool, str, float)):
        raise TypeError(f"a {type(value).__name__}")
    limit = 1 << bits - 1
    # Before it is made a whole number: of 1E+999999999 that would have as many digits.
    if isinstance(value, Decimal) and not -limit <= value < limit:
        raise ValueError(f"not within {bits} bits")
    number = int(value)
    if number != value:
        raise ValueError("not whole")
    if not -limit <= number < limit:
        raise ValueError(f"not within {bits} bits")
    return number


def _unscaled(kind: T.DecimalType, value: Decimal) -> int:
    with localcontext(prec=80):
        number = value.scaleb(kind.scale)
        if number != number.to_integral_value() or abs(number) >= 10**kind.precision:
            raise ValueError("it has more digits")
        return int(number)


def _days(value: Any) -> int:
    """Since 1970."""
    if isinstance(value, datetime) or not isinstance(value, (str, date)):
        raise TypeError(f"a {type(value).__name__}")
    if isinstance(value, str):
        try:
            at = date.fromisoformat(value)
        except ValueError:
            return day_of(value)
    else:
        at = value
    return (at - _EPOCH.date()).days


def _moment(value: Any, *, zoned: bool) -> int:
    """Microseconds since 1970; what is not `zoned` is so by the clock on the wall."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return micros_of(value, zoned=zoned)
    if not isinstance(value, datetime):
        raise TypeError(f"a {type(value).__name__}")
    if not zoned:
        return _micros(value.replace(tzinfo=None) - _EPOCH)
    at = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return _micros(at - _EPOCH.replace(tzinfo=UTC))


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
