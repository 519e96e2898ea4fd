"""What the state store did in a run: each figure told as its type and its kind ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from bucketstate.registry import Metric, registry
from bucketstate.units import size
from flights.layout import PARTITIONS

if TYPE_CHECKING:
    import pandas as pd

    from flights.runs import Run

_CAPTION = (
    f"State and metrics are of the {PARTITIONS} partitions together. What was 0 throughout is "
    "left out; docs/configuration.md says what each metric means."
)


def state_store_table(runs: Sequence[Run]) -> Table:
    """A column for each query: times of a batch, how the state stands, and what was done."""
    batches = [run.batches for run in runs]
    table = Table(
        title="What the state store did",
        title_justify="left",
        title_style="bold",
        caption=_CAPTION,
        caption_justify="left",
    )
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("batches", *(f"{len(b):,}" for b in batches))
    table.add_row("flights read", *(f"{b['input_rows'].sum():,}" for b in batches))

    _section(table, "times of a batch: median, 95th percentile")
    table.add_row("whole batch", *(_spread(b["batch_ms"]) for b in batches))
    commits = (b["state_commit_ms"] / PARTITIONS for b in batches)
    table.add_row("commit of a partition", *map(_spread, commits))

    _section(table, "gauges: at the end, at most")
    table.add_row("keys", *(_level(b["state_rows"], "sum") for b in batches))
    table.add_row("memory", *(_level(b["state_memory_bytes"], "size") for b in batches))
    reported = [m for m in registry().metrics if _is_of_use(m, batches)]
    for metric in (m for m in reported if m.type == "gauge"):
        table.add_row(metric.name, *(_level(b[metric.name], metric.kind) for b in batches))

    _section(table, "counters: over all batches")
    for metric in (m for m in reported if m.type == "counter"):
        totals = (int(b[metric.name].sum()) for b in batches)
        table.add_row(metric.name, *(_amount(total, metric.kind) for total in totals))
    return table


def _section(table: Table, label: str) -> None:
    table.add_section()
    table.add_row(f"[bold]{label}[/]")


def _is_of_use(metric: Metric, batches: Sequence[pd.DataFrame]) -> bool:
    return all(metric.name in b for b in batches) and any(b[metric.name].any() for b in batches)


def _spread(millis: pd.Series[float]) -> str:
    return f"{millis.median():,.0f} ms, {millis.quantile(0.95):,.0f} ms"


def _level(values: pd.Series[int], kind: str) -> str:
    return f"{_amount(int(values.iloc[-1]), kind)}, {_amount(int(values.max()), kind)}"


def _amount(value: int, kind: str) -> str:
    if kind == "timing":
        return f"{value:,} ms"
    return size(value) if kind == "size" else f"{value:,}"
