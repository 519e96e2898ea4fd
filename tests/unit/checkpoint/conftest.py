"""All places where data files are read, for tests that ask for each."""

from __future__ import annotations

import pytest

from bucketstate.checkpoint.format import runs
from bucketstate.checkpoint.format.sst.opened import Opened


@pytest.fixture(params=["in memory", "where it lies", "copied to the disk"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tests are small and local: here they are read as large and far ones are, too."""
    if request.param != "in memory":
        monkeypatch.setattr(runs, "_SMALL", 0)
    if request.param == "copied to the disk":
        monkeypatch.setattr(runs.Runs.__init__, "__kwdefaults__", {"databases": Opened(100)})
