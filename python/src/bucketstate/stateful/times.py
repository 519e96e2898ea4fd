"""How dates, instants and durations cross the borders: see `codecs`."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from pyspark.sql.types import DateType, DayTimeIntervalType, TimestampNTZType, TimestampType

from bucketstate.stateful.codecs import Codec
from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable


class _Aware:
    def __repr__(self) -> str:
        return "aware"


AWARE = _Aware()
AwareDatetime = Annotated[datetime, AWARE]
"""The hint of a datetime that has a time zone, and comes back with the session's."""


class DateCodec(Codec):
    spark = DateType()
    expected = "a date"

    def check(self, value: Any) -> date:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        raise self.mismatch(value)

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> date:
        return self.check(_parse(date.fromisoformat, stored, self))


class DatetimeCodec(Codec):
    """An instant.

    A naive datetime is one in the session's time zone, as in Spark's pandas functions; what comes
    back is always naive.
    """

    spark = TimestampType()
    expected = "a datetime"
    kinds = "M"

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def check(self, value: Any) -> datetime:
        given = value
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        elif isinstance(value, np.datetime64):
            value = pd.Timestamp(value).to_pydatetime(warn=False)
        if not isinstance(value, datetime) or value is pd.NaT:
            raise self.mismatch(value)
        try:
            return (value if value.tzinfo else value.replace(tzinfo=self._zone)).astimezone(UTC)
        except OverflowError:
            raise MismatchError("a datetime that has a date in UTC", given) from None

    def dump(self, value: Any) -> str:
        # It would come back without its time zone, one call later than where that matters.
        if getattr(value, "tzinfo", None) is not None:
            raise MismatchError(
                "a datetime without a time zone",
                value,
                advice="Store it as value.astimezone(zone).replace(tzinfo=None) in the session's "
                "time zone, or annotate the field as stateful.AwareDatetime.",
            )
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        return self._local(_parse(datetime.fromisoformat, stored, self))

    def cell(self, value: Any) -> datetime:
        return self._local(DatetimeCodec.check(self, value))

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.cell(v) for v in column.tolist()]

    def _local(self, value: datetime) -> datetime:
        return self._zoned(value).replace(tzinfo=None)

    def _zoned(self, value: datetime) -> datetime:
        try:
            return value.astimezone(self._zone)
        except OverflowError:
            raise MismatchError(f"a datetime that has a date in {self._zone}", value) from None


class AwareDatetimeCodec(DatetimeCodec):
    """An instant whose values have a time zone; what comes back is in the session's."""

    expected = "a datetime with a time zone"

    def check(self, value: Any) -> datetime:
        if isinstance(value, datetime) and value is not pd.NaT and value.tzinfo is None:
            raise self.mismatch(value)
        return super().check(value)

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def _local(self, value: datetime) -> datetime:
        return self._zoned(value)


class LocalDatetimeCodec(Codec):
    """Spark's TIMESTAMP_NTZ: a wall clock's reading, in no time zone."""

    spark = TimestampNTZType()
    expected = "a datetime without a time zone"
    kinds = "M"

    def check(self, value: Any) -> datetime:
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        if not isinstance(value, datetime) or value is pd.NaT or value.tzinfo is not None:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        return self.check(_parse(datetime.fromisoformat, stored, self))

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.check(v) for v in column.tolist()]


_DAY_TIME = re.compile(r"(-?)(\d+) (\d\d):(\d\d):(\d\d)\.(\d{6})")


class TimedeltaCodec(Codec):
    """Stored as Spark writes a day-time interval: `-1 02:03:04.000005`."""

    spark = DayTimeIntervalType()
    expected = "a timedelta"
    kinds = "m"

    def check(self, value: Any) -> timedelta:
        if isinstance(value, pd.Timedelta):
            value = value.to_pytimedelta()
        elif isinstance(value, np.timedelta64):
            value = pd.Timedelta(value).to_pytimedelta()
        if not isinstance(value, timedelta) or value is pd.NaT:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        given = self.check(value)
        size = abs(given)
        minutes, seconds = divmod(size.seconds, 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{size.microseconds:06}"
        return f"{'-' if given < timedelta(0) else ''}{size.days} {clock}"

    def load(self, stored: Any) -> timedelta:
        found = _DAY_TIME.fullmatch(stored) if isinstance(stored, str) else None
        if found is None:
            raise self.mismatch(stored)
        days, hours, minutes, seconds, micros = map(int, found.groups()[1:])
        size = timedelta(days, seconds, micros, minutes=minutes, hours=hours)
        return -size if found[1] else size

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.check(v) for v in column.tolist()]


def _parse(parser: Callable[[str], Any], stored: Any, codec: Codec) -> Any:
    try:
        return parser(stored)
    except (TypeError, ValueError):
        raise codec.mismatch(stored) from None
