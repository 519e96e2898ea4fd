"""The page about a checkpoint in a real browser that has no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from bucketstate.checkpoint import Checkpoint
from bucketstate.report import write_report
from tests.kit.browser import REQUIRED, browser, opened, programs, said
from tests.kit.checkpoints import Built
from tests.kit.pages import Page
from tests.unit.checkpoint.test_state import grown
from tests.unit.test_report import batches

pytestmark = pytest.mark.slow

_DRAWN = """
  return [...arguments[0].querySelectorAll(
    '.barlayer .point path, .scatterlayer .trace path, .heatmaplayer image'
  )].filter(drawn => drawn.getBoundingClientRect().width > 0).length"""
_HOVERED = "return [...arguments[0].querySelectorAll('.hoverlayer text')].map(t => t.textContent)"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    made = grown(tmp_path_factory.mktemp("report") / "<b>state<b>")
    made.snapshot(2, 4)
    return made


@pytest.fixture(scope="module")
def page(built: Built) -> Path:
    programs()
    reported = batches(20, bucketedColdReads=3, bucketedRunBytes=700)
    return write_report(built.root, built.root.parent / "report.html", progress=reported).output


@pytest.fixture(scope="module")
def driver(page: Path) -> Iterator[Chrome]:
    with browser() as found:
        asked = opened(found, page)
        # Heat maps are pictures that the page has made itself.
        assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
        yield found


def figures(driver: Chrome) -> dict[str, WebElement]:
    found = driver.find_elements("tag name", "figure")
    return {figure.find_element("tag name", "h3").text: figure for figure in found}


def hovered(driver: Chrome, figure: WebElement, right: float = 0, down: float = 0) -> str:
    """What is told where the mouse stands: parts of the plot's width and height off its middle."""
    plot = figure.find_element("css selector", ".nsewdrag")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    size = plot.size
    at = ActionChains(driver, duration=0).move_to_element(figure.find_element("tag name", "h3"))
    at.move_to_element_with_offset(plot, round(right * size["width"]), round(down * size["height"]))
    at.perform()

    def told(_: Chrome) -> str:
        return "\n".join(driver.execute_script(_HOVERED, figure))

    return WebDriverWait(driver, 20).until(told)


def test_every_chart_is_drawn_and_nothing_is_said_against_it(driver: Chrome, page: Path) -> None:
    found = figures(driver)
    assert set(found) == set(Page(page).charts)
    assert found
    for title, figure in found.items():
        assert driver.execute_script(_DRAWN, figure) > 0, title
    assert said(driver) == []


def test_a_hover_over_each_chart_tells_something(driver: Chrome) -> None:
    for title, figure in figures(driver).items():
        assert hovered(driver, figure).strip(), title


def test_a_hover_tells_the_numbers(driver: Chrome, built: Built) -> None:
    found = figures(driver)
    keys = [len(built.states[6][partition]) for partition in range(2)]
    # Of two partitions, one has its bar in each half.
    left = hovered(driver, found["Keys per partition"], -0.25)
    assert left.splitlines() == ["partition 0", f"default: {keys[0]} keys"]
    right = hovered(driver, found["Keys per partition"], 0.25)
    assert right.splitlines() == ["partition 1", f"default: {keys[1]} keys"]
    rows = Checkpoint(built.root).scan(partition=1).keys_per_bucket().to_pylist()
    # Eight columns, two rows: the sixth from the left, the upper one.
    cell = hovered(driver, found["Keys per bucket"], 5.5 / 8 - 0.5, -0.25)
    assert cell == f"partition 1, bucket 5: {rows[5]['keys']} keys"
    time = hovered(driver, found["Batch time by phase"], -0.49)
    assert time.splitlines() == ["2026-03-01 00:00:00", "addBatch: 900 ms"]
    written = hovered(driver, found["Bytes written"], 0.49)
    assert written.splitlines()[1:] == ["changelogs: 500 B", "snapshots: 700 B"]


def test_what_looks_like_markup_is_text(driver: Chrome) -> None:
    assert driver.find_element("tag name", "h1").text == "<b>state<b>"


@pytest.mark.parametrize("dark", [False, True])
def test_narrow_screens_and_dark_ones(page: Path, dark: bool) -> None:
    with browser(width=360, dark=dark) as driver:
        opened(driver, page)
        width = "const of = document.documentElement; return [of.scrollWidth, of.clientWidth]"
        whole, seen = driver.execute_script(width)
        assert whole == seen <= 360
        lightness = """
          const colour = getComputedStyle(arguments[0])[arguments[1]];
          return Math.max(...colour.match(/[0-9]+/g).slice(0, 3).map(Number))"""
        ground = driver.execute_script(
            lightness, driver.find_element("tag name", "body"), "backgroundColor"
        )
        tick = driver.find_element("css selector", ".xtick text")
        text = driver.execute_script(lightness, tick, "fill")
        assert (ground < text) == dark
        assert said(driver) == []


def test_a_browser_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium chromium-driver"):
        programs()
    monkeypatch.setenv(REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match="install chromium and chromium-driver"):
        programs()
