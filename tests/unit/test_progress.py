"""The recorder, on progresses as Spark's JSON has them."""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from rich.console import Console

from bucketstate.doctor import of_progress
from bucketstate.errors import BucketstateError, InvalidArgumentError
from bucketstate.progress import Panel, Recorder
from bucketstate.progress import recorder as recorder_module
from bucketstate.progress.rows import batch_row

if TYPE_CHECKING:
    from pathlib import Path


def progress(batch: int, name: str | None = "flights", **metrics: int) -> dict[str, Any]:
    operator = {
        "operatorName": "stateStoreSave",
        "numRowsTotal": 100 + batch,
        "numRowsUpdated": 10,
        "numRowsRemoved": 1,
        "memoryUsedBytes": 1000,
        "allUpdatesTimeMs": 4,
        "allRemovalsTimeMs": 1,
        "commitTimeMs": 7,
        "customMetrics": {"bucketedChangelogBytes": 500} | metrics,
    }
    return {
        "id": "00000000-0000-0000-0000-000000000001",
        "runId": "00000000-0000-0000-0000-000000000002",
        "name": name,
        "timestamp": f"2024-03-01T00:00:{batch:02d}.000Z",
        "batchId": batch,
        "numInputRows": 50,
        "durationMs": {"addBatch": 80, "walCommit": 15, "triggerExecution": 100},
        "eventTime": {"watermark": "2024-02-29T23:00:00.000Z"},
        "stateOperators": [operator, operator],
    }


def recorded(count: int = 3, **metrics: int) -> Recorder:
    return Recorder.of(progress(n, "flights", **metrics) for n in range(count))


def test_a_row_for_each_progress() -> None:
    frame = recorded().to_pandas()
    assert frame["batch"].tolist() == [0, 1, 2]
    row = frame.iloc[1]
    assert (row["batch_ms"], row["phase_addBatch"], row["phase_walCommit"]) == (100, 80, 15)
    assert (row["state_rows"], row["state_commit_ms"]) == (202, 14)
    assert row["bucketedChangelogBytes"] == 1000
    assert row["watermark"] == pd.Timestamp("2024-02-29T23:00:00Z")


def test_a_row_for_each_operator() -> None:
    frame = recorded().operators_to_pandas()
    assert frame["operator"].tolist() == [0, 1] * 3
    assert frame["state_rows"].tolist() == [100, 100, 101, 101, 102, 102]
    assert set(frame["bucketedChangelogBytes"]) == {500}


def test_progress_in_every_form() -> None:
    one = progress(0)
    recorder = Recorder.of([one, json.dumps(one), SimpleNamespace(json=json.dumps(one))])
    recorder.onQueryProgress(SimpleNamespace(progress=one))  # type: ignore[arg-type]
    assert recorder.progress == [one] * 4


def test_one_query_by_its_name_and_the_newest_only() -> None:
    recorder = Recorder("flights", limit=2)
    for n in range(4):
        recorder.add(progress(n))
        recorder.add(progress(n, name="other"))
    assert [p["batchId"] for p in recorder.progress] == [2, 3]


def test_a_batch_without_state() -> None:
    stateless = {k: v for k, v in progress(0).items() if k not in ("stateOperators", "eventTime")}
    frame = Recorder.of([stateless]).to_pandas()
    assert frame["state_rows"].tolist() == [0]
    assert frame["watermark"].tolist() == [None]


@pytest.mark.parametrize("watermark", ["+56123-01-01T00:00:00.000Z", "5000-01-01T00:00:00.000Z"])
def test_a_watermark_that_no_time_of_pandas_holds_is_missing(
    tmp_path: Path, watermark: str
) -> None:
    """Milliseconds that were taken for seconds are such: what else came is told all the same."""
    far = progress(0) | {"eventTime": {"watermark": watermark}}
    recorder = Recorder.of([far, progress(1)])
    frame = recorder.to_pandas()
    assert frame["watermark"].isna().tolist() == [True, False]
    assert frame["watermark"].dtype == "datetime64[ns, UTC]"
    assert "flights" in recorder._repr_html_()
    path = tmp_path / "progress.parquet"
    recorder.save(path)
    assert pd.read_parquet(path)["watermark"].isna().tolist() == [True, False]
    assert Recorder.read(path).progress == recorder.progress


@pytest.mark.parametrize("values", [{"eventTime": {"watermark": "x"}}, {"batchId": None}])
def test_what_has_no_row_is_not_saved(tmp_path: Path, values: dict[str, Any]) -> None:
    recorder = Recorder.of([progress(0) | values])
    with pytest.raises(BucketstateError, match=r"progress\.parquet cannot be written: "):
        recorder.save(tmp_path / "progress.parquet")
    assert not list(tmp_path.iterdir())


def test_state_operators_that_are_null_are_as_none() -> None:
    recorder = Recorder.of([progress(0) | {"stateOperators": None}, progress(1)])
    assert recorder.operators_to_pandas()["batch"].tolist() == [1, 1]


