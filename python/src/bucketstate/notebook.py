"""What a notebook shows of values: tables as HTML, without anything that is fetched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Any

from bucketstate.errors import BucketstateError

MOST = 20
"""Rows that are shown at most, as on the command line."""


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    note: str = "",
    *,
    right: Collection[str] = (),
) -> str:
    """A table with its numbers to the right.

    Args:
        title: the line above it.
        columns: their names.
        rows: a value for each column.
        note: the line below it.
        right: columns that go to the right, although their values are texts.
    """
    body = [list(row) for row in rows]
    values = zip(*body, strict=True) if body else [()] * len(columns)
    sides = [n in right or _are_numbers(v) for n, v in zip(columns, values, strict=True)]
    head = "".join(_cell("th", escape(n), r) for n, r in zip(columns, sides, strict=True))
    lines = "".join(
        f"<tr>{''.join(_cell('td', _text(v), r) for v, r in zip(row, sides, strict=True))}</tr>"
        for row in body
    )
    return (
        f"<div>{line(title, bold=True)}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table>{line(note)}</div>"
    )


def _are_numbers(values: Iterable[Any]) -> bool:
    there = [value for value in values if value is not None]
    return bool(there) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in there
    )


def line(text: str, *, bold: bool = False) -> str:
    """A line of text; nothing for none."""
    inner = escape(text)
    return "" if not text else f"<div>{f'<b>{inner}</b>' if bold else inner}</div>"


def shown(make: Callable[[], str]) -> str:
    """What is made, or why it cannot be: a notebook would show where in the code it failed."""
    try:
        return make()
    except BucketstateError as error:
        return line(f"{type(error).__name__}: {error}")


def _cell(kind: str, inner: str, right: bool) -> str:
    return f'<{kind} style="text-align: {"right" if right else "left"}">{inner}</{kind}>'


def _text(value: Any) -> str:
    match value:
        case None:
            return "<i>null</i>"
        case bytes():
            return f"0x{value.hex()}"
        case bool() | float():
            return str(value)
        case int():
            return f"{value:,}"
        case datetime():
            return value.isoformat(" ")
    return escape(str(value))
