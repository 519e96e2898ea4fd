"""The page that `make coverage` ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import coverage_page

CSV = """\
GROUP,PACKAGE,CLASS,INSTRUCTION_MISSED,INSTRUCTION_COVERED,LINE_MISSED,LINE_COVERED
bucketstate,io.bucketstate.table,FamilyTable,1,2,10,30
bucketstate,io.bucketstate.table,FamilyTable.Changes,1,2,5,0
bucketstate,io.bucketstate.table,Slots,1,2,0,5
bucketstate,io.bucketstate.store,OpenStore,1,2,1,99
"""


def test_rooms_are_added_up_and_the_worst_files_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scala.csv").write_text(CSV)
    files = {
        "python/src/bucketstate/cli/main.py": {"missing_lines": 1, "covered_lines": 1},
        "python/src/bucketstate/conf.py": {"missing_lines": 0, "covered_lines": 8},
    }
    summaries = {"files": {name: {"summary": counts} for name, counts in files.items()}}
    (tmp_path / "python.json").write_text(json.dumps(summaries))
    coverage_page.main(tmp_path)
    assert capsys.readouterr().out == f"{tmp_path / 'index.md'}\n"
    page = (tmp_path / "index.md").read_text()
    assert "## Scala: 89.3 % of 150 lines" in page
    assert "| io.bucketstate.table | 50 | 70.0 % |" in page
    assert "## Python: 90.0 % of 10 lines" in page
    assert "| bucketstate.cli | 2 | 50.0 % |" in page
    worst = page.split("Most lines that nothing runs:")[1]
    assert worst.index("| io.bucketstate.table FamilyTable | 45 | 15 |") < worst.index("OpenStore")
    assert "Slots" not in worst