def test_it_shows_how_much_it_has() -> None:
    assert repr(recorded()) == "<Recorder: 3 progresses>"
    assert repr(Recorder("flights")) == "<Recorder of 'flights': 0 progresses>"


def test_nothing_recorded() -> None:
    assert Recorder().to_pandas().empty
    assert Recorder().operators_to_pandas().empty
    with pytest.raises(BucketstateError, match="addListener"):
        Recorder().plot()


def test_saved_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "progress.parquet"
    recorder = recorded()
    recorder.save(path)
    assert pd.read_parquet(path)["state_rows"].tolist() == [200, 202, 204]
    assert Recorder.read(path).progress == recorder.progress
    other = tmp_path / "other.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(other)
    for wrong in (other, tmp_path / "none"):
        with pytest.raises(BucketstateError, match=r"Recorder\.save"):
            Recorder.read(wrong)
    with pytest.raises(BucketstateError, match=r"none is not there\. Give"):
        Recorder.read(tmp_path / "none")
    with pytest.raises(BucketstateError, match="cannot be written"):
        recorder.save(tmp_path / "none" / "x.parquet")
    with pytest.raises(InvalidArgumentError, match=r"progress\.csv would be Parquet"):
        recorder.save(tmp_path / "progress.csv")
    assert not (tmp_path / "progress.csv").exists()


@pytest.mark.parametrize("limit", [None, 5])
def test_saved_while_a_query_runs(tmp_path: Path, limit: int | None) -> None:
    path = tmp_path / "progress.parquet"
    recorder = Recorder(limit=limit)
    done = threading.Event()

    def run() -> None:
        batch = 0
        while not done.wait(0.001):
            recorder.add(progress(batch % 60) | {"batchId": batch})
            batch += 1

    query = threading.Thread(target=run)
    query.start()
    try:
        for _ in range(20):
            recorder.save(path)
            saved = pd.read_parquet(path)
            if not saved.empty:
                of_json = [json.loads(text)["batchId"] for text in saved["progress"]]
                assert of_json == saved["batch"].tolist()
            time.sleep(0.002)
    finally:
        done.set()
        query.join()
    assert len(Recorder.read(path).progress) > 1


