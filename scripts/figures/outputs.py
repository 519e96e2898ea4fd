"""All that is made of the figures: which file, and what is to be in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.figures import pages, picture

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scripts.figures.kept import Measured

FIGURES = "docs/measured.json"
"""Where they are kept, below the project's folder."""
PAGES = ("README.md", "docs/measurements.md")


def outputs(root: Path, figures: Mapping[str, Measured]) -> dict[Path, str]:
    """The whole text of each file below the project's folder."""
    made = {root / page: pages.filled(page, (root / page).read_text(), figures) for page in PAGES}
    return made | {root / "docs/assets/batches.svg": picture.batches(figures["providers"])}
