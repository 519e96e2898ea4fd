"""Pages of the documentation: their headings, their commands, and their Python, which is run."""

from __future__ import annotations

import re
import shlex
import sys
import types
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"

_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def without_code(text: str) -> str:
    """The page without its blocks of code, in which `#` begins no heading."""
    return _CODE.sub("", text)


def section(text: str, title: str) -> str:
    """What stands below a heading of the second level."""
    _, found, behind = text.partition(f"\n## {title}\n")
    assert found, title
    return behind.partition("\n## ")[0]


def anchor(heading: str) -> str:
    """The anchor of a heading, as mkdocs and GitHub both make it."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def blocks(text: str) -> list[tuple[int, str]]:
    """Each Python block, with the number of lines before it."""
    return [(text[: m.start(1)].count("\n"), m[1]) for m in _BLOCK.finditer(text)]


def commands(text: str) -> list[list[str]]:
    """The arguments of each command in the shell's blocks."""
    lines = [line for block in _SHELL.findall(text) for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines]


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
