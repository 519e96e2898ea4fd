"""All that is made from the registry and from docstrings: which file, and what is to be in it."""

from __future__ import annotations

from pathlib import Path

from bucketstate.registry import parse_registry
from scripts.generate import errors, fields, preset, reference


def outputs(root: Path) -> dict[Path, str]:
    """The whole text of each file: of the `settings.json` below the project's folder, and of the
    errors of the package that is imported.
    """
    package = root / "python" / "src" / "bucketstate"
    registry = parse_registry((package / "settings.json").read_text(encoding="utf-8"))
    of_errors = root / "docs" / "errors.md"
    return {
        package / "settings.py": fields.module(registry),
        root / "conf" / "spark-defaults.conf": preset.properties(registry),
        root / "docs" / "configuration.md": reference.page(registry),
        of_errors: errors.with_errors(of_errors.read_text(encoding="utf-8")),
    }
