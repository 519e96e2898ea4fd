"""The file that figures are kept in between a run of benchmarks and the pages."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING

from scripts.figures.reports import READERS, others_share, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.figures.reports import Row


@dataclass(frozen=True)
class Measured:
    """Figures of one benchmark, with the version that they are of.

    `others` is the most that other processes took of the processors meanwhile, 0 to 1; None where
    the benchmark does not look.
    """

    version: str
    date: str
    others: float | None
    rows: list[Row]

    def of(self, **wanted: str | int) -> list[Row]:
        """The rows that have these values."""
        return [row for row in self.rows if all(row[key] == wanted[key] for key in wanted)]

    def one(self, **wanted: str | int) -> Row | None:
        """The row that has these values, if there is one."""
        return next(iter(self.of(**wanted)), None)


def read(file: Path) -> dict[str, Measured]:
    """By the benchmark's name; nothing where there is no file yet."""
    if not file.exists():
        return {}
    return {name: Measured(**found) for name, found in json.loads(file.read_text()).items()}


def write(file: Path, figures: dict[str, Measured]) -> None:
    kept = {name: asdict(figures[name]) for name in sorted(figures)}
    file.write_text(json.dumps(kept, indent=1) + "\n")


def taken(folder: Path, version: str) -> dict[str, Measured]:
    """What the reports in a folder say, of the benchmarks that a table is made of.

    Each is of the day on which its file was written.
    """
    found = {}
    for name, file in reports_in(folder).items():
        report = json.loads(file.read_text())
        rows = [{k: _rounded(v) for k, v in row.items()} for row in rows_of(name, report)]
        day = date.fromtimestamp(file.stat().st_mtime).isoformat()
        found[name] = Measured(version, day, others_share(report), rows)
    return found


def reports_in(folder: Path) -> dict[str, Path]:
    """The reports that a table is made of, by the benchmark's name."""
    files = {name: folder / f"{name}.json" for name in READERS}
    return {name: file for name, file in files.items() if file.exists()}


def _rounded(value: str | float) -> str | int | float:
    """To four digits: what is behind them is noise, and a difference in git."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
