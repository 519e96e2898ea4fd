"""Both places where copies of data files are, for tests that ask for each."""

from __future__ import annotations

import pytest

from bucketstate.checkpoint.format import runs


@pytest.fixture(params=["in memory", "on the disk"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tests are small: here they are read as those are, and as large ones are."""
    if request.param == "on the disk":
        monkeypatch.setattr(runs, "_SMALL", 0)
