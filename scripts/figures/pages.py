"""Puts tables into pages, between two lines that name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scripts.figures.tables import TABLES, versions
from scripts.generate.marks import between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.figures.kept import Measured

_VERSIONS = "versions"
_NOT_KEPT = "No report of this table is kept: it is of an earlier version."
_NOT_MEASURED = "No report of this table is kept: it was not measured yet."
_END = "<!-- end of figures -->"
_BEGIN = re.compile(r"^<!-- figures: ([a-z-]+) -->$", re.MULTILINE)


def filled(name: str, page: str, figures: Mapping[str, Measured]) -> str:
    """The page of that name with each of its tables made anew.

    A table of which a report is missing stays as it is, and says so.

    Raises:
        KeyError: the page names a table that there is not.
        ValueError: a table has no line that ends it.
    """
    for table in names_in(page):
        begin = f"<!-- figures: {table} -->"
        page = between(name, page, begin, f"{_made(table, page, begin, figures)}\n", _END)
    return page


def _made(table: str, page: str, begin: str, figures: Mapping[str, Measured]) -> str:
    if table == _VERSIONS:
        return versions(figures)
    if TABLES[table].is_kept(figures):
        return TABLES[table](figures)
    stands = page.split(f"{begin}\n")[1].split(_END)[0]
    stands = stands.replace(_NOT_KEPT, "").replace(_NOT_MEASURED, "").strip()
    return f"{stands}\n\n{_NOT_KEPT}" if stands else _NOT_MEASURED


def names_in(page: str) -> list[str]:
    """The tables that a page has."""
    return _BEGIN.findall(page)
