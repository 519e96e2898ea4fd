"""Counts what a stranger meets in the folders of both languages, and says where it is too much.

A room is a folder of Scala files, or a sub-package of `bucketstate`. Scala imports are written in
full, and what is in another package cannot be used without one: so they are the arrows between
rooms. (Between the files of a room there are none to read; `RoomsSuite` finds circles of files in
the compiled classes.)
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

MOST_FILES = 21
"""Files that a folder may hold; one more, and it asks for a noun."""

MOST_IMPORTERS = 23
"""Scala files outside of `table` that may know it: whoever wants a record finds it in `record`."""

SCALA = Path("scala/src/main")
PYTHON = Path("python/src/bucketstate")
OWN = "io.bucketstate"

_IMPORT = re.compile(r"^import (io\.bucketstate[\w.]*)\.(?:\{|\w+)", re.MULTILINE)
_PACKAGE = re.compile(r"^package ([\w.]+)", re.MULTILINE)


class Room(NamedTuple):
    """What is in a folder."""

    files: int
    lines: int
    largest: str


def folders(root: Path, suffix: str) -> dict[str, Room]:
    """Each folder below `root` that has files of a suffix, by its path below `root`."""
    found: dict[str, list[Path]] = {}
    for file in sorted(root.rglob(f"*{suffix}")):
        found.setdefault(str(file.parent.relative_to(root)), []).append(file)
    return {folder: _room(files) for folder, files in sorted(found.items())}


def _room(files: list[Path]) -> Room:
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    most = max(files, key=lambda file: lines[file])
    return Room(len(files), sum(lines.values()), f"{most.stem} {lines[most]}")


def scala_imports(root: Path) -> dict[Path, tuple[str, set[str]]]:
    """Of each Scala file its package, and the packages of the project that it imports from."""
    files = {file: file.read_text(encoding="utf-8") for file in sorted(root.rglob("*.scala"))}
    packages = {file: _package(text) for file, text in files.items()}
    known = set(packages.values())
    return {
        file: (packages[file], {_of(named, known) for named in _IMPORT.findall(text)})
        for file, text in files.items()
    }


def _package(text: str) -> str:
    found = _PACKAGE.search(text)
    return found.group(1) if found else ""


def _of(named: str, known: set[str]) -> str:
    """The package of what is imported from an object, too."""
    while named not in known and "." in named:
        named = named.rpartition(".")[0]
    return named


def python_imports(package: Path) -> dict[str, set[str]]:
    """Of each module, the modules of the same package that it names in an import.

    Python runs the packages around a module first; that they are imported, too, is not counted.
    """
    known = _modules(package)
    return {module: _named(file, known) - {module} for module, file in known.items()}


def _modules(package: Path) -> dict[str, Path]:
    """The modules below a package, by their dotted name; a package is called after its folder."""
    found = {}
    for file in package.rglob("*.py"):
        path = file.relative_to(package.parent)
        folder = path.parent if path.name == "__init__.py" else path.with_suffix("")
        found[".".join(folder.parts)] = file
    return found


def _named(file: Path, known: dict[str, Path]) -> set[str]:
    named = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written in full"
            # `from package import name` means a module of that name, if there is one.
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            named |= {name if name in known else node.module for name in inside}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
    return {name for name in named if name in known}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The nodes of a circle, each before what it uses; none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def arrows(files: dict[Path, tuple[str, set[str]]]) -> dict[str, Counter[str]]:
    """Of each room, how many of its files use each other room."""
    found: dict[str, Counter[str]] = {package: Counter() for package, _ in files.values()}
    for package, imported in files.values():
        found[package].update(imported - {package})
    return found


def importers_of(room: str, files: dict[Path, tuple[str, set[str]]]) -> list[Path]:
    """The files outside of a room that use it, or a room inside it."""
    return [
        file
        for file, (package, imported) in files.items()
        if not _is_within(package, room) and any(_is_within(named, room) for named in imported)
    ]


def _is_within(package: str, room: str) -> bool:
    return package == room or package.startswith(f"{room}.")


def too_much(sizes: dict[str, Room], importers: int, rooms: dict[str, set[str]]) -> list[str]:
    """One sentence for each thing that is more than it may be."""
    found = [
        f"{folder}: {room.files} files, at most {MOST_FILES}"
        for folder, room in sizes.items()
        if room.files > MOST_FILES
    ]
    if importers > MOST_IMPORTERS:
        found.append(f"{importers} files outside of table import it, at most {MOST_IMPORTERS}")
    around = circle(rooms)
    if around:
        found.append(f"a circle of rooms: {' -> '.join(around)}")
    return found


def _short(package: str) -> str:
    return package.removeprefix(OWN).lstrip(".").replace(".", "/") or "(doors)"


def main() -> int:
    """Prints the rooms of both languages; fails where there is too much."""
    files = scala_imports(SCALA)
    rooms = arrows(files)
    scala, python = folders(SCALA, ".scala"), folders(PYTHON, ".py")
    importers = importers_of(f"{OWN}.table", files)
    for title, sizes in (("Scala", scala), ("Python", python)):
        print(f"{title}: files, lines, largest")
        for folder, room in sizes.items():
            print(f"  {folder:<58} {room.files:3} {room.lines:6}  {room.largest}")
    print("Scala rooms, and how many of their files use which others")
    for package, used in sorted(rooms.items()):
        line = ", ".join(f"{_short(other)} {n}" for other, n in sorted(used.items()))
        print(f"  {_short(package):<22} {line or '-'}")
    print(f"Files outside of table that import it: {len(importers)}")
    wrong = too_much({**scala, **python}, len(importers), {r: set(u) for r, u in rooms.items()})
    print("\n".join(f"Too much: {what}" for what in wrong) or "Nothing is too much.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
