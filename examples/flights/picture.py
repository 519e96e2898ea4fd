"""Batch and commit time of every batch, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from flights.layout import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from flights.runs import Run

_BATCH, _COMMIT, _RESTART, _GRID = "#2b5c8a", "#e07b39", "#8a8a8a", "#e4e4e4"


def draw(runs: Sequence[Run], title: str, titles: dict[str, str], file: Path) -> None:
    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(len(runs), 1, figsize=(10, 6.6), sharex=True, squeeze=False)
    for axis, run in zip(axes[:, 0], runs, strict=True):
        _panel(axis, run, titles[run.name])
    axes[-1, 0].set_xlabel("batch (eight days of flights each)")
    figure.suptitle(title, x=0.012, ha="left", weight="bold")
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _panel(axis: Axes, run: Run, title: str) -> None:
    style: dict[str, Any] = {"marker": "o", "markersize": 3.5, "linewidth": 1.4}
    for part, batches in run.batches.groupby("part"):
        labels = ("whole batch", "state store commit, per partition") if part == 1 else (None, None)
        commits = batches["state_commit_ms"] / PARTITIONS
        axis.plot(batches["batch"], batches["batch_ms"], color=_BATCH, label=labels[0], **style)
        axis.plot(batches["batch"], commits, color=_COMMIT, label=labels[1], **style)
    restarted = run.batches[run.batches["part"] > 1]
    axis.set_yscale("log", nonpositive="clip")
    axis.set_ylabel("milliseconds")
    axis.set_title(title, loc="left", fontsize=10)
    axis.grid(axis="y", color=_GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    low, high = axis.get_ylim()
    axis.set_ylim(low / 1.3, high * 1.3)
    axis.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda y, _: f"{y:,.0f}"))
    if not restarted.empty:
        restart = restarted["batch"].min()
        axis.axvline(restart - 0.5, color=_RESTART, linestyle="--", linewidth=1.2)
        axis.annotate(
            "new process, restarted\nfrom the checkpoint",
            (restart - 0.5, 0.5), xycoords=("data", "axes fraction"),
            xytext=(6, 0), textcoords="offset points", va="center", color="#555555", fontsize=9,
        )  # fmt: skip
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, ncols=2, fontsize=9)
