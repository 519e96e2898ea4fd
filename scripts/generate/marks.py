"""Pages of which a part is made: it lies between two lines that say so."""

from __future__ import annotations

import re

END = "<!-- End of what `make generate` made. -->"


def between(page: str, text: str, begin: str, made: str, end: str = END) -> str:
    """The text with `made` between the lines `begin` and `end`.

    ValueError if they are not there, once each.
    """
    parts = re.split(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", text, flags=re.DOTALL)
    if len(parts) != 2:
        raise ValueError(f"{page} needs these two lines around what is made:\n{begin}\n{end}")
    return f"\n{made}\n".join(parts)
