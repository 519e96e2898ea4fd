"""Both ways to read data files, for tests that ask for each."""

from __future__ import annotations

import pytest

from bucketstate.checkpoint.format import runs


@pytest.fixture(params=["in memory", "with RocksDB"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tests are small: here they are read as those are, and as large ones are."""
    if request.param == "with RocksDB":
        monkeypatch.setattr(runs, "_SMALL", 0)
