"""Both places where data files are looked into, for tests that ask for each."""

from __future__ import annotations

import pytest

from bucketstate.checkpoint.format import runs


@pytest.fixture(params=["in memory", "by RocksDB"])
def each_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tests are small: here they are looked into as those, and as large ones are."""
    if request.param == "by RocksDB":
        monkeypatch.setattr(runs, "_SMALL", 0)
