"""What of the Python package is public: the names that its modules have in `__all__`."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import griffe

import bucketstate

PACKAGE = Path(bucketstate.__file__).parent

COMMANDS = {"bucketstate.cli"}
"""Rooms that are used from the shell, not from Python: `--help` is their reference."""


def public_modules() -> list[str]:
    """The modules that say what is public, by their dotted names."""
    return sorted(
        name
        for file in PACKAGE.rglob("*.py")
        if _has_all(file) and (name := _module_of(file)) not in COMMANDS
    )


def public_names() -> list[str]:
    """Each name of each public module, as it is imported: `bucketstate.doctor.Advice`."""
    return [
        f"{module}.{name}" for module in public_modules() for name in import_module(module).__all__
    ]


@cache
def package() -> griffe.Object:
    """The package as it is written, none of it run."""
    loaded = griffe.load("bucketstate", search_paths=[PACKAGE.parent], resolve_aliases=True)
    assert isinstance(loaded, griffe.Object)
    return loaded


def _has_all(file: Path) -> bool:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _module_of(file: Path) -> str:
    path = file.relative_to(PACKAGE.parent)
    return ".".join((path.parent if path.name == "__init__.py" else path.with_suffix("")).parts)
