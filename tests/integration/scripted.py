"""A stateful function whose every step is told by the rows, to compare two ways of running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bucketstate.stateful import ListState, MapState, State, Timer, list_state, map_state

OPERATIONS = ("add", "peek", "skip", "replace", "clear", "remember", "forget", "timeout")
SCHEMA = "at timestamp, key string, seq long, op string, value long"


@dataclass
class Step:
    at: datetime
    key: str
    seq: int
    op: str
    value: int


@dataclass
class Memory:
    total: int = 0
    seen: list[int] = field(default_factory=list)
    recent: ListState[int] = list_state(ttl=timedelta(minutes=90), time="event")
    marks: MapState[str, int] = map_state(ttl=timedelta(minutes=30), time="event")


@dataclass
class Report:
    key: str
    why: str
    total: int | None
    seen: list[int]
    recent: list[int]
    marks: dict[str, int]
    watermark: datetime
    timeout: datetime | None


class Scripted:
    """Does what the rows say, in the order of `seq`, and reports what it sees."""

    def __init__(self, by_event: bool) -> None:
        self.by_event = by_event

    def handleInputRows(
        self, key: tuple[str], rows: list[Step], state: State[Memory]
    ) -> Iterator[Report]:
        yield self.report(key, "rows", state)
        for step in sorted(rows, key=lambda s: s.seq):
            self.do(step, state)
        yield self.report(key, "after", state)

    def handleExpiredTimer(
        self, key: tuple[str], _timer: Timer, state: State[Memory]
    ) -> Iterator[Report]:
        yield self.report(key, "timeout", state)
        if state.exists and state.value.total % 3 == 0:
            state.clear()

    def do(self, step: Step, state: State[Memory]) -> None:
        match step.op:
            case "add":
                state.value.total += step.value
                state.value.seen.append(step.value)
            case "peek":
                assert state.value.total is not None
            case "replace":
                state.update(Memory(total=step.value))
            case "clear":
                state.clear()
            case "remember":
                state.value.recent.appendValue(step.value)
                state.value.marks.updateValue(f"m{step.value % 3}", step.value)
            case "forget":
                state.value.marks.removeKey(f"m{step.value % 3}")
            case "timeout" if self.by_event:
                start = max(state.watermark, datetime(1970, 1, 2, tzinfo=UTC))
                state.timeout_at(start + timedelta(minutes=step.value))
            case "timeout":
                # Either over by the next batch, or never while a test runs.
                short = step.value % 2 == 0
                state.timeout_after(timedelta(milliseconds=1) if short else timedelta(hours=9))

    def report(self, key: tuple[str], why: str, state: State[Memory]) -> Report:
        held = state.value if state.exists else None
        return Report(
            key=key[0],
            why=why,
            total=None if held is None else held.total,
            seen=[] if held is None else held.seen,
            recent=[] if held is None else list(held.recent.get()),
            marks={} if held is None else dict(held.marks.iterator()),
            watermark=state.watermark,
            timeout=state.timeout,
        )
