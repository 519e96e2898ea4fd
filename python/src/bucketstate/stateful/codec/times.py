"""How dates, instants and durations cross the borders: see `codecs`."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql.types import (
    DateType,
    DayTimeIntervalType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.optional import pandas as pd
from bucketstate.stateful.codec.codecs import Codec
from bucketstate.stateful.codec.instants import fixed, millis
from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable


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


class TimeCodec(Codec):
    """A time of day, kept and put out as text in ISO 8601: not every Spark has a type for it."""

    spark = StringType()
    expected = "a time"

    def check(self, value: Any) -> str:
        if not isinstance(value, time):
            raise self.mismatch(value)
        if value.tzinfo is not None and value.utcoffset() is None:
            # The text has no place for a region.
            raise MismatchError(
                "a time without a time zone, or with a fixed offset",
                value,
                advice="A region's offset is another one each season: keep a datetime, or the "
                "time without its zone, as by value.replace(tzinfo=None).",
            )
        return value.isoformat()

    def load(self, stored: Any) -> time:
        found: time = _parse(time.fromisoformat, stored, self)
        return found

    def cell(self, value: Any) -> time:
        return value if isinstance(value, time) else self.load(value)


class DatetimeCodec(Codec):
    """An instant.

    What comes back bears the offset of the session's time zone. In output rows, and where a time is
    set, a naive datetime is one in the session's time zone, as in Spark's pandas functions.
    """

    spark = TimestampType()
    expected = "a datetime"
    kinds = "M"

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def check(self, value: Any) -> datetime:
        given = value
        value = _python(value)
        if not isinstance(value, datetime) or value is pd.NaT:
            raise self.mismatch(value)
        try:
            return (value if value.tzinfo else value.replace(tzinfo=self._zone)).astimezone(UTC)
        except OverflowError:
            raise MismatchError("a datetime that has a date in UTC", given) from None

    def dump(self, value: Any) -> str:
        # It would come back with a time zone, one call later than where that matters.
        if isinstance(value, datetime) and value is not pd.NaT and value.tzinfo is None:
            raise MismatchError(
                "a datetime with a time zone",
                value,
                advice="Take it from the rows or the state's clocks, which have one, or give it "
                "one with value.replace(tzinfo=zone).",
            )
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        parsed = _parse(datetime.fromisoformat, stored, self)
        return self._shown(parsed if parsed.tzinfo else parsed.replace(tzinfo=self._zone))

    def cell(self, value: Any) -> datetime:
        """With the session's offset. One without a time zone is a reading of TIMESTAMP_NTZ."""
        value = _python(value)
        if not isinstance(value, datetime) or value is pd.NaT:
            raise self.mismatch(value)
        return value if value.tzinfo is None else self._shown(value)

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.cell(v) for v in column.tolist()]

    def _shown(self, value: datetime) -> datetime:
        try:
            return fixed(value, self._zone)
        except OverflowError:
            return value


def moment(when: Any, zone: tzinfo) -> int:
    """A time that something is set for, in milliseconds since the epoch; MismatchError for others.

    What is below a millisecond is cut, also of a time of pandas. The hours at the ends of Python's
    years may be of other years in UTC.
    """
    if isinstance(when, pd.Timestamp):
        when = when.to_pydatetime(warn=False)
    if not isinstance(when, datetime) or when is pd.NaT:
        raise MismatchError(DatetimeCodec.expected, when)
    return millis(when if when.utcoffset() is not None else when.replace(tzinfo=zone))


class LocalDatetimeCodec(Codec):
    """Spark's TIMESTAMP_NTZ: a wall clock's reading, in no time zone."""

    spark = TimestampNTZType()
    expected = "a datetime without a time zone"
    kinds = "M"

    def check(self, value: Any) -> datetime:
        value = _python(value)
        if not isinstance(value, datetime) or value is pd.NaT or value.tzinfo is not None:
            raise self.mismatch(value)
        return value

    def dump(self, value: Any) -> str:
        return self.check(value).isoformat()

    def load(self, stored: Any) -> datetime:
        return self.check(_parse(datetime.fromisoformat, stored, self))

    def cells(self, column: pd.Series[Any]) -> list[Any]:
        return [self.check(v) for v in column.tolist()]


_ROUND = "Spark keeps no nanoseconds: round it in the function, as by value.floor('us')."
_DAY_TIME = re.compile(r"(-?)(\d+) (\d\d):(\d\d):(\d\d)\.(\d{6})")


class TimedeltaCodec(Codec):
    """Stored as Spark writes a day-time interval: `-1 02:03:04.000005`."""

    spark = DayTimeIntervalType()
    expected = "a timedelta"
    kinds = "m"

    def check(self, value: Any) -> timedelta:
        value = _python(pd.Timedelta(value) if isinstance(value, np.timedelta64) else value)
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


def beyond_micros(column: pd.Series[Any]) -> pd.Timestamp | pd.Timedelta | None:
    """The first of a column's times or durations that has more digits than Spark keeps."""
    if "[ns" not in str(column.dtype):
        return None
    counts = getattr(column.array, "asi8", None)
    if counts is None:
        return next((v for v in column.tolist() if _nanoseconds(v)), None)
    odd = (counts % 1000 != 0) & column.notna().to_numpy()
    return column.iloc[odd.argmax()] if odd.any() else None


def cut(value: pd.Timestamp | pd.Timedelta) -> MismatchError:
    """For a value whose last digits Spark would cut."""
    return MismatchError("no more than microseconds", value, advice=_ROUND)


def _nanoseconds(value: Any) -> int:
    if isinstance(value, pd.Timestamp):
        return value.nanosecond
    return value.nanoseconds if isinstance(value, pd.Timedelta) else 0


def _python(value: Any) -> Any:
    """A time or duration of pandas as Python has it."""
    if _nanoseconds(value):
        raise cut(value)
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime()
    return value.to_pytimedelta() if isinstance(value, pd.Timedelta) else value


def _parse(parser: Callable[[str], Any], stored: Any, codec: Codec) -> Any:
    try:
        return parser(stored)
    except (TypeError, ValueError):
        raise codec.mismatch(stored) from None
