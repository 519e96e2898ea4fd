"""The README's table of settings, which lies between two marks."""

from __future__ import annotations

import re

from bucketstate.registry import Registry
from scripts.generate.markdown import default, row

BEGIN = "<!-- Made by `make generate` from the Scala registry: edits before the end are lost. -->"
END = "<!-- End of what `make generate` made. -->"


def with_settings(text: str, registry: Registry) -> str:
    """The README with the table as it is now. ValueError if the marks are not there, once each."""
    parts = re.split(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", text, flags=re.DOTALL)
    if len(parts) != 2:
        raise ValueError(f"README.md needs these two lines around its settings:\n{BEGIN}\n{END}")
    return f"\n{table(registry)}\n".join(parts)


def table(registry: Registry) -> str:
    rows = [row(f"`{s.name}`", default(s), s.doc) for s in registry.settings]
    return "".join([row("setting", "default", "meaning"), "|---|---|---|\n", *rows])
