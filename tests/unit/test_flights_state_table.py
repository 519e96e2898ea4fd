"""The demo's closing table: gauges are no sums, times are no counts, bytes have units."""

from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from bucketstate.registry import registry
from flights.layout import Layout
from flights.runs import load
from flights.state_table import state_store_table

if TYPE_CHECKING:
    from pathlib import Path

    from flights.runs import Run

LAGS = [2, 10, 4]


def progress(batch: int, run_id: str, **metrics: int) -> dict[str, Any]:
    operator = {
        "numRowsTotal": 1000 - batch,
        "memoryUsedBytes": 3 << 20,
        "commitTimeMs": 8 + 4 * batch,
        "customMetrics": {m.name: 0 for m in registry().metrics} | metrics,
    }
    return {
        "id": "1",
        "runId": run_id,
        "batchId": batch,
        "timestamp": f"2024-03-01T00:00:{batch:02d}.000Z",
        "numInputRows": 500,
        "durationMs": {"addBatch": 80, "triggerExecution": 1000 * (batch + 1)},
        "stateOperators": [operator],
    }


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setattr("flights.layout.ROOT", tmp_path)
    return Layout("demo")


def ran(files: Layout, **metrics: int) -> Run:
    """Three batches in two processes; the lag is another one in each."""
    reported = [
        progress(n, "first" if n < 2 else "second", bucketedSnapshotLag=lag, **metrics)
        for n, lag in enumerate(LAGS)
    ]
    # A trigger without a batch.
    reported.append(reported[-1] | {"batchId": 3, "durationMs": {"triggerExecution": 9}})
    files.progress.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{json.dumps(one)}\n" for one in reported)
    files.progress_of("hourly").write_text(lines, encoding="utf-8")
    return load(files, "hourly")


def rows(*runs: Run) -> dict[str, list[str]]:
    """The table's cells by their label, in its order."""
    console = Console(record=True, width=110, file=StringIO())
    table = state_store_table(runs)
    console.print(table)
    assert "…" not in console.export_text()
    labels, *columns = ([str(cell) for cell in column.cells] for column in table.columns)
    return {label: list(cells) for label, *cells in zip(labels, *columns, strict=True)}


def test_the_batches_of_both_processes(files: Layout) -> None:
    run = ran(files)
    assert run.batches["batch"].tolist() == [0, 1, 2]
    assert run.batches["part"].tolist() == [1, 1, 2]
    found = rows(run)
    assert found["batches"] == ["3"]
    assert found["flights read"] == ["1,500"]


def test_times_are_told_by_their_median_and_their_95th_percentile(files: Layout) -> None:
    found = rows(ran(files))
    assert found["whole batch"] == ["2,000 ms, 2,900 ms"]
    # Spark adds them up over two partitions.
    assert found["commit of a partition"] == ["6 ms, 8 ms"]


def test_a_gauge_is_told_by_its_last_value_and_its_highest(files: Layout) -> None:
    found = rows(ran(files, bucketedRuns=2, bucketedMemoryLimitBytes=512 << 20))
    assert found["bucketedSnapshotLag"] == ["4, 10"]
    assert found["bucketedRuns"] == ["2, 2"]
    assert found["bucketedMemoryLimitBytes"] == ["512.0 MiB, 512.0 MiB"]
    assert found["keys"] == ["998, 1,000"]
    assert found["memory"] == ["3.0 MiB, 3.0 MiB"]


def test_a_counter_is_added_up(files: Layout) -> None:
    metrics = {"bucketedChangedKeys": 400, "bucketedChangelogBytes": 600, "bucketedWriteTimeMs": 5}
    found = rows(ran(files, **metrics))
    assert found["bucketedChangedKeys"] == ["1,200"]
    assert found["bucketedChangelogBytes"] == ["1.8 KiB"]
    assert found["bucketedWriteTimeMs"] == ["15 ms"]


def test_every_metric_stands_where_its_type_says(files: Layout) -> None:
    metrics = {m.name: 7 for m in registry().metrics if m.name != "bucketedSnapshotLag"}
    run = ran(files, **metrics)
    labels = list(rows(run))
    counters = next(n for n, label in enumerate(labels) if "counters" in label)
    for metric in registry().metrics:
        assert (labels.index(metric.name) > counters) == (metric.type == "counter")


def test_what_was_0_throughout_is_left_out(files: Layout) -> None:
    quiet = ran(files)
    assert "bucketedRepairs" not in rows(quiet)
    repaired = ran(files, bucketedRepairs=1)
    assert rows(quiet, repaired)["bucketedRepairs"] == ["0", "3"]
