"""The tab State in a real browser, of an application that runs and in the history server."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from selenium.webdriver import Chrome

from bucketstate import jar_path
from tests.integration.applications import APPS, environment
from tests.kit.browser import browser, opened_online, programs, said
from tests.kit.cases import at_night

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "artifacts" / "tab"
_HISTORY = "org.apache.spark.deploy.history.HistoryServer"
_WIDE = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
_OPEN = "document.querySelectorAll('details').forEach(one => { one.open = true })"
_RECTS = """
  return [...document.querySelectorAll('svg[aria-label] rect')]
    .filter(rect => rect.getBoundingClientRect().width > 0).length"""

pytestmark = [at_night, pytest.mark.slow, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Application:
    """Where its pages are, while it runs and when it has ended."""

    live: str
    ended: str
    run: str
    other: str
    process: subprocess.Popen[str]

    def end(self) -> None:
        if self.process.poll() is None and self.process.stdin is not None:
            self.process.stdin.write("\n")
            self.process.stdin.close()
            self.process.wait(60)


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read(), "utf-8")


def _wait_for(url: str, text: str) -> None:
    until = time.monotonic() + 60
    page = "nothing"
    while text not in page:
        assert time.monotonic() < until, page
        time.sleep(1)
        with suppress(OSError):
            page = _read(url)


@contextmanager
def history_server(logs: Path, home: Path) -> Iterator[str]:
    """Spark's own, with this project's jar on its class path."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    (home / "store").mkdir()
    options = {
        "spark.history.fs.logDirectory": logs.as_uri(),
        # What the tab is made of goes through files.
        "spark.history.store.path": str(home / "store"),
        "spark.history.ui.port": str(port),
        "spark.history.fs.update.interval": "1s",
    }
    command = [
        "java",
        "-Xmx512m",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        *(f"-D{key}={value}" for key, value in options.items()),
        "-cp",
        os.pathsep.join([jars, str(jar_path())]),
        _HISTORY,
    ]
    with (home / "history.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    programs()
    folder = tmp_path_factory.mktemp("shown")
    command = [sys.executable, str(APPS / "shown.py"), str(folder)]
    with (folder / "stderr").open("w") as log:
        running = subprocess.Popen(
            command,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert running.stdout is not None
        lines = iter(running.stdout.readline, "")
        line = next((line for line in lines if line.startswith("ANSWER ")), None)
        assert line is not None, (folder / "stderr").read_text()
        answer: dict[str, Any] = json.loads(line.removeprefix("ANSWER "))
        with history_server(folder / "logs", folder) as history:
            found = Application(
                answer["web"],
                f"{history}/history/{answer['application']}",
                answer["run"],
                answer["other"],
                running,
            )
            yield found
            found.end()
    finally:
        running.kill()


def picture(driver: Chrome, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    version = ".".join(pyspark.__version__.split(".")[:2])
    # All of the page, also what is below the window.
    options = {"captureBeyondViewport": True, "format": "png"}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", options)
    (PICTURES / f"{name}-{version}.png").write_bytes(base64.b64decode(taken["data"]))


def look(driver: Chrome, base: str, application: Application, name: str) -> None:
    """Every page of the tab, by its links."""
    asked = opened_online(driver, f"{base}/State/")
    # Nothing from elsewhere.
    server = base.split("/history/")[0]
    assert [url for url in asked if not url.startswith((server, "data:"))] == []
    assert driver.find_element("css selector", "a.nav-link[href$='/State/']").text == "State"
    picture(driver, f"{name}-queries")
    links = {a.text: a for a in driver.find_elements("css selector", "table.bucketstate a")}
    assert set(links) == {"rides by <street>", "elsewhere"}
    links["rides by <street>"].click()
    assert f"run={application.run}" in driver.current_url
    body = driver.find_element("tag name", "body").text
    assert "State of rides by <street>" in body
    assert "One partition holds much more than the others" in body
    assert "A restart now" in body
    assert "Memory of each executor" in body
    assert "Partition" in body
    assert driver.execute_script(_RECTS) == 6 * 12
    assert driver.execute_script(_WIDE) is False
    picture(driver, f"{name}-query")
    driver.execute_script(_OPEN)
    assert len(driver.find_elements("css selector", "details[open] tbody tr")) > 12
    assert driver.execute_script(_WIDE) is False
    driver.get(f"{base}/State/query/?run={application.other}")
    body = driver.find_element("tag name", "body").text
    assert "its state is not in bucketstate" in body
    assert "Its provider tells no more than that." in body
    assert said(driver, "SEVERE") == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_tab_of_an_application_that_runs(application: Application, dark: bool) -> None:
    with browser(dark=dark, online=True) as driver:
        look(driver, application.live, application, "dark" if dark else "live")


def test_the_tab_in_the_history_server(application: Application) -> None:
    """The log is read while the application runs: what was logged last is there."""
    _wait_for(f"{application.ended}/State/", "rides by &lt;street&gt;")
    with browser(online=True) as driver:
        look(driver, application.ended, application, "history")


def test_the_tab_when_the_application_has_ended(application: Application) -> None:
    application.end()
    _wait_for(f"{application.ended}/State/", ">ended</td>")
    with browser(online=True) as driver:
        look(driver, application.ended, application, "ended")
