"""Puts tables into pages, between two comments that name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from measured.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from measured.kept import Measured

_BLOCK = re.compile(r"<!-- figures: (?P<name>[a-z-]+) -->\n.*?<!-- end of figures -->", re.DOTALL)


def filled(page: str, figures: Mapping[str, Measured]) -> str:
    """The page with each of its tables made anew.

    Raises:
        KeyError: the page names a table that there is not, or its benchmark was not measured.
    """

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- figures: {name} -->\n\n{TABLES[name](figures)}\n\n<!-- end of figures -->"

    return _BLOCK.sub(block, page)


def names_in(page: str) -> list[str]:
    """The tables that a page has."""
    return [found["name"] for found in _BLOCK.finditer(page)]
