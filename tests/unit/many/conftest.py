"""What holds for all tests of many keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bucketstate.stateful.many import documents


@pytest.fixture(scope="module", params=[documents._FEW, 0], ids=["by codec", "by Arrow"])
def few(request: pytest.FixtureRequest) -> Iterator[int]:
    """How many documents go one by one through their codec: the test's own are few."""
    before = documents._FEW
    documents._FEW = request.param
    yield request.param
    documents._FEW = before
