"""Answers in SQL, and what is told where a stream's rows are others."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bucketstate_nexmark.answers.compare import compare
from bucketstate_nexmark.events.files import Amount, Files, write
from bucketstate_nexmark.events.generator import CLOSING_ID
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write(tmp_path_factory.mktemp("events"), Model(rate=1000), Amount(2000, 1000))


def put_out(folder: Path, batch: int, rows: list[dict[str, object]]) -> None:
    target = folder / f"batch={batch}"
    target.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), target / "part.parquet")


def bids(events: Files) -> dict[int, int]:
    """How many bids each bidder has made, counted by hand; the closing one is of nobody."""
    counts = {CLOSING_ID: 1}
    for file in events.batches:
        for bid in pq.read_table(file)["bid"].to_pylist():
            if bid is not None:
                counts[bid["bidder"]] = counts.get(bid["bidder"], 0) + 1
    return counts


def by_bidder(counts: dict[int, int], window: str) -> list[dict[str, object]]:
    return [{"bidder": b, "started": window, "bids": n} for b, n in counts.items()]


def test_every_query_has_an_answer() -> None:
    there = {file.name for file in files("bucketstate_nexmark.answers").iterdir()}
    assert {f"{form.query}.sql" for form in FORMS.values()} <= there


@pytest.mark.parametrize("query", ["q0", "q7", "q9", "q18", "q20"])
def test_the_text_that_fills_a_bid_up_is_put_out_as_in_the_original(query: str) -> None:
    sql = (files("bucketstate_nexmark.answers") / f"{query}.sql").read_text("utf-8")
    assert re.search(r"\b(bid_)?extra\b", sql.partition("FROM")[0])


def test_the_last_row_of_a_key_counts(made: Files, tmp_path: Path) -> None:
    counts = bids(made)
    put_out(tmp_path, 0, by_bidder(dict.fromkeys(counts, 0), "12:00"))
    put_out(tmp_path, 1, by_bidder(counts, "12:00"))
    found = compare(FORMS["q12"], made, tmp_path)
    assert found.equal
    assert found.rows == len(counts)


def test_windows_of_processing_time_add_up(made: Files, tmp_path: Path) -> None:
    counts = bids(made)
    put_out(tmp_path, 0, by_bidder(dict.fromkeys(counts, 1), "12:00"))
    put_out(tmp_path, 1, by_bidder({b: n - 1 for b, n in counts.items() if n > 1}, "12:10"))
    assert compare(FORMS["q12"], made, tmp_path).equal


def test_what_is_missing_and_unexpected_is_told(made: Files, tmp_path: Path) -> None:
    counts = bids(made)
    (one, n), *_ = counts.items()
    counts[one] = n + 1
    counts[5] = 1
    put_out(tmp_path, 0, by_bidder(counts, "12:00"))
    found = compare(FORMS["q12"], made, tmp_path)
    assert not found.equal
    assert (found.missing, found.unexpected) == (1, 2)
    assert f"missing: ({one}, {n})" in found.examples


def test_a_row_that_came_twice_is_unexpected(made: Files, tmp_path: Path) -> None:
    counts = bids(made)
    put_out(tmp_path, 0, [*by_bidder(counts, "12:00"), *by_bidder(counts, "12:00")])
    assert not compare(FORMS["q12"], made, tmp_path).equal
