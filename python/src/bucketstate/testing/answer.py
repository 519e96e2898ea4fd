"""What a batch puts out."""

from __future__ import annotations

from typing import Any

from bucketstate.notebook import MOST, table


class Answer(list[dict[str, Any]]):
    """Output rows: a list of dicts, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(name for row in self for name in row))
        rows = [[row.get(name) for name in columns] for row in self[:MOST]]
        more = f"... more than these {MOST}" if len(self) > MOST else ""
        return table(f"{len(self)} rows", columns, rows, more)
