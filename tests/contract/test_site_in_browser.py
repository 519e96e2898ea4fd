"""The site's pages in a browser, on a screen and on a telephone; all of them at night."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.browser import browser, opened, resize, said
from tests.kit.cases import at_night

if TYPE_CHECKING:
    from selenium import webdriver

SCREEN, TELEPHONE = 1280, 390
FEW = ["index.html", "live/index.html", "nexmark/index.html"]
"""The first page, one with a long title and long lines of code, one of wide tables."""

_WIDER = """
const page = document.documentElement;
return page.scrollWidth - page.clientWidth;
"""


def wrong(driver: webdriver.Chrome, site: Path, pages: list[str]) -> list[str]:
    """What of these pages is wider than the window, or says something bad to the console."""
    found = []
    for width in (SCREEN, TELEPHONE):
        resize(driver, width)
        for page in pages:
            opened(driver, site / page)
            if (more := driver.execute_script(_WIDER)) > 0:
                found.append(f"{page}: {more} pixels wider than a window of {width}")
            found += [f"{page}: {message}" for message in said(driver, "SEVERE")]
    return found


def test_pages_fit_the_window_and_the_commands_are_on_the_first_screen(site: Path) -> None:
    with browser(width=SCREEN) as driver:
        opened(driver, site / "index.html")
        commands = driver.find_element("xpath", "//pre[contains(., 'make demo')]")
        assert "make test" in commands.text
        height = driver.execute_script("return window.innerHeight")
        assert height == 900
        assert commands.rect["y"] + commands.rect["height"] <= height
        assert wrong(driver, site, FEW) == []


@at_night
@pytest.mark.timeout(900)
def test_all_pages_fit_the_window_and_say_nothing_bad(site: Path) -> None:
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}
    # The page for what is not there has its addresses from a server's root on.
    assert len(pages - {"404.html"}) > 40
    with browser() as driver:
        assert wrong(driver, site, sorted(pages - {"404.html"})) == []


@at_night
def test_a_page_that_is_too_wide_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<div style='width: 500px'>wide</div><script>missing()</script>"
    )
    with browser() as driver:
        found = wrong(driver, tmp_path, ["page.html"])
    assert [line for line in found if "wider than a window of 390" in line]
    assert not [line for line in found if "wider than a window of 1280" in line]
    assert len([line for line in found if "missing is not defined" in line]) == 2
