"""A picture of a report: each form's throughput as a multiple of the tuned RocksDB's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.results import summary

if TYPE_CHECKING:
    from pathlib import Path

    from bucketstate_nexmark.results.report import Report

BASE = "rocksdb-tuned"
_COLORS = {
    "bucketed": "tab:blue",
    "bucketed-rocksdb": "tab:purple",
    "rocksdb": "tab:brown",
    "hdfs": "tab:red",
}

_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20)


def draw(report: Report, file: Path) -> bool:
    """Draws it, or returns False where no form has run on the base and on another."""
    found = summary.figures(report)
    forms = [f for f in FORMS if (f, BASE) in found and f not in summary.STATELESS]
    others = [name for name in _COLORS if any((form, name) in found for form in forms)]
    if not forms or not others:
        return False
    import matplotlib

    matplotlib.use("Agg")  # there is no screen where benchmarks run
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, NullLocator

    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.35 * len(forms)), layout="constrained")
    for place, name in enumerate(others):
        offset = (place - (len(others) - 1) / 2) * 0.16
        there = [(n, form) for n, form in enumerate(forms) if (form, name) in found]
        axes.plot(
            [
                found[form, name].events_per_core / found[form, BASE].events_per_core
                for _, form in there
            ],
            [n + offset for n, _ in there],
            "o",
            label=name,
            color=_COLORS[name],
            markersize=5,
        )
    axes.axvline(1, color="tab:orange", linewidth=1, label=BASE)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}")
    axes.set_yticks(range(len(forms)), forms)
    axes.invert_yaxis()
    axes.set_xlabel(f"events for each second and core, as a multiple of {BASE}")
    axes.set_title(f"Nexmark, {report.conditions['amount']['events']:,} events")
    axes.grid(alpha=0.3, which="both", axis="x")
    figure.legend(loc="outside lower center", ncols=len(others) + 1, fontsize="small")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return True
