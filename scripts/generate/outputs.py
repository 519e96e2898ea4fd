"""All that is made from the registry: which file, and what is to be in it."""

from __future__ import annotations

from pathlib import Path

from bucketstate.registry import parse_registry
from scripts.generate import fields, preset, readme, reference


def outputs(root: Path) -> dict[Path, str]:
    """The whole text of each file, made from the `settings.json` below the project's folder."""
    package = root / "python" / "src" / "bucketstate"
    registry = parse_registry((package / "settings.json").read_text(encoding="utf-8"))
    page = root / "README.md"
    return {
        package / "settings.py": fields.module(registry),
        root / "conf" / "spark-defaults.conf": preset.properties(registry),
        root / "docs" / "configuration.md": reference.page(registry),
        page: readme.with_settings(page.read_text(encoding="utf-8"), registry),
    }
