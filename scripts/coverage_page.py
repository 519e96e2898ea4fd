"""Writes the page that `make coverage` ends with: lines that tests run, by room, of both languages.

Each room is a package. Below the tables stand the files with the most lines that no test runs: they
are what to look at.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MOST_FILES = 25
"""Files that are listed for a language."""


class Lines(NamedTuple):
    """Lines of one source file."""

    room: str
    file: str
    missed: int
    covered: int


def of_scala(report: Path) -> list[Lines]:
    """What JaCoCo's CSV says, in which a line is a class: nested ones count with the outer one."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    with report.open(newline="") as rows:
        for row in csv.DictReader(rows):
            name = row["CLASS"].split(".")[0].split("(")[0].rstrip()
            of = sums[row["PACKAGE"], name]
            of[0] += int(row["LINE_MISSED"])
            of[1] += int(row["LINE_COVERED"])
    return [Lines(room, name, *counts) for (room, name), counts in sums.items()]


def of_python(report: Path) -> list[Lines]:
    """What coverage.py's JSON says."""
    found = []
    for name, file in json.loads(report.read_text())["files"].items():
        path = Path(name)
        room = ".".join(path.parts[path.parts.index("bucketstate") : -1])
        summary = file["summary"]
        found.append(Lines(room, path.name, summary["missing_lines"], summary["covered_lines"]))
    return found


def page(scala: Sequence[Lines], python: Sequence[Lines]) -> str:
    """The page, in Markdown."""
    parts = ["# Lines that tests run", ""]
    for language, files in (("Scala", scala), ("Python", python)):
        parts += _language(language, files)
    return "\n".join(parts)


def _language(name: str, files: Sequence[Lines]) -> list[str]:
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        rooms[file.room][0] += file.missed
        rooms[file.room][1] += file.covered
    missed = sum(m for m, _ in rooms.values())
    covered = sum(c for _, c in rooms.values())
    lines = [f"## {name}: {_percent(missed, covered)} of {missed + covered:,} lines", ""]
    lines += ["| room | lines | run |", "|---|---|---|"]
    lines += [
        f"| {room} | {m + c:,} | {_percent(m, c)} |" for room, (m, c) in sorted(rooms.items())
    ]
    lines += [
        "",
        "Most lines that nothing runs:",
        "",
        "| file | of lines | not run |",
        "|---|---|---|",
    ]
    worst = sorted(files, key=lambda f: -f.missed)[:MOST_FILES]
    lines += [
        f"| {f.room} {f.file} | {f.missed + f.covered:,} | {f.missed:,} |"
        for f in worst
        if f.missed
    ]
    return [*lines, ""]


def _percent(missed: int, covered: int) -> str:
    return f"{100 * covered / max(1, missed + covered):.1f} %"


def main(folder: Path) -> None:
    """Reads `scala.csv` and `python.json` in a folder, and writes `index.md` beside them."""
    target = folder / "index.md"
    target.write_text(page(of_scala(folder / "scala.csv"), of_python(folder / "python.json")))
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