@pytest.mark.parametrize("stop", [OSError("no space left"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_saved_anew_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    path = tmp_path / "progress.parquet"
    recorded(3).save(path)

    def write_a_part(_: pd.DataFrame, path: Path, **__: Any) -> None:
        path.write_bytes(b"PAR1")
        raise stop

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write_a_part)
    with pytest.raises((BucketstateError, KeyboardInterrupt)) as told:
        recorded(5).save(path)
    if isinstance(stop, OSError):
        assert str(told.value) == f"{path} cannot be written: no space left."
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert len(Recorder.read(path).progress) == 3


def test_a_link_that_is_saved_to_stays_one(tmp_path: Path) -> None:
    link, file = tmp_path / "newest.parquet", tmp_path / "progress.parquet"
    link.symlink_to(file)
    recorded().save(link)
    assert link.is_symlink()
    assert Recorder.read(file).progress == recorded().progress


@pytest.mark.parametrize("wrong", ["x", "[]", b"x", 7, None, [7], ["{"], ["[]"], [object()]])
def test_what_is_no_progress(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="give Spark's own objects"):
        Recorder.of(wrong)
    if not isinstance(wrong, list) or wrong == [7]:
        with pytest.raises(InvalidArgumentError, match=r"no progress of a query .*: give json"):
            of_progress(wrong)


@pytest.mark.parametrize(
    ("metrics", "panels"),
    [
        ({}, 3),
        ({"bucketedSnapshotLag": 2, "bucketedRunBytes": 9}, 4),
        # Of no use without a limit, and while there were none.
        ({"bucketedEvictedBytes": 9, "bucketedColdReads": 0}, 3),
        ({"bucketedMemoryLimitBytes": 9, "bucketedColdReads": 5}, 5),
    ],
)
def test_the_picture_draws_what_is_reported(
    tmp_path: Path, metrics: dict[str, int], panels: int
) -> None:
    figure = recorded(**metrics).plot()
    assert len(figure.axes) == panels
    stacked = figure.axes[0].get_legend_handles_labels()[1]
    assert stacked == ["addBatch", "walCommit"]
    figure.savefig(tmp_path / "batches.png")
    assert (tmp_path / "batches.png").stat().st_size > 0


@pytest.mark.parametrize(("evicted", "more"), [(0, []), (1 << 20, ["bucketedEvictedBytes"])])
def test_the_picture_has_memory_beside_its_limit(evicted: int, more: list[str]) -> None:
    metrics = {"bucketedMemoryLimitBytes": 4 << 20, "bucketedEvictedBytes": evicted}
    axis = recorded(**metrics).plot().axes[3]
    labels = axis.get_legend_handles_labels()[1]
    assert labels == ["state_memory_bytes", "bucketedMemoryLimitBytes", *more]
    # Of two operators, in MiB.
    limit: Any = axis.get_lines()[1]
    assert set(limit.get_ydata()) == {8.0}
    assert axis.get_ylabel().startswith("memory, MiB")


def test_the_picture_has_as_written_only_what_was_written() -> None:
    metrics = {"bucketedMemoryLimitBytes": 9, "bucketedEvictedBytes": 9, "bucketedRunBytes": 9}
    axis = recorded(**metrics).plot().axes[2]
    assert axis.get_ylabel() == "written, MiB"
    written = ["bucketedChangelogBytes", "bucketedRunBytes"]
    assert axis.get_legend_handles_labels()[1] == written


def test_the_picture_has_what_cold_reads_took_as_far_as_it_happened() -> None:
    took = {"bucketedColdReadsByFilter": 3, "bucketedColdReadsFromCache": 0}
    axis = recorded(bucketedColdReads=9, bucketedColdReadsFromFiles=6, **took).plot().axes[3]
    labels = axis.get_legend_handles_labels()[1]
    names = ["", "ByFilter", "FromFiles"]
    assert labels == [f"bucketedColdReads{name}" for name in names]


def test_the_live_panel_follows() -> None:
    recorder = Recorder()
    console = Console(record=True, width=120, force_terminal=True)
    with Panel(recorder, console):
        assert "waiting for the first batch" in console.export_text(clear=True)
        for n in range(12):
            recorder.add(progress(n))
    text = console.export_text()
    last = text[text.rindex("query") :]
    assert "flights" in last
    assert "1,000" in last
    # Twelve batches, of which the newest eight are shown.
    assert sum(line.count("flights") for line in last.splitlines()) == 8
    recorder.add(progress(12))
    assert console.export_text() == ""


def test_a_panel_makes_rows_of_what_it_shows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark waits for its listeners: an update must not take longer with every batch."""
    made = 0

    def counted(progress: dict[str, Any]) -> dict[str, Any]:
        nonlocal made
        made += 1
        return batch_row(progress)

    runs = ("first", "second")
    recorder = Recorder.of(progress(n % 60) | {"runId": runs[n % 2]} for n in range(1000))
    monkeypatch.setattr(recorder_module, "batch_row", counted)
    panel = Panel(recorder, Console(record=True, width=120))
    made = 0
    panel.update()
    assert made == 8 * len(runs)
    made = 0
    recorder._repr_html_()
    assert made == 8 * len(runs)


def test_a_panel_shows_no_more_than_is_kept() -> None:
    recorder = Recorder(limit=5)
    for n in range(20):
        recorder.add(progress(n) | {"runId": "first" if n < 17 else "second"})
    panel = Panel(recorder)
    (numbers,) = (c for c in panel.table().columns if c.header == "batch")
    assert list(map(str, numbers.cells)) == ["15", "16", "17", "18", "19"]
    for n in range(20, 23):
        recorder.add(progress(n) | {"runId": "second"})
    (numbers,) = (c for c in panel.table().columns if c.header == "batch")
    assert list(map(str, numbers.cells)) == ["18", "19", "20", "21", "22"]


def test_the_name_of_a_query_is_text_in_the_panel() -> None:
    recorder = Recorder()
    console = Console(record=True, width=120, force_terminal=True)
    with Panel(recorder, console):
        recorder.add(progress(0, "sums[a]"))
    assert "sums[a]" in console.export_text()


@pytest.mark.parametrize(
    ("metrics", "memory", "cold"),
    [
        ({"bucketedMemoryLimitBytes": 4000, "bucketedColdReads": 1500}, "25%", "3,000"),
        ({"bucketedMemoryLimitBytes": 800, "bucketedColdReads": 0}, "125%", "0"),
        ({"bucketedMemoryLimitBytes": 0}, "-", "-"),
        ({}, "-", "-"),
    ],
)
def test_the_live_panel_has_memory_as_a_share_of_its_limit(
    metrics: dict[str, int], memory: str, cold: str
) -> None:
    table = Panel(recorded(1, **metrics)).table()
    cells = {column.header: list(map(str, column.cells)) for column in table.columns}
    assert (cells["memory"], cells["cold reads"]) == ([memory], [cold])


@pytest.mark.parametrize(("stores", "lag"), [(100, "3.5"), (700, "0.5"), (None, "-"), (0, "-")])
def test_the_live_panel_has_the_lag_of_a_store(stores: int | None, lag: str) -> None:
    """Spark adds it up over all stores, of which both operators have so many."""
    reported = progress(0, bucketedSnapshotLag=350)
    for operator in reported["stateOperators"]:
        operator["numStateStoreInstances"] = stores
    recorder = Recorder.of([reported])
    (shown,) = (c for c in Panel(recorder).table().columns if c.header == "lag")
    assert list(map(str, shown.cells)) == [lag]
    assert recorder.to_pandas()["state_stores"].tolist() == [2 * (stores or 0)]


def test_the_live_panel_has_no_lag_where_none_is_reported() -> None:
    (shown,) = (c for c in Panel(recorded(1)).table().columns if c.header == "lag")
    assert list(map(str, shown.cells)) == ["-"]
