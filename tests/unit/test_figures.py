"""Figures that a page repeats are those of the section that it names as their source.

A table whose last column is `from` links each row to a section; `the same` is that of the row
above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bucketstate.registry import registry
from tests.docs import DOCS, anchor, without_code

PAGES = ["what-it-costs.md", "which-setting.md"]

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_LINK = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
_TABLE = re.compile(r"(?:^\|[^\n]*\n)+", re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_SETTING = re.compile(r"`([a-z]\w*(?:\.\w+)+|engine|numBuckets)`")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: the head and the rows."""
    for table in _TABLE.findall(text):
        head, _, *rows = [cells(line) for line in table.splitlines()]
        yield [head, *rows]


def section(page: Path, name: str) -> str:
    """The section with this anchor, and those below it."""
    text = without_code(page.read_text(encoding="utf-8"))
    found = [(m.start(), len(m[1]), anchor(m[2])) for m in _HEADING.finditer(text)]
    ((start, depth),) = [(start, depth) for start, depth, is_ in found if is_ == name]
    ends = [at for at, level, _ in found if at > start and level <= depth]
    return text[start : ends[0] if ends else None]


def repeated(text: str) -> Iterator[tuple[Path, str, list[str]]]:
    """The figures of each row that says where they are from: file, heading, numbers."""
    for (*_, last), *rows in tables(text):
        source = None
        for _, *values, named in rows if last == "from" else []:
            source = _LINK.search(named) or source
            assert source, f"No source: {named}"
            assert _LINK.search(named) or named == "the same", named
            yield DOCS / source[1], source[2], _NUMBER.findall(" ".join(values))


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_in_the_section_that_it_is_from(page: str) -> None:
    """If not: the measurement was made anew, and this page has to follow it."""
    found = list(repeated((DOCS / page).read_text(encoding="utf-8")))
    assert found
    missing = [
        f"{number} is not in {source.name}#{name}"
        for source, name, numbers in found
        for number in numbers
        if number not in _NUMBER.findall(section(source, name))
    ]
    assert missing == []


def test_every_setting_of_the_page_is_one() -> None:
    text = (DOCS / "which-setting.md").read_text(encoding="utf-8")
    named = {name for name in _SETTING.findall(text) if not name.startswith(("spark.", "stateful"))}
    known = {setting.name for setting in registry().settings}
    assert {"engine", "memory.maxBytes", "timeBucket.expireAfter"} <= named
    assert named - known - {"window.end"} == set()
