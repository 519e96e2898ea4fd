"""What the pages have in common."""

from __future__ import annotations

from bucketstate.registry import Setting


def default(setting: Setting) -> str:
    """What is without a value of one's own: nothing, for a setting that is many keys."""
    return "none" if setting.default == () else f"`{setting.default}`"


def row(*cells: str) -> str:
    """A row of a table, with its end of line."""
    # A bar would end the cell, also within backquotes.
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"
