"""The state of checkpoints whose records expire, against a model."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketstate.checkpoint import Checkpoint
from tests.kit.aging import Aging, Record
from tests.kit.cases import examples
from tests.kit.checkpoints import NEVER, Row
from tests.unit.checkpoint.test_state import SMALL, rows, values

EXAMPLES = settings(
    max_examples=examples(10),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
KEYS = [(f"k{n}",) for n in range(12)]
VALUES = st.tuples(st.integers(0, 2), st.integers(0, 2))
RECORDS = st.none() | st.tuples(st.none() | st.integers(0, 9) | st.just(NEVER), VALUES)
VERSIONS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from(KEYS), RECORDS, max_size=8), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)


def read(root: Path, version: int | None = None, **how: Any) -> set[tuple[int, Row, Row]]:
    return rows(Checkpoint(root, **how).scan(version=version).to_arrow())


def at(start: int) -> datetime:
    return datetime.fromtimestamp(start, UTC)


@pytest.mark.slow
@EXAMPLES
@given(VERSIONS, st.none() | st.integers(0, 9), st.integers(0, 3), st.data())
def test_every_version_has_its_own_horizon(
    tmp_path: Path,
    versions: list[tuple[dict[Row, Record], int]],
    untimed: int | None,
    plain: int,
    data: st.DataObject,
) -> None:
    """Some versions without times, then some with; snapshots of any of them."""
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    built = Aging(root, buckets=3, sliced=data.draw(st.booleans()), tidy=data.draw(st.booleans()))
    horizon = 0
    for number, (changes, step) in enumerate(versions):
        if number < plain:
            built.batch({key: None if r is None else r[1] for key, r in changes.items()})
        else:
            horizon += step
            built.batch_at(changes, horizon=horizon, untimed=untimed)
    ends = data.draw(st.sets(st.integers(1, len(versions)), max_size=3))
    if ends:
        built.snapshot(*sorted(ends))
    memory = data.draw(st.sampled_from([1, 2**28]))
    for version in range(len(versions) + 1):
        assert read(root, version, memory=memory) == built.rows(version)
    assert Checkpoint(root).verify().findings == ()
    older = data.draw(st.integers(0, len(versions)))
    found = (
        Checkpoint(root, memory=memory)
        .scan("diff", since=older, version=len(versions))
        .to_arrow()
        .to_pylist()
    )
    before = {(p, k): v for p, k, v in built.rows(older)}
    after = {(p, k): v for p, k, v in built.rows()}
    assert {
        (row["partition_id"], tuple(row["key"].values())): (
            values(row["before"]),
            values(row["after"]),
        )
        for row in found
    } == {
        key: (before.get(key), after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key) != after.get(key)
    }
    times = Checkpoint(root).scan(times=True).to_arrow()["time_bucket"].to_pylist()
    counted = Checkpoint(root).scan().keys_per_time_bucket().to_pylist()
    assert sorted(map(str, times)) == sorted(
        str(row["time_bucket"]) for row in counted for _ in range(row["keys"])
    )


@pytest.fixture
def built(tmp_path: Path) -> Aging:
    return Aging(tmp_path, partitions=1)


def test_a_newest_record_that_has_expired_hides_older_ones_that_have_not(built: Aging) -> None:
    """Times do not decide which record counts: the key is gone."""
    built.batch_at({("a",): (900, (1, 1)), ("b",): (900, (2, 2))}, horizon=0)
    built.batch_at({("a",): (100, (3, 3))}, horizon=0)
    built.batch_at({("c",): (700, (4, 4))}, horizon=500)
    assert read(built.root, 2) == {(0, ("a",), (3, 3)), (0, ("b",), (2, 2))}
    expected = {(0, ("b",), (2, 2)), (0, ("c",), (4, 4))}
    assert read(built.root) == expected
    # The same where the older record is in a run, and where both are in runs.
    for ends in [(1,), (1, 2), (1, 2, 3)]:
        built.snapshot(*ends)
        assert read(built.root) == expected
        assert Checkpoint(built.root).plan().base is not None


def test_a_key_that_is_written_again_is_there_again(built: Aging) -> None:
    built.batch_at({("a",): (100, (1, 1))}, horizon=0)
    built.batch_at({}, horizon=101)
    built.batch_at({("a",): (200, (2, 2))}, horizon=101)
    assert [len(read(built.root, version)) for version in (1, 2, 3)] == [1, 0, 1]


@pytest.mark.parametrize(
    ("untimed", "horizon", "there"),
    [(None, 0, True), (None, NEVER, True), (500, 500, True), (500, 501, False), (0, 1, False)],
)
def test_records_without_a_time_count_as_being_in_one_time_bucket(
    built: Aging, untimed: int | None, horizon: int, there: bool
) -> None:
    built.batch({("a",): (1, 1)})
    built.snapshot(1)
    built.batch_at({("b",): (NEVER, (2, 2)), ("c",): (None, (3, 3))}, horizon=0)
    built.batch_at({}, horizon=horizon, untimed=untimed)
    assert {key for _, (key,), _ in read(built.root)} == ({"a", "b", "c"} if there else {"b"})
    counted = Checkpoint(built.root).scan().keys_per_time_bucket().to_pylist()
    start = None if untimed is None else at(untimed)
    by_start = {row["time_bucket"]: row["keys"] for row in counted}
    assert by_start.get(start, 0) == (2 * there if untimed is not None else 3)


def test_the_last_second_expires_and_never_does_not(built: Aging) -> None:
    latest = NEVER - 1
    built.batch_at({("a",): (latest, (1, 1)), ("b",): (NEVER, (2, 2))}, horizon=latest)
    built.batch_at({}, horizon=NEVER)
    assert [len(read(built.root, version)) for version in (1, 2)] == [2, 1]


@pytest.mark.parametrize("memory", [SMALL, 2**28])
def test_files_of_a_run_share_buckets_where_their_times_are_apart(
    tmp_path: Path, memory: int
) -> None:
    built = Aging(tmp_path, sliced=True)
    built.batch_at({(f"k{n}",): (100 * (n % 7), (n, n)) for n in range(300)}, horizon=0)
    built.batch_at({(f"k{n}",): (900, (n, -n)) for n in range(0, 300, 9)}, horizon=300)
    built.batch_at({(f"k{n}",): None for n in range(0, 300, 11)}, horizon=400)
    built.snapshot(1, 3)
    plan = Checkpoint(tmp_path).plan()
    assert plan.base is not None
    assert plan.base.runs[-1].slices(0)
    assert read(tmp_path, memory=memory) == built.rows()
    assert Checkpoint(tmp_path).scan().keys_per_bucket()["keys"].to_pylist() != []
    report = Checkpoint(tmp_path).verify()
    assert report.findings == ()
    assert sum(r.keys for r in report.restarts) == len(built.rows())


def test_records_without_a_time_have_a_file_of_their_own(built: Aging) -> None:
    built.sliced = True
    built.batch({(f"old{n}",): (n, n) for n in range(60)})
    built.batch_at({(f"k{n}",): (100 * (n % 4), (n, n)) for n in range(60)}, horizon=0, untimed=0)
    built.snapshot(2)
    plan = Checkpoint(built.root).plan()
    assert plan.skipped == ()
    assert plan.base is not None
    assert [file.times is None for file in plan.base.runs[-1].files] == [False, False, True]
    assert read(built.root) == built.rows()
    assert Checkpoint(built.root).verify().findings == ()


def test_a_file_of_which_all_has_expired_need_not_be_named(built: Aging) -> None:
    built.sliced = True
    built.batch_at({(f"k{n}",): (100 * (n % 4), (n, n)) for n in range(40)}, horizon=0)
    built.batch_at({}, horizon=200)
    built.snapshot(1, 2)
    plan = Checkpoint(built.root).plan()
    assert plan.base is not None
    earlier, later = plan.base.runs[-1].files
    assert earlier.times is not None
    assert earlier.times.last < 200
    left = {"name": later.name, "bytes": later.size, "entries": later.entries, "tombstones": 0}
    left |= {"checksum": f"crc32c:{later.checksum:08x}", "firstTimeBucket": 200}
    left |= {"lastTimeBucket": 300, "buckets": [vars(b) for b in later.buckets]}
    oldest = {"firstVersion": 1, "lastVersion": 1, "files": [left]}
    built.rewrite_manifest(2, runs=[{"firstVersion": 2, "lastVersion": 2, "files": []}, oldest])
    (built.folder() / earlier.name).unlink()
    found = Checkpoint(built.root)
    assert found.plan().base is not None
    assert rows(found.scan().to_arrow()) == built.rows()
    assert found.verify().ok


def test_the_feed_has_what_was_written_and_differences_what_expired(built: Aging) -> None:
    built.batch_at({("a",): (100, (1, 1)), ("b",): (300, (2, 2))}, horizon=0)
    built.batch_at({("c",): (300, (3, 3))}, horizon=200)
    # At this version's horizon the record is a removal: no writer of ours does that.
    built.batch_at({("b",): (100, (4, 4))}, horizon=200)
    checkpoint = Checkpoint(built.root)
    feed = checkpoint.scan("changes", since=1, version=3).to_arrow().to_pylist()
    assert [(r["batch_id"], r["change_type"], r["key"]["key"]) for r in feed] == [
        (1, "update", "c"),
        (2, "delete", "b"),
    ]
    assert feed[-1]["value"] is None
    differences = checkpoint.scan("diff", since=1, version=2).to_arrow().to_pylist()
    assert {(r["change"], r["key"]["key"]) for r in differences} == {
        ("removed", "a"),
        ("added", "c"),
    }
    assert checkpoint.history()["keys"].to_pylist() == [2, 2, 1]


def test_a_value_with_another_time_is_the_same_value(built: Aging) -> None:
    built.batch({("a",): (1, 1), ("b",): (2, 2)})
    built.batch_at({("a",): (500, (1, 1)), ("b",): (500, (3, 3))}, horizon=0)
    built.batch_at({("a",): (700, (1, 1))}, horizon=0)
    checkpoint = Checkpoint(built.root)
    assert [
        row["key"]["key"]
        for row in checkpoint.scan("diff", since=1, version=3).to_arrow().to_pylist()
    ] == ["b"]


def test_a_column_says_when_keys_expire(built: Aging) -> None:
    written: dict[Row, Record] = {
        ("a",): (1_700_000_000, (1, 1)),
        ("b",): (NEVER, (2, 2)),
        ("c",): (None, (3, 3)),
    }
    built.batch_at(written, horizon=0)
    built.batch_at({}, horizon=0, untimed=1_700_003_600)
    checkpoint = Checkpoint(built.root)
    found = checkpoint.scan(times=True).to_arrow()
    assert found.column_names == ["key", "value", "partition_id", "time_bucket"]
    by_key = {row["key"]["key"]: row["time_bucket"] for row in found.to_pylist()}
    assert by_key == {"a": at(1_700_000_000), "b": None, "c": at(1_700_003_600)}
    assert checkpoint.scan(version=1, times=True).to_arrow()["time_bucket"].null_count == 2
    frame = checkpoint.scan(times=True).to_pandas()
    assert list(frame)[-1] == "time_bucket"


def test_nothing_expires_where_records_have_no_times(built: Aging) -> None:
    built.batch({("a",): (1, 1)})
    checkpoint = Checkpoint(built.root)
    assert checkpoint.scan(times=True).to_arrow()["time_bucket"].to_pylist() == [None]
    (row,) = checkpoint.scan().keys_per_time_bucket().to_pylist()
    assert row == {"partition_id": 0, "time_bucket": None, "keys": 1}
    assert checkpoint.scan(version=0).keys_per_time_bucket().num_rows == 0
    assert checkpoint.overview().operators[0].stores[0].families[0].expiry is None


def test_what_is_known_of_the_times_at_a_glance(built: Aging) -> None:
    written: dict[Row, Record] = {
        ("a",): (3600, (1, 1)),
        ("b",): (7200, (2, 2)),
        ("c",): (None, (3, 3)),
        ("d",): (NEVER, (4, 4)),
    }
    built.batch_at(written, horizon=0)
    built.batch_at({}, horizon=7200, untimed=7200, newest=10_800)
    first, second = (
        Checkpoint(built.root).overview(version).operators[0].stores[0].families[0].expiry
        for version in (1, 2)
    )
    assert first is not None
    assert (first.horizon, first.newest) == (None, None)
    assert second is not None
    assert (second.horizon, second.newest) == (at(7200), at(10_800))
    assert second.untimed_keys == 1
    assert [(b.start, b.keys) for b in second.time_buckets] == [(at(7200), 2), (None, 1)]
