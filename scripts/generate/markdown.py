"""What the pages have in common."""

from __future__ import annotations


def row(*cells: str) -> str:
    """A row of a table, with its end of line."""
    # A bar would end the cell, also within backquotes.
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"
