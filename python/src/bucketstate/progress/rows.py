"""One progress of a query as the cells of a table's row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, TypeVar

from bucketstate.optional import pandas as pd

Progress = dict[str, Any]
"""One progress as Spark's JSON has it."""

PHASE = "phase_"
"""In front of the columns with the milliseconds of a batch's phases."""

LAG = "bucketedSnapshotLag"

_Known = TypeVar("_Known", bound=Mapping[str, Any])

_IDENTITY = ("id", "runId", "batchId", "timestamp")
"""What no two progresses have alike: a trigger without data has its batch's number, too."""

_FAR = 2**63
"""Spark's numbers are below it: they are Java's longs."""

_FIVE_DIGITS = re.compile(r"\+[0-9]{5,}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\.[0-9]{3}Z")
"""A time as Spark writes it of a year past 9999, which pandas does not read as one."""

_STATE = {
    "state_rows": "numRowsTotal",
    "state_rows_updated": "numRowsUpdated",
    "state_rows_removed": "numRowsRemoved",
    "state_memory_bytes": "memoryUsedBytes",
    "state_updates_ms": "allUpdatesTimeMs",
    "state_removals_ms": "allRemovalsTimeMs",
    "state_commit_ms": "commitTimeMs",
    "state_stores": "numStateStoreInstances",
}


def batch_row(progress: Progress) -> dict[str, Any]:
    """What `Recorder.to_pandas` has of one progress.

    KeyError, TypeError or ValueError for what is none.
    """
    durations = {k: number(v) for k, v in part(progress, "durationMs").items() if v is not None}
    if progress["batchId"] is None:
        raise ValueError("batchId is null")
    row = {
        "name": progress.get("name"),
        "query_id": progress["id"],
        "run_id": progress["runId"],
        "batch": number(progress["batchId"]),
        # One that is out of its range would make the column one of objects.
        "at": _time(progress["timestamp"]).as_unit("ns"),
        "input_rows": number(progress.get("numInputRows")),
        "watermark": _watermark(part(progress, "eventTime").get("watermark")),
        "batch_ms": durations.pop("triggerExecution", None),
    }
    phases = {f"{PHASE}{name}": time for name, time in durations.items()}
    return row | phases | state_cells(operators(progress))


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


def part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of that name in another: null is as one that is not there.

    TypeError for what is none.
    """
    found = of.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise TypeError(f"{name} is {found!r:.50}")
    return found


def operators(progress: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The stateful operators of a progress: null is as none. TypeError for what is no list of them.

    Their order is that of their numbers.
    """
    found = progress.get("stateOperators")
    if found is None:
        return []
    if not isinstance(found, list | tuple) or not all(isinstance(o, Mapping) for o in found):
        raise TypeError(f"stateOperators is {found!r:.50}")
    return found


def mean_lag(frame: pd.DataFrame) -> pd.Series[Any]:
    """How many versions the newest snapshot of a store is behind, on average, in each row.

    Spark reports the sum over all stores. A row that does not say how many there are has no mean.
    """
    count = frame["state_stores"]
    return frame[LAG] / count.where(count > 0)


def number(value: Any) -> float:
    """A number as Spark has them: null is as 0. ValueError for what is none."""
    if value is None:
        return 0
    if not isinstance(value, int | float) or not -_FAR < value < _FAR:
        raise ValueError(f"{value!r:.50} stands where a number does")
    return value


def _watermark(text: Any) -> pd.Timestamp | None:
    """None also for one that is out of pandas' range. ValueError for what is no time.

    Events have such times where milliseconds were taken for seconds, and the query runs on.
    """
    if text is None or (isinstance(text, str) and _FIVE_DIGITS.fullmatch(text)):
        return None
    try:
        return _time(text).as_unit("ns")
    except pd.errors.OutOfBoundsDatetime:
        return None


def _time(text: Any) -> pd.Timestamp:
    """Spark tells times in UTC, also where it is left out. ValueError for what is no time."""
    at = pd.Timestamp(text) if isinstance(text, str) else None
    # NaT is none: pandas has it for an empty text, too.
    if not isinstance(at, pd.Timestamp):
        raise ValueError(f"{text!r:.50} stands where a time does")
    return at.tz_localize(UTC) if at.tz is None else at.tz_convert(UTC)


def state_cells(operators: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The state and the metrics of some operators, added up."""
    each = list(operators)
    row = {name: sum(number(o.get(of)) for o in each) for name, of in _STATE.items()}
    for operator in each:
        for metric, value in part(operator, "customMetrics").items():
            if value is not None:
                row[metric] = row.get(metric, 0) + number(value)
    return row
