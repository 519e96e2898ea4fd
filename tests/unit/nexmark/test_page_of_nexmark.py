"""The figures of docs/nexmark.md are those of the report that is kept beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bucketstate_nexmark.cli import KEPT
from bucketstate_nexmark.results import page, report

PAGE = Path(__file__).resolve().parents[3] / "docs" / "nexmark.md"

WITHOUT_REPORT = "baa9a88f19c98d945813faa4f5c57240cb14e0f0dfb8c43469521742dabde0aa"
"""The tables of the one run whose report was not kept: as they stand they may stay, and no others
may come without one."""


def test_the_tables_are_those_of_the_report() -> None:
    """If not: `python -m bucketstate_nexmark --report ... --page docs/nexmark.md`."""
    there, kept = page.between(PAGE), PAGE.with_name(KEPT)
    if hashlib.sha256(there.encode()).hexdigest() != WITHOUT_REPORT:
        assert kept.exists(), f"The tables of {PAGE.name} are of a report that is not {KEPT}"
        assert there == page.tables(report.read(kept))
    else:
        assert not kept.exists(), f"{PAGE.name} does not show what {KEPT} has"
