"""A stateful function with parts and timers whose every step is told by the rows, for both
operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from bucketstate.stateful import ListState, MapState, State, Timer, ValueState
from bucketstate.stateful import list_state as list_with
from bucketstate.stateful import map_state as map_with
from bucketstate.stateful import value_state as value_with
from tests.kit.values.typed import Colour, Level, Typed, UserId

SHORT = timedelta(milliseconds=1)
"""Over by the next batch."""
NO_PRICE = Decimal(0)
LONG = timedelta(hours=9)
"""Never over while a test runs."""


SCHEMA = "at timestamp, key string, seq long, op string, value long"


@dataclass
class Step:
    at: datetime
    key: str | None
    seq: int
    op: str
    value: int


@dataclass
class Point:
    x: int
    at: datetime | None = None
    size: Decimal = Decimal("0.5")


@dataclass
class ByEvent:
    total: int = 0
    seen: list[int] = field(default_factory=list)
    last: ValueState[Point] = field(default_factory=ValueState)
    log: ListState[Point] = field(default_factory=ListState)
    brief: ListState[int] = field(default_factory=ListState)
    marks: MapState[str, Point] = field(default_factory=MapState)
    dated: MapState[datetime, int] = field(default_factory=MapState)
    typed: Typed = field(default_factory=Typed)
    by_id: MapState[UUID, tuple[int, Colour]] = field(default_factory=MapState)


@dataclass
class ByClock(ByEvent):
    last: ValueState[Point] = value_with(ttl=LONG)
    brief: ListState[int] = list_with(ttl=SHORT)
    marks: MapState[str, Point] = map_with(ttl=SHORT)
    dated: MapState[datetime, int] = map_with(ttl=LONG)


@dataclass
class Report:
    key: str | None
    why: str
    exists: bool
    total: int | None
    seen: list[int]
    parts: str
    timers: str
    timeout: datetime | None
    fired: str | None
    now: datetime
    watermark: datetime
    colour: Colour | None = None
    level: Level | None = None
    literal: Literal["a", "b"] | None = None
    ids: set[UUID] = field(default_factory=set)
    pair: tuple[int, str] = (0, "")
    many: tuple[int, ...] = ()
    price: Annotated[Decimal, (10, 2)] = NO_PRICE
    user: UserId | None = None
    at: datetime | None = None


OPERATIONS = (
    *("add", "peek", "skip", "replace", "update", "clear", "rewrite", "keep"),
    *("last", "forget_last", "log", "logs", "put_log", "wipe_log", "brief", "iterate"),
    *("mark", "unmark", "wipe_marks", "date"),
    *("named", "timer", "delete_named", "delete", "timeout"),
    *("type", "tag", "pair", "identify", "forget_id"),
)


class Scripted:
    """Does what the rows say, in the order of `seq`, and reports what it sees."""

    def __init__(self, by_event: bool) -> None:
        self.by_event = by_event
        self.state = ByEvent if by_event else ByClock

    def handleInputRows(self, key: Any, rows: list[Step], state: State[Any]) -> Iterator[Report]:
        yield self.report(key, "rows", state)
        for step in sorted(rows, key=lambda s: s.seq):
            getattr(self, step.op)(step.value, step, state)
        yield self.report(key, "after", state)

    def handleExpiredTimer(self, key: Any, timer: Timer, state: State[Any]) -> Iterator[Report]:
        assert timer == state.expired_timer
        yield self.report(key, "timer", state)
        if state.exists and state.value.total % 3 == 0:
            state.clear()
        elif timer.name == "n1":
            state.value.log.appendValue(Point(-1))
            self.named(61, None, state)

    def report(self, key: Any, why: str, state: State[Any]) -> Report:
        held = state.value if state.exists else None
        return Report(
            key=key.key,
            why=why,
            exists=state.exists,
            total=None if held is None else held.total,
            seen=[] if held is None else held.seen,
            parts="" if held is None else self.parts(held),
            timers=str([(t.name, t.at, t.getExpiryTimeInMs()) for t in state.listTimers()]),
            timeout=state.timeout,
            fired=None if state.expired_timer is None else str(state.expired_timer),
            now=state.now,
            watermark=state.watermark,
            **({} if held is None else self.typed(held)),
        )

    def typed(self, held: ByEvent) -> dict[str, Any]:
        made = held.typed
        assert {type(v) for v in made.levels} <= {Level}
        return {
            "colour": made.colour,
            "level": made.level,
            "literal": made.literal,
            "ids": {made.id, *held.by_id.keys()},
            "pair": made.pair,
            "many": made.many,
            "price": made.price,
            "user": made.user,
            "at": made.at,
        }

    def parts(self, held: ByEvent) -> str:
        """Maps are sorted: the order of their entries is nobody's to say."""
        assert held.log.exists() == (len(held.log) > 0)
        assert [*held.marks.keys()] == [k for k, _ in held.marks.iterator()]
        assert len(held.marks) == len([*held.marks.values()])
        return repr(
            (
                held.last.exists(),
                held.last.get(),
                [*held.log.get()],
                [*held.brief.get()],
                sorted(held.marks.iterator(), key=lambda entry: entry[0]),
                sorted(held.dated.iterator()),
                sorted((str(k), v) for k, v in held.by_id.iterator()),
                (sorted(held.typed.tags), held.typed.note, sorted(held.typed.levels)),
                sorted((k.value, n) for k, n in held.typed.by_colour.items()),
                (held.typed.by_user, held.typed.rate),
                (held.marks.containsKey("m1"), held.marks.getValue("m1"), len(held.dated)),
            )
        )

    def later(self, value: int, state: State[Any]) -> datetime:
        """By event time some minutes on; by the clock over by the next batch, or never."""
        if self.by_event:
            return max(state.watermark, datetime(1970, 1, 2, tzinfo=UTC)) + timedelta(minutes=value)
        return state.now + (SHORT * (1 + value % 3) if value % 2 else LONG + value * SHORT)

    def add(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.total += value
        state.value.seen.append(value)

    def peek(self, _value: int, _step: Step, state: State[Any]) -> None:
        assert state.value.total is not None

    def skip(self, _value: int, _step: Step, _state: State[Any]) -> None: ...

    def replace(self, value: int, _step: Step, state: State[Any]) -> None:
        made = self.state(total=value)
        made.log.appendList([Point(value), Point(value + 1)])
        made.marks.updateValue("new", Point(value))
        state.update(made)

    def update(self, value: int, _step: Step, state: State[Any]) -> None:
        fresh = vars(self.state())
        state.update({**fresh, "total": value, "log": state.value.log})

    def clear(self, _value: int, _step: Step, state: State[Any]) -> None:
        state.clear()

    def rewrite(self, value: int, _step: Step, state: State[Any]) -> None:
        """What is written after a clear is all there is."""
        before = state.value
        before.log.appendValue(Point(value))
        state.clear()
        if value % 2:
            state.value.brief.appendValue(value)

    def keep(self, value: int, _step: Step, state: State[Any]) -> None:
        before = state.value
        state.clear()
        before.total += value
        state.update(before)

    def last(self, value: int, step: Step, state: State[Any]) -> None:
        state.value.last.update(Point(value, step.at, Decimal(value) / 4))

    def forget_last(self, _value: int, _step: Step, state: State[Any]) -> None:
        state.value.last.clear()

    def log(self, value: int, step: Step, state: State[Any]) -> None:
        state.value.log.appendValue(Point(value, step.at))

    def logs(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.log.appendList([Point(n) for n in range(value % 4)])

    def put_log(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.log.put(Point(n, None) for n in range(value % 3))

    def wipe_log(self, _value: int, _step: Step, state: State[Any]) -> None:
        state.value.log.clear()

    def brief(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.brief.appendValue(value)

    def mark(self, value: int, step: Step, state: State[Any]) -> None:
        state.value.marks.updateValue(f"m{value % 3}", Point(value, step.at))

    def unmark(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.marks.removeKey(f"m{value % 3}")

    def wipe_marks(self, _value: int, _step: Step, state: State[Any]) -> None:
        state.value.marks.clear()

    def date(self, value: int, step: Step, state: State[Any]) -> None:
        hour = step.at.replace(minute=0, second=0, microsecond=0)
        state.value.dated.updateValue(hour, (state.value.dated.getValue(hour) or 0) + value)

    def type(self, value: int, step: Step, state: State[Any]) -> None:
        held = state.value.typed
        held.colour = (Colour.RED, Colour.GREEN)[value % 2]
        held.level = (Level.LOW, Level.HIGH)[value % 2]
        held.literal = ("a", "b")[value % 2]
        held.id = UUID(int=value)
        held.user = UserId(value)
        held.price = Decimal(value).scaleb(-2)
        held.rate = Decimal(value).scaleb(-4)
        held.at = step.at.replace(tzinfo=timezone(timedelta(hours=value % 3)))

    def tag(self, value: int, _step: Step, state: State[Any]) -> None:
        held = state.value.typed
        held.tags ^= {f"t{value % 5}", f"t{value % 7}"}
        held.levels |= {Level.HIGH}
        held.note = "x" if value % 2 else None

    def pair(self, value: int, _step: Step, state: State[Any]) -> None:
        held = state.value.typed
        held.pair = (held.pair[0] + value, f"p{value}")
        held.many = (*held.many, value)[-3:]
        held.by_colour[held.colour] = value
        held.by_user[UserId(value % 4)] = str(value)

    def identify(self, value: int, _step: Step, state: State[Any]) -> None:
        colour = (Colour.RED, Colour.GREEN)[value % 2]
        state.value.by_id.updateValue(UUID(int=value % 5), (value, colour))

    def forget_id(self, value: int, _step: Step, state: State[Any]) -> None:
        state.value.by_id.removeKey(UUID(int=value % 5))

    def iterate(self, _value: int, _step: Step, state: State[Any]) -> None:
        """An iterator goes on with what there was when it was made."""
        for point in state.value.log.get():
            state.value.log.appendValue(Point(point.x + 1000))
            if len(state.value.log) > 8:
                state.value.log.put([point])

    def named(self, value: int, _step: Any, state: State[Any]) -> None:
        state.registerTimer(self.later(value, state), name=f"n{value % 3}")

    def timer(self, value: int, _step: Step, state: State[Any]) -> None:
        state.registerTimer(self.later(value, state))

    def delete_named(self, value: int, _step: Step, state: State[Any]) -> None:
        state.deleteTimer(f"n{value % 3}")

    def delete(self, _value: int, _step: Step, state: State[Any]) -> None:
        for timer in state.listTimers():
            state.deleteTimer(timer.at)

    def timeout(self, value: int, _step: Step, state: State[Any]) -> None:
        if self.by_event:
            state.timeout_at(self.later(value, state))
        else:
            state.timeout_after(self.later(value, state) - state.now)
