"""Every link of the pages leads to a file that is there, and to a heading that it has.

The page of where to look for what names files and suites of the provider: those are there, too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import anchor, without_code

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

INSIDE = ROOT / "docs" / "internals" / "index.md"

_FILE = re.compile(r"`([a-z/]+/[A-Z]\w+)`")
_SUITE = re.compile(r"`(\w+Suite)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`[^`]*`")
_NAMED = re.compile(r"\]\[([^\]\s]+)\]")
_NAME = re.compile(r"^\[([^\]\s]+)\]: \S+$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def broken(page: Path) -> list[str]:
    text = without_code(page.read_text(encoding="utf-8"))
    links = [link for link in _LINK.findall(text) if "://" not in link]
    unnamed = set(_NAMED.findall(_INLINE.sub("", text))) - set(_NAME.findall(text))
    return [*(link for link in links if not _leads(page, link)), *sorted(unnamed)]


def _leads(page: Path, link: str) -> bool:
    name, _, place = link.partition("#")
    target = (page.parent / name) if name else page
    return target.exists() and (not place or place in anchors(target))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    text = without_code(page.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in _HEADING.findall(text)}


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# On: `one`\n\n[a](#on-one) [b](#two) [c](page.md#on-one) [d](none.md)\n"
        "[e][f] [g][h]\n\n[f]: https://example.org\n"
    )
    assert broken(page) == ["#two", "none.md", "h"]


def test_every_file_that_is_named_as_a_place_to_look_is_there() -> None:
    text = INSIDE.read_text(encoding="utf-8")
    files = {
        path.relative_to(source / "io" / "bucketstate").with_suffix("").as_posix()
        for source in (ROOT / "scala" / "src" / "main").iterdir()
        for path in (source / "io" / "bucketstate").rglob("*.scala")
    }
    suites = {path.stem for path in (ROOT / "scala").rglob("*Suite.scala")}
    assert len(_FILE.findall(text)) > 50
    assert set(_FILE.findall(text)) - files == set()
    assert set(_SUITE.findall(text)) - suites == set()
