"""What the tests of several files begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = grown(tmp_path / "checkpoint")
    made.snapshot(2, 4)
    return made
