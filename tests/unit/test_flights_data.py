"""The demo's input: whole, in order, and the same each time."""

from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from flights import data


def test_the_year_is_cut_into_ordered_slices(tmp_path: Path) -> None:
    folder = tmp_path / "input"
    data.prepare(folder)
    files = sorted(folder.glob("*.parquet"))
    assert len(files) == data.SLICES
    assert [f.stat().st_mtime for f in files] == sorted({f.stat().st_mtime for f in files})
    tables = [pq.read_table(f, columns=["scheduled", "tailnum"]) for f in files]
    assert sum(t.num_rows for t in tables) == data.FLIGHTS
    assert sum(t["tailnum"].null_count for t in tables) == 2_512
    bounds = [(t["scheduled"][0].as_py(), t["scheduled"][-1].as_py()) for t in tables]
    assert all(first <= last for first, last in bounds)
    assert all(a[1] < b[0] for a, b in pairwise(bounds))
