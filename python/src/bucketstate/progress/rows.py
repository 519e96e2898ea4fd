"""One progress of a query as the cells of a table's row."""

from __future__ import annotations

from typing import Any

from bucketstate.optional import pandas as pd

Progress = dict[str, Any]
"""One progress as Spark's JSON has it."""

PHASE = "phase_"
"""In front of the columns with the milliseconds of a batch's phases."""

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


def _time(text: str | None) -> pd.Timestamp | None:
    return None if text is None else pd.Timestamp(text)


def state_cells(operators: list[dict[str, Any]]) -> dict[str, Any]:
    """The state and the metrics of some operators, added up."""
    row = {name: sum(o.get(of, 0) for o in operators) for name, of in _STATE.items()}
    for operator in operators:
        for metric, value in operator.get("customMetrics", {}).items():
            row[metric] = row.get(metric, 0) + value
    return row
