"""Some of the faults of `make chaos`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos.run import AT_A_TIME, chaos
from tests.kit.cases import at_night

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 5
SEED = 534
"""Draws one fault of five kinds, for two queries without Python; of the moves one is killed."""


@at_night
@pytest.mark.timeout(600)
def test_queries_on_machines_that_die_answer_as_the_model(tmp_path: Path) -> None:
    tally = chaos(tmp_path.resolve(), KILLS, SEED, print)
    assert not tally.wrong, tally.text()
    assert tally.kills == KILLS
    assert len(tally.batches) == tally.moves["moved"] == AT_A_TIME
    # Each checkpoint, and what it was moved to.
    assert tally.verified == 2 * AT_A_TIME
    assert min(tally.batches.values()) > 1
    assert tally.answers.total() >= tally.batches.total()
