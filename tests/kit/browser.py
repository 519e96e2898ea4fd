"""A browser without a window, and without a network, from Debian's packages."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

REQUIRED = "BUCKETSTATE_BROWSER"
"""Set to `required`, a browser that is not there is a failure."""

_PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver"}
"""Debian's packages by their programs."""


def programs() -> dict[str, str]:
    """Where the programs are; the test is skipped, or fails, where they are not installed."""
    found = {name: shutil.which(name) for name in _PROGRAMS}
    missing = [package for name, package in _PROGRAMS.items() if found[name] is None]
    if missing:
        said = (
            f"There is no headless browser for this test: install {' and '.join(missing)}, as "
            f"Debian's packages are called (apt-get install {' '.join(missing)})."
        )
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(said)
        pytest.skip(said)
    return {name: path for name, path in found.items() if path is not None}


@contextmanager
def browser(
    *, width: int = 1280, dark: bool = False, online: bool = False
) -> Iterator[webdriver.Chrome]:
    """Chromium, which is cut off from every network before the first page.

    Args:
        online: whether it reaches servers of this machine by their numbers; names lead nowhere.
    """
    found = programs()
    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    # As root, and in containers with little shared memory.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    # Rules are for numbers, too.
    here = ", EXCLUDE 127.0.0.1" if online else ""
    options.add_argument(f"--host-resolver-rules=MAP * ~NOTFOUND{here}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # A driver that is named is not looked for, and nothing is downloaded.
    driver = webdriver.Chrome(options=options, service=Service(found["chromedriver"]))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        cut = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        if not online:
            driver.execute_cdp_cmd("Network.emulateNetworkConditions", cut)
        resize(driver, width)
        shade = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [shade]})
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int) -> None:
    """Makes the window so wide, and 900 pixels high."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def opened(driver: webdriver.Chrome, page: Path) -> list[str]:
    """Opens a page; the addresses of all that it asked for."""
    return opened_online(driver, page.absolute().as_uri())


def opened_online(driver: webdriver.Chrome, url: str) -> list[str]:
    """Opens what is at an address; the addresses of all that it asked for."""
    driver.get(url)
    events: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"]
        for entry in driver.get_log("performance")  # type: ignore[no-untyped-call]
    ]
    return [
        str(event["params"]["request"]["url"])
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def said(driver: webdriver.Chrome, *levels: str) -> list[str]:
    """What the browser's console has, of these levels or of all.

    `SEVERE` are errors, and files that are not there.
    """
    found = driver.get_log("browser")  # type: ignore[no-untyped-call]
    return [str(e["message"]) for e in found if not levels or e["level"] in levels]
