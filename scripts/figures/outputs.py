"""All that is made of the figures: which file, and what is to be in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from scripts.figures import pages, picture
from scripts.figures.constants import constants

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scripts.figures.constants import Constant
    from scripts.figures.kept import Measured

FIGURES = "docs/measured.json"
"""Where they are kept, below the project's folder."""
SIZING = "python/src/bucketstate/sizing.py"
RULES = "python/src/bucketstate/doctor/rules.json"
PAGES = (
    "README.md",
    "docs/measurements.md",
    "docs/stateful.md",
    "docs/object-stores.md",
    "docs/reliability.md",
    "docs/live.md",
)
_OF_RESTART = {
    "seconds": "RESTART_SECONDS",
    "secondsPerKey": "RESTART_SECONDS_PER_KEY",
    "secondsPerUpdate": "RESTART_SECONDS_PER_UPDATE",
}


def outputs(root: Path, figures: Mapping[str, Measured]) -> dict[Path, str]:
    """The whole text of each file below the project's folder."""
    made = {root / page: pages.filled(page, (root / page).read_text(), figures) for page in PAGES}
    made[root / "docs/assets/batches.svg"] = picture.batches(figures["providers"])
    known = constants(figures)
    for name, written in {SIZING: _sizing, RULES: _rules}.items():
        made[root / name] = written((root / name).read_text(), known)
    return made


def _sizing(text: str, known: list[Constant]) -> str:
    """The module with the constants that the figures give."""
    for constant in known:
        line = f"{constant.name} = {constant.written}"
        text = _one_line(SIZING, text, rf"^{constant.name} = .*$", line)
    return text


def _rules(text: str, known: list[Constant]) -> str:
    """The doctor's rules with the times of a restart, which Spark's web UI shows, too."""
    values = {constant.name: constant.value for constant in known}
    restart = {key: values[name] for key, name in _OF_RESTART.items()}
    return _one_line(RULES, text, r'^  "restart": .*$', f'  "restart": {json.dumps(restart)},')


def _one_line(file: str, text: str, pattern: str, line: str) -> str:
    found, times = re.subn(pattern, line, text, flags=re.MULTILINE)
    if times != 1:
        raise ValueError(f"{file} has {times} lines like {pattern}: one is wanted")
    return found
