"""Figures for people."""

from __future__ import annotations


def size(count: int | None) -> str:
    """Bytes for people; `-` for None."""
    if count is None:
        return "-"
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(amount, 1) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def count(number: int | None) -> str:
    """With commas; `-` for None."""
    return "-" if number is None else f"{number:,}"
