"""What the page about a large checkpoint adds up or leaves out, and that it says so."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rewrite
from tests.unit.test_report import batches, page

pytestmark = pytest.mark.slow


def test_many_batches_are_thinned_and_the_page_says_so(built: Built) -> None:
    many = batches(2500)
    many[777]["durationMs"]["triggerExecution"] = 99_000
    found = page(built.root, progress=many)
    assert "the slowest batch of each 3 in a row" in found.text
    for title in ("Batch time by phase", "Memory", "Rows"):
        traces = found.charts[title].traces.values()
        assert all(len(trace["x"]) == 834 for trace in traces)
    assert "2026-03-01 01:04:45.000" in next(iter(found.charts["Rows"].traces.values()))["x"]
    assert "the slowest took 99.0 s" in found.charts["Batch time by phase"].finding


def test_restarts_are_counted_before_batches_are_thinned(built: Built) -> None:
    """A run that is too short to have the slowest batch of some in a row is a run all the same."""
    runs = ["first"] * 1200 + ["short"] * 2 + ["third"] * 1298
    many = [one | {"runId": run} for one, run in zip(batches(2500), runs, strict=True)]
    # The batch beside the short run is the slowest of its three.
    many[1202]["durationMs"]["triggerExecution"] = 99_000
    found = page(built.root, progress=many)
    assert "Dotted: 2 restarts of the query." in found.text
    starts = [many[n]["timestamp"][:19].replace("T", " ") + ".000" for n in (1200, 1202)]
    for title in ("Batch time by phase", "Rows"):
        shapes = found.charts[title].spec["layout"]["shapes"]
        assert [shape["x0"] for shape in shapes] == starts


def test_many_buckets_are_added_up_and_the_page_says_so(tmp_path: Path) -> None:
    built = grown(tmp_path / "checkpoint", buckets=300)
    found = page(built.root)
    (cells,) = found.charts["Keys per bucket"].spec["data"]
    assert [len(row) for row in cells["z"]] == [100, 100]
    assert cells["x"][-1] == "297 to 299"
    assert sum(sum(row) for row in cells["z"]) == len(built.rows())
    assert (
        "Shown are the sums of each 3 buckets in a row." in found.charts["Keys per bucket"].finding
    )


def with_second(built: Built, uncounted: Iterable[int] = ()) -> None:
    """Another operator of the same changes, which has not counted its keys at some versions."""
    first, second = built.root / "state/0", built.root / "state/1"
    shutil.copytree(first, second)
    for partition in range(2):
        # The store ids of its manifests are those of the operator that was copied.
        for manifest in (second / str(partition)).glob("*.manifest"):
            manifest.unlink()
    metadata = second / "_metadata/metadata"
    text = metadata.read_text().replace('"operatorId": 0', '"operatorId": 1')
    metadata.write_text(text.replace("stateStoreSave", "dedupe"))
    for version in uncounted:
        rewrite(built, version, None)
        # The first operator's file was rewritten: they change places.
        name = f"0/{version}.changelog"
        written = (first / name).read_bytes()
        shutil.copyfile(second / name, first / name)
        (second / name).write_bytes(written)


def test_several_operators_and_stores_have_charts_of_their_own(built: Built) -> None:
    with_second(built)
    found = page(built.root)
    first = found.charts["Operator 0 (stateStoreSave): keys per partition"]
    assert first.values == found.charts["Operator 1 (dedupe): keys per partition"].values
    assert set(found.charts["Keys by version"].traces) == {"operator 0", "operator 1"}
    assert "Operator 1 (dedupe): keys per bucket" in found.charts


def test_an_operator_that_nobody_counted_is_named(built: Built) -> None:
    alone = page(built.root).charts["Keys by version"].finding
    with_second(built, uncounted=range(1, 7))
    charts = page(built.root).charts
    assert set(charts["Keys by version"].traces) == {"operator 0"}
    assert charts["Keys by version"].finding == (
        f"Without operator 1: {alone} "
        "Keys of 6 versions of operator 1 were not counted (exactKeyCount)."
    )
    changed = charts["Changed keys by version"]
    assert set(changed.traces) == {"operator 0", "operator 1"}
    assert "operator 1" not in changed.finding


@pytest.mark.parametrize(
    ("first", "second", "between", "said"),
    [
        ([], [1, 6], (2, 5), "Keys of 2 versions of operator 1 were not counted (exactKeyCount)."),
        ([6], [6], (1, 5), "Keys of 1 version were not counted (exactKeyCount)."),
        (
            [5, 6],
            [1, 2, 3, 4],
            None,
            "Keys of 2 versions of operator 0 were not counted (exactKeyCount). "
            "Keys of 4 versions of operator 1 were not counted (exactKeyCount).",
        ),
    ],
)
def test_keys_are_told_of_versions_at_which_all_operators_are_counted(
    built: Built,
    first: Sequence[int],
    second: Sequence[int],
    between: tuple[int, int] | None,
    said: str,
) -> None:
    with_second(built, uncounted=second)
    for version in first:
        rewrite(built, version, None)
    chart = page(built.root).charts["Keys by version"]
    # Both operators hold the same.
    held = [2 * sum(map(len, state.values())) for state in built.states]
    told = "There is no version at which all of these are known."
    if between is not None:
        oldest, newest = between
        told = f"{held[oldest]:,} at version {oldest}, {held[newest]:,} at version {newest}."
    assert chart.finding == f"{told} {said}"
    known = [value is not None for value in chart.traces["operator 1"]["y"]]
    assert [version for version, is_known in enumerate(known, 1) if not is_known] == [
        version for version in second if version not in first
    ]


def test_many_partitions_are_left_out_and_the_page_says_so(tmp_path: Path) -> None:
    built = Built(tmp_path / "checkpoint", partitions=1010, buckets=2)
    built.batch({(f"key-{n}",): (1, 1) for n in range(100)})
    found = page(built.root)
    chart = found.charts["Keys per partition"]
    assert len(chart.values) == 1000
    assert "Shown are the 1,000 largest of 1,010 partitions." in chart.finding
    (cells,) = found.charts["Keys per bucket"].spec["data"]
    assert len(cells["z"]) == 200
    assert sum(map(sum, cells["z"])) == 100


def test_many_versions_are_added_up_and_the_page_says_so(tmp_path: Path) -> None:
    built = Built(tmp_path / "checkpoint", partitions=1)
    for n in range(1001):
        built.batch({(f"key-{n % 7}",): (n, n)})
    found = page(built.root, state=False)
    files = found.charts["Files by the version that wrote them"]
    assert "the sums of each 2 versions in a row" in files.finding
    assert (len(files.values), sum(files.values)) == (501, 1001)
    assert re.search(
        r"; versions ([0-9,]+) to ([0-9,]+) wrote most, ",
        found.charts["Bytes by the version that wrote them"].finding,
    )
    changed = found.charts["Changed keys by version"]
    assert sum(changed.values) == 1001
    assert changed.finding.startswith("1,001 in all; versions 1 to 2 have most, 2. Shown are")
