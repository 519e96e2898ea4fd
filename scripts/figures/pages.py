"""Puts tables into pages, between two lines that name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scripts.figures.tables import TABLES
from scripts.generate.marks import between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.figures.kept import Measured

_END = "<!-- end of figures -->"
_BEGIN = re.compile(r"^<!-- figures: ([a-z-]+) -->$", re.MULTILINE)


def filled(name: str, page: str, figures: Mapping[str, Measured]) -> str:
    """The page of that name with each of its tables made anew.

    Raises:
        KeyError: the page names a table that there is not, or its benchmark was not measured.
        ValueError: a table has no line that ends it.
    """
    for table in names_in(page):
        begin = f"<!-- figures: {table} -->"
        page = between(name, page, begin, f"{TABLES[table](figures)}\n", _END)
    return page


def names_in(page: str) -> list[str]:
    """The tables that a page has."""
    return _BEGIN.findall(page)
