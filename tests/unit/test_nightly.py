"""The page that `make nightly` ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import nightly

# In place of make: one step passes, another fails, each with the lines of a test runner.
MAKE = """#!/usr/bin/env bash
echo "make $*"
case $1 in
  engines) echo "[info] Tests: succeeded 3, failed 0"; echo "===== 7 passed in 3.00s =====" ;;
  sweep) echo "[info] - a | b *** FAILED ***"; echo "*** 1 TEST FAILED ***"; exit 3 ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make = tmp_path / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAKE", str(make))
    return tmp_path / "artifacts" / "nightly"


def test_every_step_runs_and_the_page_says_how_it_ended(folder: Path) -> None:
    assert nightly.main(["sweep", "engines"]) == 1
    page = (folder / "index.md").read_text()
    assert "Failed: sweep.\n" in page
    rows = [line for line in page.splitlines() if line.startswith("| [")]
    assert "| [sweep](sweep.log) | **failed**, exit code 3 |" in rows[0]
    assert "*** 1 TEST FAILED ***" in rows[0]
    assert "| passed |" in rows[1]
    assert "Tests: succeeded 3, failed 0<br>7 passed in 3.00s" in rows[1]
    assert (folder / "engines.log").read_text().startswith("make engines\n")


def test_without_names_all_steps_run_and_one_of_4_1_says_so(folder: Path) -> None:
    assert nightly.main([]) == 1
    assert "make conformance SPARK=4.1" in (folder / "conformance-4.1.log").read_text()
    page = (folder / "index.md").read_text()
    assert [name for name in nightly.STEPS if f"| [{name}](" in page] == list(nightly.STEPS)


def test_a_night_that_is_cut_short_has_a_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = nightly.run

    def interrupted(name: str, folder: Path, make: str) -> nightly.Step:
        if name == "sweep":
            raise KeyboardInterrupt
        return run(name, folder, make)

    monkeypatch.setattr(nightly, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nightly.main(["engines", "sweep"])
    page = (folder / "index.md").read_text()
    assert "Nothing failed. Still to come: sweep." in page


def test_a_step_that_there_is_none_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.main(["engine"]) == 2
    said = capsys.readouterr().err
    assert "There is no step engine, only: newest-scala oldest-scala engines" in said
    assert not folder.exists()
