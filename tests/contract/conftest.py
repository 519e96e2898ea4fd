"""The site, which is built once for all that look at it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, where every warning is an error.

    The tool puts it where the configuration says, so it is built in a folder of its own.
    """
    base = tmp_path_factory.getbasetemp()
    # Of several workers of pytest each has a folder of its own in one that they share.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    site = folder / "artifacts" / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            shutil.copy(ROOT / "mkdocs.yml", folder)
            shutil.copytree(ROOT / "docs", folder / "docs")
            (folder / "python").symlink_to(ROOT / "python")
            command = [sys.executable, "-m", "zensical", "build", "--strict"]
            made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stderr
    assert site.exists(), "another worker could not build it, and says why"
    return site
