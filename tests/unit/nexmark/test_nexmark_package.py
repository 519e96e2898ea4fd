"""The package of Nexmark, as it would be installed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def project(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))
    table: dict[str, Any] = found["project"]
    return table


def test_it_is_of_the_version_of_all() -> None:
    assert project("nexmark")["version"] == (ROOT / "VERSION").read_text("utf-8").strip()


def test_what_it_needs_of_bucketstate_there_is() -> None:
    (needed,) = [d for d in project("nexmark")["dependencies"] if d.startswith("bucketstate[")]
    extras = needed.partition("[")[2].rstrip("]").split(",")
    assert set(extras) <= set(project("python")["optional-dependencies"])
