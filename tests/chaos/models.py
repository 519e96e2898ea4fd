"""What each query has to answer, by plain dicts: the model that every answer is held to.

A model is given the events of one batch after the other, and gives the batch's rows, sorted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from tests.chaos.queries import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.chaos.events import Event

Rows = list[list[Any]]


class Model(Protocol):
    def batch(self, left: Sequence[Event], right: Sequence[Event]) -> Rows: ...


@dataclass
class Aggregation:
    values: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def batch(self, left: Sequence[Event], right: Sequence[Event]) -> Rows:  # noqa: ARG002
        for event in left:
            self.values[event.key].append(event.value)
        touched = {event.key: self.values[event.key] for event in left}
        return sorted([key, len(of), sum(of), max(of)] for key, of in touched.items())


@dataclass
class Dedup:
    """No event comes again when its watermark has passed, so that all may be remembered."""

    seen: set[int] = field(default_factory=set)

    def batch(self, left: Sequence[Event], right: Sequence[Event]) -> Rows:  # noqa: ARG002
        new = {event.id: event for event in left if event.id not in self.seen}
        self.seen |= new.keys()
        return sorted([event.id, event.key, event.value] for event in new.values())


@dataclass
class Join:
    """Matches of a batch: those of which one side came with it."""

    left: list[Event] = field(default_factory=list)
    right: list[Event] = field(default_factory=list)

    def batch(self, left: Sequence[Event], right: Sequence[Event]) -> Rows:
        found = [[a.id, b.id] for a in left for b in [*self.right, *right] if _near(a, b)]
        found += [[a.id, b.id] for a in self.left for b in right if _near(a, b)]
        self.left += left
        self.right += right
        return sorted(found)


def _near(left: Event, right: Event) -> bool:
    return left.key == right.key and left.at <= right.at <= left.at + timedelta(minutes=20)


@dataclass
class Following:
    ids: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    sums: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def batch(self, left: Sequence[Event], right: Sequence[Event]) -> Rows:  # noqa: ARG002
        touched = sorted({event.key for event in left})
        for key in touched:
            self.ids[key] += sorted(event.id for event in left if event.key == key)
            self.sums[key] += sum(event.value for event in left if event.key == key)
        return [
            [k, len(self.ids[k]), self.sums[k], json.dumps(self.ids[k][-LATEST:])] for k in touched
        ]


MODELS: dict[str, Callable[[], Model]] = {
    "aggregation": Aggregation,
    "dedup": Dedup,
    "join": Join,
    "applyInPandasWithState": Following,
    "many keys": Following,
    "transformWithState": Following,
}
