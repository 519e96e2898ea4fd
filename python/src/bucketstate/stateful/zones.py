"""Spark's session time zone as a `tzinfo`: a region, or an offset as Java writes it."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bucketstate.errors import InvalidSettingError

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
