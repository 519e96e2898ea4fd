"""What a notebook shows of values: tables as HTML, without anything that is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any

from bucketstate.errors import BucketstateError

MOST = 20
"""Rows that are shown at most, as on the command line."""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table; columns whose name starts with a `#` are numbers, to the right."""
    number = [column.startswith("#") for column in columns]
    head = "".join(
        _cell("th", escape(column.removeprefix("#")), right)
        for column, right in zip(columns, number, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(_cell("td", _text(value), n) for value, n in zip(row, number, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f"<div>{line(title, bold=True)}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{line(note)}</div>"
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
