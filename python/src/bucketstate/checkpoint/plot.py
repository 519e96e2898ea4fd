"""A picture of a checkpoint: keys and bytes by version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.errors import CheckpointError
from bucketstate.optional import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MIB = 1024 * 1024


def figure(history: pa.Table, title: str = "") -> Figure:
    """Keys, changed keys, changelog bytes and what the newest manifest's files take, by version.

    One line for each store, its partitions added up. Needs matplotlib (`bucketstate[plot]`).
    """
    if not history.num_rows:
        raise CheckpointError("There is nothing to draw: no batch was committed yet.")
    module = needed("matplotlib.figure", extra="plot", what="A picture of a checkpoint")
    made: Figure = module.Figure(figsize=(10, 8), layout="constrained")
    axes = made.subplots(3, 1, sharex=True)
    frame = history.to_pandas()
    frame["run_bytes"] = frame.groupby(["operator", "store", "partition_id"])["run_bytes"].ffill()
    by_store = frame.groupby(["operator", "store", "version"], as_index=False)
    sums = by_store[["keys", "changes", "changelog_bytes", "run_bytes"]].sum()
    for (operator, store), rows in sums.groupby(["operator", "store"]):
        label = f"operator {operator}" + ("" if store == "default" else f", {store}")
        axes[0].plot(rows["version"], rows["keys"], label=label)
        axes[1].plot(rows["version"], rows["changes"], label=label)
        axes[2].plot(rows["version"], rows["changelog_bytes"] / _MIB, label=f"{label}: changelogs")
        if rows["run_bytes"].any():
            axes[2].plot(rows["version"], rows["run_bytes"] / _MIB, ls="--", label=f"{label}: runs")
    snapshots = frame.loc[frame["manifest"], "version"].unique()
    for axis, name in zip(axes, ("keys", "changed keys", "MiB"), strict=True):
        _finish(axis, name, snapshots)
    axes[0].set_title(title, loc="left", fontsize=9)
    axes[2].set_xlabel("version (dotted: there is a manifest)")
    return made


def save(history: pa.Table, target: Path, title: str = "") -> None:
    """Draws it into a file; what kind of picture, its ending says."""
    try:
        figure(history, title).savefig(target)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{target} cannot be drawn: {error}.") from error


def _finish(axis: Any, name: str, snapshots: Any) -> None:
    axis.set_ylabel(name)
    axis.set_ylim(bottom=0)
    for version in snapshots:
        axis.axvline(version, color="grey", lw=0.5, ls=":")
    axis.legend(fontsize=8)
