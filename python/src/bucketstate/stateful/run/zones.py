"""Spark's session time zone as a `tzinfo`: a region, or an offset as Java writes it."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from bucketstate.errors import InvalidSettingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})(?::(\d{1,2})(?::(\d\d))?)?|(\d\d)(\d\d)(\d\d)?)"
)
_MOST = timedelta(hours=18)
_SIXTY = 60


def zone_of(name: object, setting: str) -> tzinfo:
    """The time zone that `setting` names.

    Raises InvalidSettingError for what Spark itself refuses, and for a region that Python's own
    database has not.
    """
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if isinstance(name, str):
        offset = _offset(name)
        if offset is not None:
            return timezone(offset)
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise InvalidSettingError(
        f"{setting} is {name!r}, which is no time zone that Python knows: give a region such as "
        "'Europe/Berlin', or an offset such as '+02:00'."
    )


def instants(series: pd.Series[Any], zone: tzinfo) -> pd.Series[Any]:
    """A column of pandas' times in UTC; those without a zone are of the session's.

    Where two hours have the same readings, it is in the second, and what a clock change leaves
    out is the moment of the change. So do Spark's pandas functions, but that they refuse the last.
    """
    if series.dt.tz is None:
        second = np.zeros(len(series), dtype=bool)
        series = series.dt.tz_localize(zone, ambiguous=second, nonexistent="shift_forward")
    made: pd.Series[Any] = series.dt.tz_convert("UTC")
    return made


def check_workers(name: str, setting: str, columns: Iterable[tuple[str, DataType]]) -> None:
    """Refuses columns with timestamps, by a description of each, that workers cannot read.

    Spark's own Python workers take regions and offsets such as `+02:00` alone.

    Raises:
        InvalidSettingError: there are such columns, and the workers know no such time zone.
    """
    try:
        pa.scalar(0, pa.timestamp("us", name)).as_py()
    except (pa.ArrowException, KeyError, ValueError):
        pass
    else:
        return
    for column, spark in columns:
        if _has_timestamp(spark):
            raise InvalidSettingError(
                f"{setting} is {name!r}, which is no time zone to Spark's own Python workers, and "
                f"{column} holds timestamps: set it to {_in_minutes(zone_of(name, setting))}."
            )


def _in_minutes(zone: tzinfo) -> str:
    """An offset as the workers know it."""
    offset = zone.utcoffset(None)
    if offset is None or offset % timedelta(minutes=1):
        return "a region, or an offset such as '+02:00'"
    minutes = abs(offset) // timedelta(minutes=1)
    sign = "-" if offset < timedelta(0) else "+"
    return f"'{sign}{minutes // _SIXTY:02}:{minutes % _SIXTY:02}'"


def _has_timestamp(spark: DataType) -> bool:
    match spark:
        case TimestampType():
            return True
        case ArrayType():
            return _has_timestamp(spark.elementType)
        case MapType():
            return _has_timestamp(spark.keyType) or _has_timestamp(spark.valueType)
        case StructType():
            return any(_has_timestamp(f.dataType) for f in spark.fields)
    return False


def _offset(name: str) -> timedelta | None:
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    sign, *digits = found.groups()
    hours, minutes, seconds = (
        int(spaced or close or 0) for spaced, close in zip(digits[:3], digits[3:], strict=True)
    )
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes >= _SIXTY or seconds >= _SIXTY or size > _MOST:
        return None
    return -size if sign == "-" else size
