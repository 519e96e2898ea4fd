"""A picture of how a query's batches went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bucketstate.errors import BucketstateError
from bucketstate.optional import needed
from bucketstate.optional import pandas as pd
from bucketstate.progress.rows import PHASE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MIB = 1024 * 1024
_WRITTEN = ("bucketedChangelogBytes", "bucketedRunBytes", "bucketedCompactionBytes")
_LIMIT = "bucketedMemoryLimitBytes"
_EVICTED = "bucketedEvictedBytes"
_COLD_READS = "bucketedColdReads"
_COLD_OUTCOMES = (
    "bucketedColdReadsByFilter",
    "bucketedColdReadsFromCache",
    "bucketedColdReadsFromFiles",
)


def figure(frame: pd.DataFrame) -> Figure:
    """Draws the rows of `Recorder.to_pandas`; of several queries one after the other.

    What the state store does not report is left out.
    """
    if frame.empty:
        raise BucketstateError(
            "There is nothing to draw: no progress came yet. Add the recorder to the session "
            "(`spark.streams.addListener(recorder)`) before the query starts."
        )
    module = needed("matplotlib.figure", what="A picture of a query's progress")
    panels = [_phases, _commit]
    if _there(frame, _WRITTEN):
        panels.append(_bytes)
    if _LIMIT in frame:
        panels.append(_memory)
    if _happened(frame, _COLD_READS):
        panels.append(_cold)
    if "bucketedSnapshotLag" in frame:
        panels.append(_lag)
    made: Figure = module.Figure(figsize=(10, 2.6 * len(panels)), layout="constrained")
    axes = made.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, draw in zip(axes, panels, strict=True):
        draw(axis, frame)
        axis.set_ylim(bottom=0)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8, loc="upper left")
    axes[-1].set_xlabel("progress")
    return made


def _phases(axis: Any, frame: pd.DataFrame) -> None:
    names = sorted(c for c in _columns(frame) if c.startswith(PHASE) and _happened(frame, c))
    columns = [frame[name].fillna(0).to_numpy() for name in names]
    labels = [name.removeprefix(PHASE) for name in names]
    if columns:
        axis.stackplot(range(len(frame)), columns, labels=labels, step="mid")
    axis.set_ylabel("batch, ms")


def _commit(axis: Any, frame: pd.DataFrame) -> None:
    _lines(axis, frame, ["state_commit_ms", "state_updates_ms", "state_removals_ms"], 1)
    axis.set_ylabel("state, ms (all tasks)")


def _bytes(axis: Any, frame: pd.DataFrame) -> None:
    _lines(axis, frame, _there(frame, _WRITTEN), _MIB)
    axis.set_ylabel("written, MiB")


def _memory(axis: Any, frame: pd.DataFrame) -> None:
    evicted = [_EVICTED] if _happened(frame, _EVICTED) else []
    _lines(axis, frame, ["state_memory_bytes", _LIMIT, *evicted], _MIB)
    axis.set_ylabel("memory, MiB\n(all stores)")


def _cold(axis: Any, frame: pd.DataFrame) -> None:
    happened = [name for name in _COLD_OUTCOMES if _happened(frame, name)]
    _lines(axis, frame, [_COLD_READS, *happened], 1)
    axis.set_ylabel("looked up in files, keys")


def _lag(axis: Any, frame: pd.DataFrame) -> None:
    _lines(axis, frame, ["bucketedSnapshotLag"], 1)
    axis.set_ylabel("snapshot lag, versions\n(all stores)")


def _there(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in frame]


def _happened(frame: pd.DataFrame, name: str) -> bool:
    """Whether a figure is reported, and not 0 each time."""
    return name in frame and bool(frame[name].fillna(0).any())


def _columns(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns]


def _lines(axis: Any, frame: pd.DataFrame, names: Sequence[str], unit: float) -> None:
    for name in names:
        axis.plot(range(len(frame)), frame[name] / unit, label=name)
