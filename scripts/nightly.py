"""Runs all that is too long for a change, one after the other, and writes one page of results.

`make nightly` runs every step, `make nightly NIGHT="engines sweep"` those. A step that fails does
not stop the others. The page, `artifacts/nightly/index.md`, is written anew after each step, so
that a night that is cut short has one, too; the log of each step lies beside it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

STEPS: Mapping[str, Sequence[str]] = {
    "newest-scala": ["newest-scala"],
    "oldest-scala": ["oldest-scala"],
    "engines": ["engines"],
    "conformance": ["conformance"],
    "conformance-4.1": ["conformance", "SPARK=4.1"],
    "conformance-4.0": ["conformance", "SPARK=4.0"],
    "conformance-short": ["conformance-short"],
    "sweep": ["sweep"],
    "moves": ["moves"],
    "queries": ["queries"],
    "demo-move": ["demo-move"],
    "tab": ["tab"],
    "hdfs": ["hdfs"],
    "chaos": ["chaos"],
    "soak": ["soak"],
    "outside-links": ["outside-links"],
    "coverage": ["coverage"],
    "bench": ["bench"],
}
"""What `make` is asked for, by the name of the step, in this order."""

PAGE = "index.md"

_CLOSING = re.compile(r"Tests: succeeded.*|=+ .*(?:passed|failed|error).* =+|\*\*\* .*FAILED.*")


class Step(NamedTuple):
    """One step that has ended."""

    name: str
    status: int
    seconds: float
    closing: Sequence[str]
    """Closing lines of its test runners, and the tests that failed."""


def run(name: str, folder: Path, make: str) -> Step:
    """Runs one step, with what it prints in `<name>.log`."""
    log = folder / f"{name}.log"
    start = time.monotonic()
    with log.open("wb") as out:
        status = subprocess.call([make, *STEPS[name]], stdout=out, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - start
    return Step(name, status, seconds, closing_lines(log.read_text("utf-8", "replace")))


def closing_lines(log: str) -> list[str]:
    """Those lines of a log that say how its test runners ended; none if there were none."""
    return [found.group().strip("= ") for found in _CLOSING.finditer(log)]


def page(steps: Sequence[Step], left: Sequence[str]) -> str:
    """The page of results, in Markdown. `left` are the steps that have not ended yet."""
    failed = [step.name for step in steps if step.status != 0]
    verdict = f"Failed: {', '.join(failed)}." if failed else "Nothing failed."
    lines = [
        "# The long checks",
        "",
        verdict + (f" Still to come: {', '.join(left)}." if left else ""),
        "",
        "| step | result | minutes | closing lines |",
        "|---|---|---|---|",
    ]
    for step in steps:
        result = "passed" if step.status == 0 else f"**failed**, exit code {step.status}"
        said = "<br>".join(line.replace("|", "\\|") for line in step.closing) or "-"
        lines.append(
            f"| [{step.name}]({step.name}.log) | {result} | {step.seconds / 60:.1f} | {said} |"
        )
    return "\n".join(lines) + "\n"


def main(names: Sequence[str]) -> int:
    """The exit code: 0 if all passed, 1 if one failed, 2 for a step that there is none of."""
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        known = " ".join(STEPS)
        print(f"There is no step {', '.join(unknown)}, only: {known}", file=sys.stderr)
        return 2
    todo = list(names or STEPS)
    folder = Path("artifacts/nightly")
    folder.mkdir(parents=True, exist_ok=True)
    steps: list[Step] = []
    while todo:
        print(f"{todo[0]}...", flush=True)
        step = run(todo[0], folder, os.environ.get("MAKE", "make"))
        steps.append(step)
        todo.pop(0)
        (folder / PAGE).write_text(page(steps, todo), "utf-8")
        result = "passed" if step.status == 0 else "failed"
        print(f"{step.name} {result} after {step.seconds / 60:.1f} minutes", flush=True)
    print(folder / PAGE)
    return 1 if any(step.status for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
