"""What is handed to Spark after a call: one update where something changed, else nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.streaming.state import GroupState

from bucketstate.stateful import State
from bucketstate.stateful.codec.document import state_codec
from bucketstate.stateful.codec.kept import SCHEMA
from bucketstate.stateful.run.slots import GroupSlot

NOW = 1_700_000_000_000
SOON = NOW + 60_000
TEXT = '{"n":3,"tags":["a"]}'


@dataclass
class Total:
    n: int = 0
    tags: list[str] = field(default_factory=list)


def after(stored: Any, step: Any) -> GroupState:
    """The group's state as Spark gets it back after `step`."""
    group = GroupState(
        optionalValue=stored,
        batchProcessingTimeMs=NOW,
        eventTimeWatermarkMs=-1,
        timeoutConf="ProcessingTimeTimeout",
        hasTimedOut=False,
        watermarkPresent=False,
        defined=stored is not None,
        updated=False,
        removed=False,
        timeoutTimestamp=-1,
        keyAsUnsafe=b"",
        valueSchema=SCHEMA,
    )
    slot = GroupSlot(group)
    state: State[Total] = State(state_codec(Total, UTC), slot, "key", "processing", UTC)
    step(state)
    state.finish()
    slot.flush(by_event=False)
    return group


def nothing(_state: State[Total]) -> None: ...


def look(state: State[Total]) -> None:
    assert state.value.n == 3


def back_and_forth(state: State[Total]) -> None:
    state.value.tags.append("b")
    state.value.tags.pop()


def same_value(state: State[Total]) -> None:
    state.update(Total(3, ["a"]))


def same_timeout(state: State[Total]) -> None:
    state.timeout_after(timedelta(minutes=1))


def only_a_timeout(state: State[Total]) -> None:
    state.clear()
    same_timeout(state)


@pytest.mark.parametrize(
    ("stored", "step"),
    [
        ((1, -1, TEXT), nothing),
        ((1, -1, TEXT), look),
        ((1, -1, TEXT), back_and_forth),
        ((1, -1, TEXT), same_value),
        ((1, SOON, TEXT), same_timeout),
        ((1, SOON, None), same_timeout),
        (None, nothing),
        (None, lambda s: s.value),
        (None, lambda s: s.clear()),
    ],
)
def test_an_unchanged_state_is_not_written(stored: Any, step: Any) -> None:
    group = after(stored, step)
    assert (group._updated, group._removed, group._timeout_timestamp) == (False, False, -1)


@pytest.mark.parametrize(
    ("stored", "step", "written", "timeout"),
    [
        ((1, -1, TEXT), lambda s: s.value.tags.clear(), (1, -1, '{"n":3,"tags":[]}'), -1),
        ((1, -1, TEXT), same_timeout, (1, SOON, TEXT), SOON),
        ((1, SOON, TEXT), nothing, (1, -1, TEXT), -1),
        ((1, -1, TEXT), only_a_timeout, (1, SOON, None), SOON),
        (None, lambda s: s.update(Total()), (1, -1, '{"n":0,"tags":[]}'), -1),
    ],
)
def test_a_change_is_written_with_the_timeout_in_force(
    stored: Any, step: Any, written: Any, timeout: int
) -> None:
    group = after(stored, step)
    assert group._updated
    assert (group.getOption, group._timeout_timestamp) == (written, timeout)


@pytest.mark.parametrize(
    ("stored", "step"),
    [((1, SOON, TEXT), lambda s: s.clear()), ((1, SOON, None), nothing)],
)
def test_what_leaves_neither_state_nor_timeout_is_removed(stored: Any, step: Any) -> None:
    group = after(stored, step)
    assert group._removed
    assert group._timeout_timestamp == -1


def test_the_timeout_in_force_is_shown() -> None:
    seen: list[Any] = []
    after((1, SOON, TEXT), lambda s: seen.append(s.timeout))
    after((1, -1, TEXT), lambda s: seen.append(s.timeout))
    assert seen == [datetime.fromtimestamp(SOON / 1000, UTC), None]
