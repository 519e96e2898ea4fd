"""The site, which is built once for all that look at it."""

from __future__ import annotations

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
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "python").symlink_to(ROOT / "python")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder / "artifacts" / "site"
