"""Figures for people."""

from __future__ import annotations

import pytest

from bucketstate.units import size


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        ((1 << 20) - 52, "1023.9 KiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        ((1 << 40) - 1, "1.0 TiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_bytes_have_the_unit_that_fits(count: int | None, shown: str) -> None:
    assert size(count) == shown
