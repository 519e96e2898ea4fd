"""What the state store did, and the most delayed aircraft, as tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from rich.table import Table

from bucketstate.registry import registry
from flights import aircraft, rotations
from flights.data import load_planes
from flights.stream import emitted

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from flights.layout import Layout

_MIN_LEGS = 50
_SHOWN = 8


@dataclass(frozen=True)
class Batch:
    """One batch's figures. Spark adds up a commit's time over the partitions: here is the mean."""

    part: int
    number: int
    rows: int
    keys: int
    batch_ms: int
    commit_ms: float
    custom: dict[str, int]


@dataclass(frozen=True)
class Run:
    name: str
    batches: list[Batch]


def load(files: Layout, name: str) -> Run:
    lines = [
        json.loads(line)
        for file in sorted(files.progress.glob(f"{name}-*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    # Progress of a trigger that ran no batch carries the number of the next one and no duration.
    return Run(name, [_batch(p) for p in lines if "addBatch" in p["durationMs"]])


def state_store_table(runs: list[Run]) -> Table:
    table = Table(title="What the state store did", title_justify="left", title_style="bold")
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    rows: dict[str, list[str]] = {
        "batches": [f"{len(r.batches)}" for r in runs],
        "flights read": [f"{sum(b.rows for b in r.batches):,}" for r in runs],
        "keys at the end": [f"{r.batches[-1].keys:,}" for r in runs],
        "keys at most": [f"{max(b.keys for b in r.batches):,}" for r in runs],
        "batch time, median": [f"{median(b.batch_ms for b in r.batches):,.0f} ms" for r in runs],
        "batch time, longest": [f"{max(b.batch_ms for b in r.batches):,} ms" for r in runs],
        "commit per partition, median": [
            f"{median(b.commit_ms for b in r.batches):,.1f} ms" for r in runs
        ],
        "commit per partition, longest": [
            f"{max(b.commit_ms for b in r.batches):,.1f} ms" for r in runs
        ],
    }
    for metric in registry().metrics:
        if all(metric.name in b.custom for r in runs for b in r.batches):
            rows[f"{metric.name}, sum"] = [
                _amount(sum(b.custom[metric.name] for b in r.batches), metric.kind) for r in runs
            ]
    for label, cells in rows.items():
        table.add_row(label, *cells)
    return table


def most_delayed_table(spark: SparkSession, files: Layout, count: int = 5) -> Table:
    """The aircraft with the longest mean delay, out of all their rotations."""
    worst = (
        rotations.final(emitted(spark, files, rotations.NAME))
        .groupBy("tailnum")
        .agg(*(F.sum(c).alias(c) for c in ("legs", "delay", "made_up")), F.count("*").alias("n"))
        .where(F.col("legs") >= _MIN_LEGS)
        .orderBy((F.col("delay") / F.col("legs")).desc(), "tailnum")
        .limit(count)
        .collect()
    )
    models = _models()
    table = Table(
        title=f"The {count} most delayed aircraft (of those with {_MIN_LEGS} legs or more)",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("aircraft")
    table.add_column("model")
    for column in ("legs", "rotations", "mean delay", "made up in the air"):
        table.add_column(column, justify="right")
    for row in worst:
        mean = row.delay / row.legs
        table.add_row(
            row.tailnum,
            models(row.tailnum),
            f"{row.legs}",
            f"{row.n}",
            f"{mean:.1f} min",
            f"{row.made_up:,} min",
        )
    return table


def longest_table(spark: SparkSession, files: Layout, count: int = 5) -> Table:
    """The rotations with the most legs, with where they went."""
    tours = emitted(spark, files, aircraft.NAME)
    longest: list[Row] = tours.orderBy(F.col("legs").desc(), *aircraft.KEY).limit(count).collect()
    models = _models()
    table = Table(
        title=f"The {count} rotations with the most legs",
        title_justify="left",
        title_style="bold",
    )
    for column in ("aircraft", "model", "route"):
        table.add_column(column)
    for column in ("legs", "mean delay"):
        table.add_column(column, justify="right")
    for row in longest:
        mean = f"{row.delay / row.legs:.1f} min"
        table.add_row(row.tailnum, models(row.tailnum), _shortened(row.route), f"{row.legs}", mean)
    return table


def _shortened(route: str) -> str:
    stops = route.split()
    if len(stops) <= _SHOWN:
        return route
    return " ".join([*stops[: _SHOWN - 1], "...", stops[-1]])


def _models() -> Callable[[str], str]:
    planes = load_planes()

    def model(tailnum: str) -> str:
        plane = planes.loc[tailnum] if tailnum in planes.index else None
        return "unknown" if plane is None else f"{plane.manufacturer.title()} {plane.model}"

    return model


def _batch(progress: dict[str, Any]) -> Batch:
    operators = progress["stateOperators"]
    custom: dict[str, int] = {}
    for operator in operators:
        for name, value in operator["customMetrics"].items():
            custom[name] = custom.get(name, 0) + value
    return Batch(
        part=progress["part"],
        number=progress["batchId"],
        rows=progress["numInputRows"],
        keys=sum(o["numRowsTotal"] for o in operators),
        batch_ms=progress["durationMs"]["triggerExecution"],
        commit_ms=sum(o["commitTimeMs"] / o["numShufflePartitions"] for o in operators),
        custom=custom,
    )


def _amount(value: int, kind: str) -> str:
    if kind == "timing":
        return f"{value:,} ms"
    if kind != "size":
        return f"{value:,}"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024  # type: ignore[assignment]
    return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
