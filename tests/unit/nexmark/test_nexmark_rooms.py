"""The package of Nexmark: folders that can be looked over, and no circles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import bucketstate_nexmark
from scripts.rooms import MOST_FILES, circle, python_imports

PACKAGE = Path(bucketstate_nexmark.__file__).parent

MAY_USE = {
    "errors": set[str](),
    "events": set[str](),
    "queries": {"events"},
    "answers": {"events", "queries"},
    "runs": {"answers", "errors", "events", "queries"},
    "results": {"errors", "queries", "runs"},
    "options": {"errors", "queries"},
    "cli": {"errors", "events", "options", "queries", "results", "runs"},
    "__main__": {"cli"},
    "__init__": set[str](),
}
"""What of the package each part of it may import."""

IMPORTS = python_imports(PACKAGE)


def part(module: str) -> str:
    _, *names = module.split(".")
    return names[0] if names else "__init__"


def test_parts_import_only_what_they_may() -> None:
    assert {part(module) for module in IMPORTS} == set(MAY_USE)
    for module, named in IMPORTS.items():
        # A parent package is imported with each of its modules, and is empty.
        used = {part(to) for to in named} - {part(module), "__init__"}
        assert used <= MAY_USE[part(module)], module


def test_nothing_goes_in_a_circle() -> None:
    assert not circle(IMPORTS)


def test_a_folder_can_be_looked_over() -> None:
    folders = Counter(str(file.parent) for file in PACKAGE.rglob("*.py"))
    assert max(folders.values()) <= MOST_FILES
