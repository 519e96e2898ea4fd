"""Key values as people have them, made those that Spark stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from bucketstate.errors import InvalidArgumentError

_EPOCH = datetime(1970, 1, 1)
_BITS: dict[type[T.DataType], int] = {
    T.ByteType: 8,
    T.ShortType: 16,
    T.IntegerType: 32,
    T.LongType: 64,
}
_FLOATS = (T.FloatType, T.DoubleType)


def stored_key(schema: T.StructType, key: Any, argument: str = "key") -> tuple[Any, ...]:
    """The fields of a key in the order of its schema: see `stored`.

    A key is a dict by column, a tuple or list of its columns, or, of a single column, its value.
    Its first columns may be given alone.
    """
    names = schema.names
    if not _is_row(key, names):
        key = (key,)
    return _fields(T.StructType(schema.fields[: len(key)]), key, argument)


def stored(kind: T.DataType, value: Any, where: str) -> Any:
    """A value as Spark stores it: times as numbers, decimals unscaled, structs as tuples.

    Times, decimals and bytes may be given as the text that `show --json` has of them: ISO 8601,
    digits, hex. Times without a zone are taken for UTC.

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
        case T.StringType() if isinstance(value, str):
            return value
        case T.BinaryType():
            return bytes.fromhex(value) if isinstance(value, str) else bytes(value)
        case T.FloatType() | T.DoubleType() if not isinstance(value, (bool, str)):
            # Spark's grouping makes these one.
            return float(value) + 0.0
        case T.DecimalType() if not isinstance(value, (bool, float)):
            return _unscaled(kind, Decimal(value))
        case T.DateType():
            return (_date(value) - _EPOCH.date()).days
        case T.TimestampType():
            return _micros(_moment(value).astimezone(UTC).replace(tzinfo=None) - _EPOCH)
        case T.TimestampNTZType():
            return _micros(_moment(value).replace(tzinfo=None) - _EPOCH)
        case T.TimeType():
            at = time.fromisoformat(value) if isinstance(value, str) else value
            return _micros(datetime.combine(_EPOCH.date(), at) - _EPOCH) * 1000
        case T.DayTimeIntervalType():
            return _micros(value if isinstance(value, timedelta) else timedelta(seconds=value))
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
    number = int(value)
    if number != value or not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"not within {bits} bits")
    return number


def _unscaled(kind: T.DecimalType, value: Decimal) -> int:
    with localcontext(prec=80):
        number = value.scaleb(kind.scale)
        if number != number.to_integral_value() or abs(number) >= 10**kind.precision:
            raise ValueError("it has more digits")
        return int(number)


def _date(value: Any) -> date:
    if isinstance(value, datetime) or not isinstance(value, (str, date)):
        raise TypeError(f"a {type(value).__name__}")
    return date.fromisoformat(value) if isinstance(value, str) else value


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(found, datetime):
        raise TypeError(f"a {type(value).__name__}")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
