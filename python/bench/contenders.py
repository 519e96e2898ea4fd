"""One logic four times: by hand, and with `bucketstate.stateful` in the forms it offers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bucketstate.stateful import State

OUTPUT = "key long, count long, total double, largest double"
STATE = "count long, total double, largest double"


def by_hand(
    key: tuple[Any, ...], chunks: Iterator[pd.DataFrame], state: Any
) -> Iterator[pd.DataFrame]:
    count, total, largest = state.get if state.exists else (0, 0.0, 0.0)
    for chunk in chunks:
        amounts = chunk["amount"]
        count += len(amounts)
        total += float(amounts.sum())
        largest = max(largest, float(amounts.max()))
    state.update((count, total, largest))
    yield pd.DataFrame({"key": [key[0]], "count": [count], "total": [total], "largest": [largest]})


@dataclass
class Totals:
    count: int = 0
    total: float = 0.0
    largest: float = 0.0


@dataclass
class Line:
    key: int
    count: int
    total: float
    largest: float


@dataclass
class Payment:
    amount: float


def with_frames(key: Any, rows: pd.DataFrame, state: State[Totals]) -> pd.DataFrame:
    totals = add_frame(rows, state)
    return pd.DataFrame(
        {
            "key": [key.key],
            "count": [totals.count],
            "total": [totals.total],
            "largest": [totals.largest],
        }
    )


def with_dataclasses(key: Any, rows: pd.DataFrame, state: State[Totals]) -> Line:
    totals = add_frame(rows, state)
    return Line(key.key, totals.count, totals.total, totals.largest)


def with_records(key: Any, rows: list[Payment], state: State[Totals]) -> Line:
    totals = state.value
    totals.count += len(rows)
    totals.total += sum(r.amount for r in rows)
    totals.largest = max(totals.largest, *(r.amount for r in rows))
    return Line(key.key, totals.count, totals.total, totals.largest)


def add_frame(rows: pd.DataFrame, state: State[Totals]) -> Totals:
    totals = state.value
    amounts = rows["amount"]
    totals.count += len(amounts)
    totals.total += float(amounts.sum())
    totals.largest = max(totals.largest, float(amounts.max()))
    return totals
