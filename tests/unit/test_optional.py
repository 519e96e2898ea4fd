"""Libraries that only some parts need: the others work without, and these say what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def without(library: str, code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process in which a library is not installed."""
    # What is None there is not found when it is imported.
    blocked = f"import sys; sys.modules[{library!r}] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("library", ["google_crc32c", "rocksdict", "xxhash"])
def test_only_reading_a_checkpoint_takes_its_libraries(library: str) -> None:
    modules = "bucketstate, bucketstate.progress, bucketstate.stateful, bucketstate.testing"
    run = without(library, f"import {modules}; import bucketstate.cli")
    assert run.returncode == 0, run.stderr
    run = without(library, "from bucketstate.cli import main; sys.exit(main(['verify', 'x']))")
    assert run.returncode == 1
    name = library.replace("_", "-")
    assert run.stderr == (
        f"bucketstate: Reading a checkpoint needs {name}, which is not installed: "
        "pip install 'bucketstate[cli]'.\n"
    )
    run = without(library, "import bucketstate.checkpoint")
    assert "bucketstate.errors.MissingLibraryError: Reading a checkpoint needs" in run.stderr


def test_only_completion_takes_shtab() -> None:
    code = "from bucketstate.cli import main; sys.exit(main(['completion', 'bash']))"
    run = without("shtab", code)
    assert run.returncode == 1
    assert "needs shtab, which is not installed: pip install 'bucketstate[cli]'" in run.stderr


def test_only_a_picture_takes_matplotlib() -> None:
    code = "from tests.unit.test_progress import recorded; recorded().plot()"
    run = without("matplotlib", code)
    assert run.stderr.strip().endswith(
        "MissingLibraryError: A picture of a query's progress needs matplotlib, which is not "
        "installed: pip install matplotlib."
    )


def test_only_a_report_takes_plotly() -> None:
    run = without("plotly", "import bucketstate.report, bucketstate.cli")
    assert run.returncode == 0, run.stderr
    code = "from bucketstate.cli import main; sys.exit(main(['report', 'x', '-o', 'y.html']))"
    run = without("plotly", code)
    assert run.returncode == 1
    assert run.stderr.strip() == (
        "bucketstate: A report needs plotly, which is not installed: "
        "pip install 'bucketstate[cli]'."
    )
