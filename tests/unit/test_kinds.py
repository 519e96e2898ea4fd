"""What values each kind of setting takes."""

from __future__ import annotations

from typing import Any

import pytest

from bucketstate.kinds import Bytes, Kind, Memory, OneOf, Text, WholeNumber

NUMBER, SIZE, HEAP = WholeNumber(1, 100), Bytes(1, 1 << 30), Memory()


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
        (OneOf(("lazy", "eager")), "lazy", "lazy"),
        (Text(), "spark", "spark"),
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
        (OneOf(("lazy", "eager")), "Lazy"),
        (Text(), ""),
    ],
)
def test_a_text_that_means_nothing_allowed(kind: Kind, text: str) -> None:
    assert not kind.allows(kind.parse(text))


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
        (Text(), 7),
    ],
)
def test_a_value_of_another_type_is_not_allowed(kind: Kind, value: Any) -> None:
    assert not kind.allows(value)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        (WholeNumber(1, 9, "milliseconds"), "a whole number of milliseconds from 1 to 9"),
        (OneOf(("heap",)), "'heap'"),
        (OneOf(("lazy", "eager")), "one of 'lazy', 'eager'"),
    ],
)
def test_what_is_allowed_is_said(kind: Kind, allowed: str) -> None:
    assert kind.allowed == allowed
