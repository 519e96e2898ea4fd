"""What the tests of several files begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bucketstate.testing import Harness
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = grown(tmp_path / "checkpoint")
    made.snapshot(2, 4)
    return made


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What is asked of stateful functions is asked on both ways that Spark calls them."""
    if metafunc.module.__name__.rpartition(".")[2].startswith(("test_stateful", "test_harness")):
        # What no test and no fixture asks for, pytest drops once parameters are known: see below.
        metafunc.fixturenames.append("many_keys")
        metafunc.parametrize(
            "many_keys", [True, False], ids=["many", "alone"], indirect=True, scope="module"
        )


@pytest.fixture(scope="module")
def many_keys(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether harnesses that do not say so call a function with many keys."""
    defaults = Harness.__init__.__kwdefaults__
    assert defaults is not None
    before = defaults["many_keys"]
    defaults["many_keys"] = request.param
    yield request.param
    defaults["many_keys"] = before


@pytest.fixture(autouse=True)
def _asked_on_either_way(request: pytest.FixtureRequest) -> None:
    """Asks for `many_keys` where a test has it as a parameter, and not as an argument."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "many_keys" in callspec.params:
        request.getfixturevalue("many_keys")
