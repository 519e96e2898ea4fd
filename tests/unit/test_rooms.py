"""The Python rooms: what each may import of the project, and that nothing goes in a circle.

A room is a sub-package of `bucketstate`, or a module beside them. What a package has beside the
rooms in it (`checkpoint.format`) is a room called after the package: its door. Imports for the type
checker count as well: who needs another's types cannot be understood without it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import bucketstate
from scripts.rooms import MOST_FILES, circle, python_imports

PACKAGE = Path(bucketstate.__file__).parent

ROOMS: dict[str, set[str]] = {
    "__init__": {"config", "errors", "jar", "live", "release", "session"},
    "__main__": {"__init__", "cli", "interrupts"},
    "checkpoint": {
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "checkpoint.verify",
        "errors",
        "interrupts",
        "notebook",
        "optional",
        "release",
        "stateful.codec",
        "stateful.errors",
        "stateful.run",
        "units",
    },
    "checkpoint.format": {"errors", "interrupts", "optional", "waiting"},
    "checkpoint.spark": {"checkpoint.format", "config", "errors"},
    "checkpoint.store": {"checkpoint.format", "checkpoint.spark", "errors"},
    "checkpoint.verify": {
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "errors",
        "notebook",
        "units",
    },
    "cli": {
        "__init__",
        "checkpoint",
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "cli.terminal",
        "config",
        "doctor",
        "errors",
        "imports",
        "interrupts",
        "jar",
        "kinds",
        "move",
        "operations",
        "optional",
        "presets",
        "properties",
        "registry",
        "report",
        "scopes",
        "session",
        "sizing",
        "stateful",
        "units",
        "waiting",
    },
    "cli.terminal": {
        "checkpoint",
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "errors",
        "interrupts",
        "optional",
        "stateful",
        "units",
        "waiting",
    },
    "config": {"errors", "kinds", "notebook", "presets", "registry", "scopes", "settings"},
    "doctor": {"checkpoint", "errors", "progress"},
    "errors": set(),
    "imports": {"errors"},
    "interrupts": set(),
    "jar": {"errors"},
    "kinds": set(),
    "live": {
        "checkpoint",
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "errors",
    },
    "move": {
        "__init__",
        "checkpoint",
        "checkpoint.format",
        "checkpoint.spark",
        "checkpoint.store",
        "errors",
        "stateful.codec",
        "stateful.errors",
    },
    "notebook": {"errors"},
    "operations": {"errors", "registry"},
    "optional": {"errors"},
    "presets": set(),
    "progress": {"errors", "notebook", "optional"},
    "pytest_plugin": {"testing"},
    "properties": set(),
    "registry": {"errors", "kinds", "scopes"},
    "release": set(),
    "report": {
        "checkpoint",
        "checkpoint.format",
        "doctor",
        "errors",
        "optional",
        "progress",
        "units",
    },
    "scopes": set(),
    "session": {"config", "errors", "jar", "submission"},
    "settings": set(),
    "sizing": {"errors"},
    "stateful": {
        "optional",
        "stateful.codec",
        "stateful.errors",
        "stateful.many",
        "stateful.ready",
        "stateful.run",
    },
    "stateful.codec": {"optional", "stateful.errors"},
    "stateful.errors": {"errors"},
    "stateful.many": {"optional", "stateful.codec", "stateful.errors", "stateful.run"},
    "stateful.ready": {"optional", "stateful.codec", "stateful.errors", "stateful.run"},
    "stateful.run": {"config", "errors", "optional", "stateful.codec", "stateful.errors"},
    "submission": {"errors", "properties"},
    "testing": {
        "checkpoint",
        "checkpoint.spark",
        "config",
        "errors",
        "notebook",
        "optional",
        "session",
        "stateful",
        "stateful.codec",
        "stateful.errors",
        "stateful.many",
        "stateful.ready",
        "stateful.run",
    },
    "units": set(),
    "waiting": set(),
}
"""What of the project each room may import, besides itself."""


def room(module: str) -> str:
    """The parts behind `bucketstate.` that are a room; the package's own module has none."""
    _, *parts = module.split(".")
    inner = ".".join(parts[:2])
    return inner if inner in ROOMS else parts[0] if parts else "__init__"


def folders() -> dict[str, int]:
    """How many modules lie side by side in each folder."""
    return Counter(str(file.parent.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py"))


IMPORTS = python_imports(PACKAGE)


def test_every_room_is_listed() -> None:
    assert set(ROOMS) == {room(module) for module in IMPORTS}


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_only_what_it_may(name: str) -> None:
    found = {room(to) for module, named in IMPORTS.items() if room(module) == name for to in named}
    assert found - {name} <= ROOMS[name]


def test_a_folder_can_be_looked_over() -> None:
    assert not {folder: count for folder, count in folders().items() if count > MOST_FILES}


def test_every_folder_of_a_room_in_a_package_is_listed() -> None:
    inner = {str(file.parent.relative_to(PACKAGE)) for file in PACKAGE.glob("*/*/__init__.py")}
    assert {name.replace("/", ".") for name in inner} <= ROOMS.keys()


@pytest.mark.parametrize("graph", [ROOMS, IMPORTS], ids=["rooms", "modules"])
def test_nothing_goes_in_a_circle(graph: dict[str, set[str]]) -> None:
    assert not circle(graph)


def test_what_an_import_names_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("import json\nfrom p import b\nimport p.c\n")
    (package / "b.py").write_text("if TYPE_CHECKING:\n    from p.a import A\n")
    (package / "c.py").write_text("def late():\n    from p import NAME\n")
    assert python_imports(package) == {
        "p": set(),
        "p.a": {"p.b", "p.c"},
        "p.b": {"p.a"},
        "p.c": {"p"},
    }
