"""The site is built without a warning, and its API reference has every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.public import PACKAGE, public_modules, public_names

ROOT = Path(__file__).resolve().parents[2]
_DUNDER = re.compile(r"__\w+__")


@pytest.fixture(scope="module")
def headings(site: Path) -> set[str]:
    """Anchors of the headings of the API reference."""
    pages = (site / "api").rglob("index.html")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return {anchor for text in texts for anchor in re.findall(r'<h\d id="([^"]+)"', text)}


def test_the_package_has_public_modules() -> None:
    assert PACKAGE == ROOT / "python" / "src" / "bucketstate"
    assert {"bucketstate", "bucketstate.checkpoint", "bucketstate.errors"} <= set(public_modules())


@pytest.mark.parametrize("module", public_modules())
def test_every_public_module_is_on_a_page(module: str) -> None:
    """If not: `::: module` in a file below docs/api, and that file in the nav of mkdocs.yml."""
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md")]
    found = [name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)]
    assert found.count(module) == 1


def test_every_public_name_is_in_the_reference(headings: set[str]) -> None:
    assert not set(public_names()) - headings


def test_nothing_private_is_in_the_reference(headings: set[str]) -> None:
    parts = {part for heading in headings for part in heading.split(".")}
    assert not {part for part in parts if part.startswith("_") and not _DUNDER.fullmatch(part)}


def test_fields_signatures_and_what_is_inherited_are_in_the_reference(site: Path) -> None:
    page = (site / "api" / "checkpoint" / "index.html").read_text(encoding="utf-8")
    assert 'id="bucketstate.checkpoint.Finding.severity"' in page
    # Of a base of Checkpoint's that is not public itself.
    assert 'id="bucketstate.checkpoint.Scan.to_arrow"' in page
    text = re.sub(r"<[^>]+>", "", page)
    assert re.search(r"def verify\(|verify\(\s*progress: Progress \| None = None", text)
    assert "Source code in" not in text


def test_nothing_is_fetched_from_elsewhere_when_a_page_is_read(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|link)\b[^>]*(?:src|href)="(https?:[^"]+)"', text)
        assert not fetched, page
