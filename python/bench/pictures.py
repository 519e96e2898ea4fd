"""The benchmarks' reports as pictures, one per question, for as many of them as are there.

.venv/bin/python python/bench/pictures.py artifacts/bench
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")  # there is no screen where benchmarks run
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {
    "bucketed": "tab:blue",
    "bucketed-rocksdb": "tab:purple",
    "bucketed-rocksdb-local": "tab:pink",
    "no-snapshots": "tab:cyan",
    "eager": "tab:green",
    "rocksdb": "tab:orange",
    "rocksdb-tuned": "tab:olive",
    "rocksdb-default": "tab:brown",
    "hdfs": "tab:red",
    "hashmap": "tab:gray",
}


def long_run(results: list[dict[str, Any]], axes: Axes) -> None:
    """Batch times of the largest state, one line per contender; the warm-up is in it."""
    keys = max(result["keys"] for result in results)
    for result in results:
        if result["keys"] == keys:
            times = [sample["ms"] for sample in result["samples"]]
            name = result["provider"]
            axes.plot(times, label=name, color=COLORS[name], linewidth=0.9)
    axes.set_yscale("log")
    axes.set_title(f"Batches of a long run, {keys:,} keys")
    axes.set_xlabel("batch")
    axes.set_ylabel("milliseconds")


def restart(results: list[dict[str, Any]], axes: Axes) -> None:
    """Medians by keys: a line per contender, dashed for all tails but the shortest."""
    jvm = results[-1]["jvm"]  # of several conditions that which users meet, the last one
    results = [result for result in results if result["jvm"] == jvm]
    tails = sorted({result["tail"] for result in results})
    for name in dict.fromkeys(result["provider"] for result in results):
        for tail in tails:
            found = [r for r in results if (r["provider"], r["tail"]) == (name, tail)]
            axes.plot(
                [r["keys"] for r in found],
                [r["firstGetMs"]["median"] for r in found],
                label=f"{name}, {tail} changelogs",
                color=COLORS[name],
                linestyle="-" if tail == tails[0] else "--",
                marker="o",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(f"First get after a restart, {jvm}")
    axes.set_xlabel("keys")
    axes.set_ylabel("milliseconds")


def memory(results: list[dict[str, Any]], axes: Axes) -> None:
    """Batches by memory of the process: a point per contender and size, with a line up to p99."""
    for result in results:
        name, batch = result["provider"], result["batch"]
        axes.errorbar(
            result["resident"]["most"] / 2**20,
            batch["p50"],
            yerr=[[0], [batch["p99"] - batch["p50"]]],
            label=f"{name}, {result['keys']:,} keys",
            color=COLORS[name],
            marker="o" if result["keys"] == results[0]["keys"] else "s",
            capsize=3,
            linestyle="",
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_title("Batches p50, up to p99, by the memory that they take")
    axes.set_xlabel("MiB of the process in memory, at most")
    axes.set_ylabel("milliseconds")


def transform_with_state(results: list[dict[str, Any]], axes: Axes) -> None:
    """Batches of the query, dashed what their commits took; the warm-up is in it."""
    for result in results:
        name, batches = result["provider"], result["batches"]
        for field, style in (("wholeMs", "-"), ("commitMs", "--")):
            times = [max(1, batch[field]) for batch in batches]
            label = name if field == "wholeMs" else f"{name}, commits"
            axes.plot(times, style, label=label, color=COLORS[name], linewidth=0.9)
    axes.set_yscale("log")
    axes.set_title(f"transformWithState: batches and their commits, {results[0]['keys']:,} keys")
    axes.set_xlabel("batch")
    axes.set_ylabel("milliseconds")


def soak(results: list[dict[str, Any]], axes: Axes) -> None:
    """Each figure as a share of its median, over time."""
    seconds = [sample["seconds"] / 60 for sample in results]
    for field in ("threads", "handles", "heap", "resident", "files"):
        values = [sample[field] for sample in results]
        middle = max(1, statistics.median(values))
        label = f"{field}, median {_in_units(field, middle)}"
        axes.plot(seconds, [value / middle for value in values], label=label, linewidth=0.9)
    axes.set_ylim(0, 2)
    axes.set_title(f"Soak: {results[-1]['batches']:,} batches, {results[-1]['restarts']} restarts")
    axes.set_xlabel("minutes")
    axes.set_ylabel("share of the median")


def large_state(results: list[dict[str, Any]], axes: Axes) -> None:
    """Each batch of a state larger than memory, those that bring its keys first."""
    for loads, label in ((True, "bring the keys"), (False, "change some")):
        points = [(n, r["ms"]) for n, r in enumerate(results) if r["loads"] == loads]
        axes.plot(*zip(*points, strict=True), label=label, linewidth=0.6)
    axes.set_ylim(bottom=0)
    axes.set_title("Batches of a state larger than memory")
    axes.set_xlabel("batch")
    axes.set_ylabel("milliseconds")


def _in_units(field: str, value: float) -> str:
    return f"{value / 2**20:.0f} MiB" if field in ("heap", "resident") else f"{value:.0f}"


PICTURES = {
    "long-run": long_run,
    "restart": restart,
    "native": memory,
    "native-large": memory,
    "native-short": memory,
    "engines": memory,
    "native-restart": restart,
    "tws": transform_with_state,
    "large-state": large_state,
    "soak": soak,
    "soak-rocksdb": soak,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the reports are, and the pictures go")
    folder = parser.parse_args().folder
    for name, draw in PICTURES.items():
        report = folder / f"{name}.json"
        if report.exists():
            figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
            draw(json.loads(report.read_text())["results"], axes)
            axes.grid(alpha=0.3)
            figure.legend(loc="outside right upper", fontsize="small")
            picture = report.with_suffix(".png")
            figure.savefig(picture, dpi=120)
            plt.close(figure)
            print(f"Drawn: {picture}")


if __name__ == "__main__":
    main()
