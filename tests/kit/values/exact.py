"""Functions that tell what they got, for values that pandas has its own ways with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

from bucketstate.stateful import State
from tests.kit.stateful import Total

SCHEMA = "key string, id long, small int, many array<long>, exact boolean"
ROWS: list[dict[str, Any]] = [
    {"key": "a", "id": n, "small": s, "many": many, "exact": abs(n or 0) <= 2**53}
    for n, s, many in (
        (2**53 + 1, 1, [2**53 + 1, None]),
        (None, None, None),
        (2**53, 3, [None]),
        (2**63 - 1, None, []),
        (-5, 4, [2**63 - 1]),
    )
]


@dataclass
class Number:
    key: str
    id: int | None
    small: int | None
    many: list[int | None] | None


@dataclass
class Answer:
    key: str
    largest: int
    missing: int
    small: list[int | None]
    many: list[list[int | None] | None]


def answer(key: Any, rows: list[Number]) -> Answer:
    rows = sorted(rows, key=lambda r: (r.id is None, r.id or 0))
    assert all(r.small is None or type(r.small) is int for r in rows)
    ids = [r.id for r in rows if r.id is not None]
    assert all(type(n) is int for n in ids)
    return Answer(
        key.key, max(ids), len(rows) - len(ids), [r.small for r in rows], [r.many for r in rows]
    )


def of_records(key: Any, rows: list[Number], _state: State[Total]) -> Answer:
    return answer(key, rows)


def of_dicts(key: Any, rows: list[dict[str, Any]], _state: State[Total]) -> Answer:
    return answer(key, [Number(**{k: v for k, v in r.items() if k != "exact"}) for r in rows])


def of_frames(key: Any, rows: pd.DataFrame, _state: State[Total]) -> Answer:
    def whole(value: Any) -> int | None:
        return None if pd.isna(value) else int(value)

    return answer(
        key,
        [
            Number(key.key, whole(i), whole(s), None if m is None else [*m])
            for i, s, m in zip(rows["id"], rows["small"], rows["many"], strict=True)
        ],
    )


def apart(key: Any, rows: list[dict[str, Any]], state: State[Total]) -> dict[str, Any]:
    state.value.n += len(rows)
    return {"key": str(key.key), "n": len(rows), "total": state.value.n}


def in_chunks(
    key: Any, rows: Iterator[list[dict[str, Any]]], _state: State[Total]
) -> dict[str, Any]:
    return {"key": key.key, "sizes": [len(chunk) for chunk in rows]}


def in_windows(key: Any, rows: list[dict[str, Any]], state: State[Total]) -> dict[str, Any]:
    """Tells of a window when it is over."""
    state.value.n += len(rows)
    if rows:
        state.timeout_at(key.hour.end)
    return {"start": key.hour.start, "n": state.value.n, "over": not rows}


@dataclass
class End:
    key: str
    at: datetime | None
    wall: datetime | None


@dataclass
class Ending:
    key: str
    texts: list[str]


def ends(key: Any, pairs: list[Any]) -> Ending:
    return Ending(key.key, [str(v) for pair in pairs for v in pair if not pd.isna(v)])


def ends_of_dicts(key: Any, rows: list[dict[str, Any]], _state: State[Total]) -> Ending:
    return ends(key, [(r["at"], r["wall"]) for r in rows])


def ends_of_records(key: Any, rows: list[End], _state: State[Total]) -> Ending:
    return ends(key, [(r.at, r.wall) for r in rows])


def ends_of_frames(key: Any, rows: pd.DataFrame, _state: State[Total]) -> Ending:
    return ends(key, list(zip(rows["at"], rows["wall"], strict=True)))
