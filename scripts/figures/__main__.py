"""Keeps what the benchmarks found, and writes it into the pages: no figure there is typed by hand.

python -m scripts.figures --reports artifacts/bench
python -m scripts.figures
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from scripts.figures import kept
from scripts.figures.outputs import FIGURES, outputs
from scripts.figures.tables import busy, differing

_ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument(
        "--reports", type=Path, help="a folder of reports whose figures replace those of before"
    )
    asked.add_argument("--version", help="what was measured, if it is not this checkout's commit")
    options = asked.parse_args()
    figures = kept.read(_ROOT / FIGURES)
    if options.reports is not None:
        version = options.version or _git("describe", "--always", "--dirty", "--abbrev=8")
        if not options.version and (older := _before_commit(options.reports)):
            sys.exit(
                f"{', '.join(older)}: made before this commit, so of another version. Run them "
                "again, or name what was measured with --version."
            )
        found = kept.taken(options.reports, version)
        if not found:
            sys.exit(f"{options.reports} has no report that a table is made of: make bench")
        figures |= found
        kept.write(_ROOT / FIGURES, figures)
        print(f"{', '.join(found)}: kept in {FIGURES}, as of {version}")
    for path, text in outputs(_ROOT, figures).items():
        path.write_text(text)
    for warned in (busy(figures), differing(figures)):
        if warned is not None:
            print(f"Warning: {warned}", file=sys.stderr)


def _before_commit(folder: Path) -> list[str]:
    """The reports that cannot be of this commit."""
    made = int(_git("log", "-1", "--format=%ct"))
    return [n for n, file in kept.reports_in(folder).items() if file.stat().st_mtime < made]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=_ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
