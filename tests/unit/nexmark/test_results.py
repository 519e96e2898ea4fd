"""What runs come to: figures, ratios, losses, the page and the picture."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bucketstate_nexmark.cli import KEPT, main
from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.events.files import Amount
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.results import page, picture, report, summary
from bucketstate_nexmark.results.report import Report
from bucketstate_nexmark.runs.figures import Batch, Restart, Run
from bucketstate_nexmark.runs.turns import Conditions, last_words, turns

CONDITIONS = Conditions(Model(), Amount(500, 100), "parquet", "local[2]", 2, 4, 3072, 600)


def ran(form: str, contender: str, ms: int, **others: Any) -> Run:
    """Four batches of a hundred events, the first one slow, and one that ends windows."""
    batches = [Batch(n, ms, 10, 0, 20, 7, 700) for n in range(1, 4)]
    known = {
        "batches": (Batch(0, 10 * ms, 10, 0, 20, 7, 700), *batches, Batch(4, 0, 0, 0, 0, 0, 0)),
        "cpu_seconds": 2.0,
        "peak_bytes": 1_000_000,
        "checkpoint_bytes": 4000,
        "restart": Restart(50, ms * 2),
        "answer_rows": 3,
    }
    return Run(form, contender, 0, 400, 100, **{**known, **others})


RUNS = [
    ran("q3", "rocksdb-tuned", 100),
    ran("q3", "bucketed", 50),
    ran("q9", "rocksdb-tuned", 100, checkpoint_bytes=8000),
    ran("q9", "bucketed", 200),
    ran("q9", "hdfs", 100, batches=(), answer_rows=None, failure="not done after 600 s"),
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "report.json"
    report.write(file, CONDITIONS, "Beside other work.", RUNS)
    return file


@pytest.fixture
def found(written: Path) -> Report:
    return report.read(written)


def test_a_report_is_read_as_it_was_written(found: Report) -> None:
    assert [*found.runs] == RUNS
    assert found.cores == 2
    assert found.machine["processors"]


def test_what_is_no_report_is_named(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    with pytest.raises(UsageError, match="this is no report"):
        report.read(file)


def test_the_warm_up_does_not_count(found: Report) -> None:
    figures = summary.figures(found)["q3", "rocksdb-tuned"]
    # Of fewer than eight batches the first is left out, the slow one; three are on two cores.
    assert figures.events_per_core == pytest.approx(300 / 0.3 / 2)
    assert (figures.p50_ms, figures.p99_ms, figures.commit_ms) == (100, 100, 20)
    assert figures.events_per_cpu_second == 200
    assert figures.checkpoint_bytes_per_event == 10
    assert figures.correct is True


@pytest.mark.parametrize(
    ("batches", "left_out"), [(2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (9, 2), (40, 2)]
)
def test_the_first_batch_never_counts(batches: int, left_out: int) -> None:
    told = tuple(Batch(n, 100, 10, 0, 20, 7, 700) for n in range(batches + 1))
    run = Run("q9-tws", "bucketed", 0, batches * 100, 100, told)
    assert [batch.batch for batch in summary.counted(run)] == [*range(left_out, batches)]


def test_a_run_of_one_batch_has_no_figures() -> None:
    run = Run("q9-tws", "bucketed", 0, 100, 100, (Batch(0, 900, 10, 0, 20, 7, 700),))
    assert summary.figures(Report({"cores": 2}, {}, "", "", None, (run,))) == {}


def test_contenders_beside_each_other_are_geometric_means(found: Report) -> None:
    (beside,) = summary.beside(summary.figures(found))
    assert (beside.ours, beside.other, beside.forms) == ("bucketed", "rocksdb-tuned", 2)
    assert beside.throughput == pytest.approx(math.sqrt(2 * 0.5))
    assert beside.restart == pytest.approx(math.sqrt(2 * 0.5))
    assert beside.bytes == pytest.approx(math.sqrt(1 * 0.5))
    assert beside.least == pytest.approx(0.5)
    assert beside.least_form == "q9"


def test_what_keeps_no_state_is_told_as_a_share_and_beside_nothing(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    plain = [ran("q0", "rocksdb-tuned", 30), ran("q0", "bucketed", 90)]
    report.write(file, CONDITIONS, None, [*plain, *RUNS, ran("q9-tws", "bucketed", 9000)])
    found = report.read(file)
    figures = summary.figures(found)
    (beside,) = summary.beside(figures)
    assert beside.forms == 2
    assert [loss.form for loss in summary.losses(figures, cores=2)] == ["q9"]
    tuned, ours = summary.shares(figures)
    assert (tuned.contender, ours.contender) == ("rocksdb-tuned", "bucketed")
    assert (tuned.batches, tuned.restarts) == pytest.approx((0.3, 0.3))
    # Of 50 and 200 milliseconds: a form with a part of the events is left out.
    assert ours.batches == pytest.approx(180 / 250)
    assert "| `rocksdb-tuned` | 30% | 30% |" in page.tables(found)


def test_a_loss_has_its_cause(found: Report) -> None:
    (loss,) = summary.losses(summary.figures(found), cores=2)
    assert loss.ratio == pytest.approx(0.5)
    assert (loss.form, loss.batch_ms) == ("q9", 100)
    assert loss.rest_ms == 100
    assert loss.cause == "all else of a batch"


def test_percentiles_are_values_that_were_there() -> None:
    assert summary.percentile(range(1, 101), 0.99) == 99
    assert summary.percentile([5], 0.99) == 5
    assert math.isnan(summary.geometric_mean([]))


def test_the_page_tells_of_all(found: Report) -> None:
    made = page.tables(found)
    assert "**Beside other work.**" in made
    assert "**State of the last batch with events: rows, MB**" in made
    assert "All 4 answers that were checked are those of DuckDB." in made
    assert "| `bucketed` beside `rocksdb-tuned` | 2 | 1.00 |" in made
    assert "| `q9` | `bucketed` beside `rocksdb-tuned` | 0.50 | +100 |" in made
    assert "- `q9` on `hdfs`: not done after 600 s" in made
    assert "`q0`" not in made


def test_a_wrong_answer_is_told_first(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    report.write(file, CONDITIONS, None, [ran("q3", "bucketed", 50, missing=2)])
    made = page.tables(report.read(file))
    assert "**Of 1 answers 1 are wrong:**" in made
    assert "`q3` on `bucketed`: of 3 rows 2 are missing, and 0 unexpected" in made


def test_what_nobody_has_looked_at_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    blind: dict[str, Any] = {"cpu_seconds": None, "peak_bytes": None}
    runs = [ran("q3", name, 50, **blind) for name in ("rocksdb-tuned", "bucketed")]
    there = replace(CONDITIONS, master="local-cluster[2,1,1024]")
    report.write(file, there, None, runs)
    made = page.tables(report.read(file))
    assert "Executors were processes of their own: `local-cluster[2,1,1024]`." in made
    assert "| `bucketed` beside `rocksdb-tuned` | 1 | 1.00 | - | 1.00 | 1.00 |" in made
    assert "Events for each second and core" in made
    assert "Events for each second of processors" not in made
    assert "Most memory" not in made
    assert "nan" not in made


def test_the_report_of_a_page_is_kept_beside_it(written: Path, tmp_path: Path) -> None:
    into = tmp_path / "page.md"
    into.write_text(f"{page.BEGIN}\n{page.END}\n")
    assert main(["--report", str(written), "--page", str(into)]) == 0
    kept = report.read(tmp_path / KEPT)
    assert kept == report.read(written)
    assert page.between(into) == page.tables(kept)


def test_tables_go_between_the_marks_of_a_page(written: Path, tmp_path: Path) -> None:
    into = tmp_path / "page.md"
    into.write_text(f"# Before\n\n{page.BEGIN}\nof yesterday\n{page.END}\n\nAfter\n")
    for _ in range(2):
        assert main(["--report", str(written), "--page", str(into)]) == 0
    text = into.read_text()
    assert text.startswith(f"# Before\n\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\n\nAfter\n")
    assert text.count("not done after") == 1
    assert "of yesterday" not in text


def test_a_page_that_cannot_be_written_whole_stays(
    found: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "page.md"
    before = f"{page.BEGIN}\nof yesterday\n{page.END}\n"
    into.write_text(before)

    def full(self: Path, *_: object) -> int:
        self.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        page.put_into(into, page.tables(found))
    assert into.read_text() == before
    assert [file.name for file in tmp_path.glob("*page*")] == ["page.md"]


def test_a_page_without_marks_is_named(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "page.md"
    into.write_text("# Nothing\n")
    assert main(["--report", str(written), "--page", str(into)]) == 2
    assert "page.md: it has no lines" in capsys.readouterr().err


def test_a_picture_needs_the_tuned_one_to_draw_beside(found: Report, tmp_path: Path) -> None:
    file = tmp_path / "report.png"
    assert picture.draw(found, file)
    assert file.stat().st_size > 1000
    alone = replace(found, note=None, runs=found.runs[1:2])
    assert not picture.draw(alone, tmp_path / "none.png")


def test_rounds_begin_with_another_contender_each() -> None:
    from bucketstate_nexmark.queries import FORMS
    from bucketstate_nexmark.runs.contenders import chosen

    todo = turns([FORMS["q3"], FORMS["q9-tws"]], chosen("hdfs,rocksdb,bucketed"), rounds=2)
    order = [(turn.form.name, turn.round, turn.contender.name) for turn in todo]
    assert order[:6] == [
        ("q3", 0, "hdfs"),
        ("q3", 0, "rocksdb"),
        ("q3", 0, "bucketed"),
        ("q3", 1, "rocksdb"),
        ("q3", 1, "bucketed"),
        ("q3", 1, "hdfs"),
    ]
    assert "hdfs" not in [name for form, _, name in order if form == "q9-tws"]


def test_a_process_that_ran_out_of_memory_says_so() -> None:
    log = "warming up\njava.lang.OutOfMemoryError: Java heap space\n\tat x.y\nSomeException: late\n"
    assert last_words(log) == "java.lang.OutOfMemoryError: Java heap space"
    assert last_words("one\ntwo\n") == "two"
    assert last_words("a.b.SomeException: why\n+- Plan\n") == "a.b.SomeException: why"
    assert last_words("") == "no words"
