"""What values each kind of setting takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate.kinds import (
    Bytes,
    Duration,
    Folder,
    Kind,
    Memory,
    Millis,
    OneOf,
    Text,
    WholeNumber,
    plain,
)

NUMBER, SIZE, HEAP = WholeNumber(1, 100), Bytes(1, 1 << 30), Memory()
TIME = Duration(60, "never")
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NUMBER, "7", 7),
        (NUMBER, "+7", 7),
        (SIZE, "4096", 4096),
        (SIZE, "64m", "64m"),
        (SIZE, "1GB", "1GB"),
        (HEAP, "auto", "auto"),
        (HEAP, "1%", "1%"),
        (HEAP, "90 %", "90 %"),
        (HEAP, "040%", "040%"),
        (HEAP, " 40% ", " 40% "),
        (HEAP, "1048576", 1048576),
        (HEAP, "1m", "1m"),
        (HEAP, "1024KB", "1024KB"),
        (HEAP, "1048576b", "1048576b"),
        (HEAP, "2G", "2G"),
        (HEAP, "8388607t", "8388607t"),
        (TIME, "never", "never"),
        (TIME, " 90s ", " 90s "),
        (TIME, "060 s", "060 s"),
        (TIME, "1min", "1min"),
        (TIME, "12 h", "12 h"),
        (TIME, "7d", "7d"),
        # The most that four bytes have.
        (TIME, "4294967295s", "4294967295s"),
        (TIME, "49710d", "49710d"),
        (OneOf(("lazy", "eager")), "lazy", "lazy"),
        (Text(), "spark", "spark"),
        (Folder(), "/data/state", "/data/state"),
        (OneOf(("true", "false")), "true", "true"),
    ],
)
def test_a_text_means_a_value_that_is_allowed(kind: Kind, text: str, value: object) -> None:
    assert kind.parse(text) == value
    assert kind.allows(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        # Java reads none of these as a number.
        (NUMBER, "1_0"),
        (NUMBER, "٣"),
        (NUMBER, "1.0"),
        (NUMBER, "0"),
        (NUMBER, "101"),
        (SIZE, "0k"),
        (SIZE, "2g"),
        (SIZE, "64x"),
        (SIZE, "-1"),
        (HEAP, ""),
        (HEAP, "Auto"),
        (HEAP, "0%"),
        (HEAP, "91%"),
        (HEAP, "99999999999%"),
        (HEAP, "40.5%"),
        (HEAP, "40  %"),
        (HEAP, "-40%"),
        (HEAP, "%"),
        (HEAP, "٤%"),
        (HEAP, "0.4"),
        (HEAP, "1048575"),
        (HEAP, "+1048576"),
        (HEAP, "1023k"),
        (HEAP, "1 m"),
        # One more than a Long has.
        (HEAP, "9223372036854775808"),
        (HEAP, "8388608t"),
        (TIME, ""),
        (TIME, "Never"),
        (TIME, "60"),
        (TIME, "59s"),
        (TIME, "0d"),
        (TIME, "-90s"),
        (TIME, "1.5h"),
        (TIME, "2  h"),
        (TIME, "2m"),
        (TIME, "2H"),
        (TIME, "2hours"),
        (TIME, "100ms"),
        (TIME, "1h 30min"),
        (TIME, "٤d"),
        (TIME, "4294967296s"),
        (TIME, "49711d"),
        (OneOf(("lazy", "eager")), "Lazy"),
        (Text(), ""),
    ],
)
def test_a_text_that_means_nothing_allowed(kind: Kind, text: str) -> None:
    assert not kind.allows(kind.parse(text))


@pytest.mark.parametrize("kind", [NUMBER, SIZE, HEAP, TIME], ids=str)
@pytest.mark.parametrize("unit", ["", "m", "%", "s"])
def test_more_digits_than_python_makes_a_number_of(kind: Kind, unit: str) -> None:
    text = "1" * 5000 + unit
    assert kind.parse(text) == text
    assert not kind.allows(text)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (NUMBER, True),
        (NUMBER, 7.0),
        (NUMBER, None),
        (SIZE, True),
        (SIZE, 1.5),
        (HEAP, True),
        (HEAP, 0.4),
        (HEAP, 40),
        (HEAP, None),
        (TIME, 90),
        (TIME, None),
        (Text(), 7),
    ],
)
def test_a_value_of_another_type_is_not_allowed(kind: Kind, value: Any) -> None:
    assert not kind.allows(value)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        (Millis(1, 9), "a whole number of milliseconds from 1 to 9"),
        (OneOf(("heap",)), "'heap'"),
        (OneOf(("lazy", "eager")), "one of 'lazy', 'eager'"),
        (TIME, "a time such as 90s, 30min, 12h or 7d of at least 60s, or 'never'"),
    ],
)
def test_what_is_allowed_is_said(kind: Kind, allowed: str) -> None:
    assert kind.allowed == allowed


@given(st.integers(60, 0xFFFFFFFF))
def test_so_many_seconds_are_a_time(seconds: int) -> None:
    text = plain(timedelta(seconds=seconds), TIME)
    assert text == f"{seconds}s"
    assert TIME.allows(text)


@given(
    st.timedeltas(max_value=timedelta(seconds=59)) | st.timedeltas().filter(lambda t: t % SECOND)
)
def test_less_or_a_part_of_a_second_is_none(time: timedelta) -> None:
    assert not TIME.allows(plain(time, TIME))


@given(st.integers(1, 10**6))
def test_so_many_milliseconds_are_a_number(millis: int) -> None:
    kind = Millis(1, 10**6)
    assert plain(timedelta(milliseconds=millis), kind) == millis
    assert not kind.allows(plain(timedelta(milliseconds=millis, microseconds=1), kind))
    assert not kind.allows(plain(timedelta(milliseconds=-millis), kind))


@pytest.mark.parametrize("value", [7, "7d", None, True])
def test_what_is_no_time_stays_as_it_is(value: object) -> None:
    assert plain(value, TIME) is value
