"""The Python rooms that import one way only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bucketstate

PACKAGE = Path(bucketstate.__file__).parent

ALLOWED = {
    "stateful": {"stateful", "errors"},
    "testing": {"testing", "stateful", "session"},
}


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    files = list((PACKAGE / room).glob("*.py"))
    assert files
    found = {name for file in files for name in rooms_imported(file)}
    assert found <= ALLOWED[room]


def rooms_imported(file: Path) -> set[str]:
    """The first name below `bucketstate` of each import."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {m.split(".")[1] for m in modules if m.startswith("bucketstate.")}
