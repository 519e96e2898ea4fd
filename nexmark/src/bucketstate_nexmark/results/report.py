"""A report: the runs that have ended, and what they ran on; written anew with each of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.runs.figures import Run, from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bucketstate_nexmark.runs.turns import Conditions


@dataclass(frozen=True)
class Report:
    conditions: dict[str, Any]
    """As `Conditions`, in JSON."""
    machine: dict[str, Any]
    version: str
    """What was run: the commit of the checkout."""
    date: str
    """The day on which the last run ended."""
    note: str | None
    """What a reader has to know of how the figures came about."""
    runs: tuple[Run, ...]

    def is_of(self, conditions: Conditions) -> bool:
        """Whether it is of this version and these conditions, on a machine like this one."""
        told = json.loads(json.dumps(asdict(conditions)))
        return (self.conditions, self.machine, self.version) == (told, machine(), version())

    @property
    def cores(self) -> int:
        return int(self.conditions["cores"])


def machine() -> dict[str, Any]:
    """What of this machine matters for figures."""
    import pyspark

    return {
        "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
    }


def version() -> str:
    """The commit of the checkout, and whether it was changed; else the version of the package."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8"]
    here = Path(__file__).parent
    try:
        return subprocess.run(
            command, cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return metadata.version("bucketstate")


def write(file: Path, conditions: Conditions, note: str | None, runs: Sequence[Run]) -> None:
    """Writes a report in one step: a reader sees the one before, or this one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "conditions": asdict(conditions),
        "machine": machine(),
        "version": version(),
        "date": date.today().isoformat(),
        "note": note,
        "runs": [run.to_json() for run in runs],
    }
    _replace(file, json.dumps(told, indent=1) + "\n")


def keep(found: Report, file: Path) -> None:
    """Writes a report as short as it can be, for a file that is kept under version control."""
    told = {name: of for name, of in vars(found).items() if name != "runs"}
    lines = ",\n".join(json.dumps(run.to_json(), separators=(",", ":")) for run in found.runs)
    head = json.dumps(told, indent=1)[:-2]
    _replace(file, f'{head},\n "runs": [\n{lines}\n]}}\n')


def _replace(file: Path, text: str) -> None:
    unfinished = file.with_name(f"{file.name}.unfinished")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(file)


def read(file: Path) -> Report:
    """The report in a file.

    Raises UsageError if there is none.
    """
    try:
        told = json.loads(file.read_text("utf-8"))
        runs = tuple(from_json(run) for run in told["runs"])
        names = ("conditions", "machine", "version", "date", "note")
        return Report(**{name: told[name] for name in names}, runs=runs)
    except OSError as e:
        raise UsageError(f"{file}: no report can be read there: {e.strerror}.") from e
    except (ValueError, KeyError, TypeError) as e:
        raise UsageError(f"{file}: this is no report of `python -m bucketstate_nexmark`.") from e
