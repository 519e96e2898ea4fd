"""Runs the Python blocks of a page of the documentation."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """Each Python block, with the number of lines before it."""
    return [(text[: m.start(1)].count("\n"), m[1]) for m in _BLOCK.finditer(text)]


def run_blocks(page: str) -> types.ModuleType:
    """The page as a module: its blocks run top to bottom, under the page's own line numbers."""
    path = DOCS / page
    # Dataclasses look their module up by name.
    module = types.ModuleType(f"docs_{path.stem}")
    sys.modules[module.__name__] = module
    try:
        for lines, code in blocks(path.read_text(encoding="utf-8")):
            source = "\n" * lines + code
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module
