"""One progress of a query as the cells of a table's row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bucketstate.optional import pandas as pd

Progress = dict[str, Any]
"""One progress as Spark's JSON has it."""

PHASE = "phase_"
"""In front of the columns with the milliseconds of a batch's phases."""

_Known = TypeVar("_Known", bound=Mapping[str, Any])

_IDENTITY = ("id", "runId", "batchId", "timestamp")
"""What no two progresses have alike: a trigger without data has its batch's number, too."""

_STATE = {
    "state_rows": "numRowsTotal",
    "state_rows_updated": "numRowsUpdated",
    "state_rows_removed": "numRowsRemoved",
    "state_memory_bytes": "memoryUsedBytes",
    "state_updates_ms": "allUpdatesTimeMs",
    "state_removals_ms": "allRemovalsTimeMs",
    "state_commit_ms": "commitTimeMs",
}


def batch_row(progress: Progress) -> dict[str, Any]:
    """What `Recorder.to_pandas` has of one progress."""
    durations = dict(progress.get("durationMs", {}))
    row = {
        "name": progress.get("name"),
        "query_id": progress["id"],
        "run_id": progress["runId"],
        "batch": progress["batchId"],
        "at": pd.Timestamp(progress["timestamp"]),
        "input_rows": progress.get("numInputRows", 0),
        "watermark": _time(progress.get("eventTime", {}).get("watermark")),
        "batch_ms": durations.pop("triggerExecution", None),
    }
    phases = {f"{PHASE}{name}": time for name, time in durations.items()}
    return row | phases | state_cells(progress.get("stateOperators", []))


def distinct(progresses: Iterable[_Known]) -> tuple[list[_Known], list[str]]:
    """Each progress once, and a sentence about those that are left out, if there are any.

    A batch is given again by a recorder that was saved now and then, or by an event log beside it.
    """
    given = list(progresses)
    found: dict[tuple[str, ...], _Known] = {}
    for one in given:
        found.setdefault(tuple(str(one.get(name)) for name in _IDENTITY), one)
    again = len(given) - len(found)
    told = [f"{again:,} progresses that were given before are left out: each counts once."]
    return list(found.values()), told if again else []


def _time(text: str | None) -> pd.Timestamp | None:
    return None if text is None else pd.Timestamp(text)


def state_cells(operators: list[dict[str, Any]]) -> dict[str, Any]:
    """The state and the metrics of some operators, added up."""
    row = {name: sum(o.get(of, 0) for o in operators) for name, of in _STATE.items()}
    for operator in operators:
        for metric, value in operator.get("customMetrics", {}).items():
            row[metric] = row.get(metric, 0) + value
    return row
