"""What of each bucket lies in data files and what in changelogs alone, against a model."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint, Plan
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.spark.keys import LISTS
from bucketstate.checkpoint.store.bucket_residency import NUMBERS, residency_per_bucket
from bucketstate.checkpoint.store.residency import Residency
from bucketstate.checkpoint.store.state import MEMORY
from bucketstate.errors import DamagedFileError
from tests.kit.aging import Aging
from tests.kit.checkpoints import NEVER, Built, bucket_of
from tests.kit.rows import compact_row
from tests.unit.checkpoint.test_state import SMALL, grown

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from bucketstate.checkpoint.overview import StoreOverview
    from tests.kit.checkpoints import Row

Place = tuple[int, int]
"""A partition and a bucket."""

OTHER = Family(1, "other", "compact-row/1", "compact-row/1", 0)


def summed(table: pa.Table, partition: int) -> dict[str, int]:
    rows = [row for row in table.to_pylist() if row["partition_id"] == partition]
    return {name: sum(row[name] for row in rows) for name in NUMBERS}


def per_place(table: pa.Table, name: str) -> dict[Place, int]:
    return {(r["partition_id"], r["bucket"]): r[name] for r in table.to_pylist() if r[name]}


def stores(checkpoint: Checkpoint, version: int | None = None) -> tuple[StoreOverview, ...]:
    (operator,) = checkpoint.overview(version).operators
    return operator.stores


def check_sums(checkpoint: Checkpoint, version: int | None = None) -> None:
    """What buckets have is together what `overview` tells without reading the state."""
    table = checkpoint.scan(version=version).residency_per_bucket()
    for store in stores(checkpoint, version):
        of, sums = store.residency, summed(table, store.partition)
        assert of is not None
        assert sums["keys"] == store.keys
        for name in ("cold_entries", "cold_bytes", "warm_records", "warm_bytes"):
            assert sums[name] == getattr(of, name)
        assert sums["warm_keys"] <= sums["warm_records"]
        assert of.resident_keys <= sums["keys"]


@pytest.mark.parametrize(("ids", "memory"), [(False, SMALL), (True, MEMORY)])
@pytest.mark.parametrize("snapshots", [(), (3,), (2, 4), (1, 2, 6)])
def test_sums_are_what_the_overview_tells(
    tmp_path: Path, snapshots: tuple[int, ...], ids: bool, memory: int
) -> None:
    built = grown(tmp_path, ids=ids, buckets=7)
    if snapshots:
        built.snapshot(*snapshots)
    checkpoint = Checkpoint(tmp_path, memory=memory)
    for version in range(7):
        check_sums(checkpoint, version)
    report = checkpoint.verify()
    assert report.ok
    table = checkpoint.scan().residency_per_bucket()
    assert [r.keys for r in report.restarts] == [summed(table, p)["keys"] for p in range(2)]


@pytest.mark.parametrize("memory", [SMALL, MEMORY])
@pytest.mark.parametrize("seed", range(4))
def test_every_bucket_has_what_the_model_has(tmp_path: Path, seed: int, memory: int) -> None:
    chance = random.Random(seed)
    built = grown(tmp_path, seed=seed, buckets=chance.choice([1, 3, 8, 13]))
    first, last = sorted(chance.sample(range(1, 7), 2))
    built.snapshot(first, last)
    table = Checkpoint(tmp_path, memory=memory).scan().residency_per_bucket()

    keys = Counter(place(built, p, key) for p, key, _ in built.rows())
    assert per_place(table, "keys") == keys

    entries: Counter[Place] = Counter()
    cold: Counter[Place] = Counter()
    for older, newer in [(0, first), (first, last)]:
        for partition in range(built.partitions):
            before, after = built.states[older][partition], built.states[newer][partition]
            for key in before.keys() | after.keys():
                if before.get(key) != after.get(key):
                    at = place(built, partition, key)
                    entries[at] += 1
                    cold[at] += size(built, key, after.get(key))
    assert per_place(table, "cold_entries") == entries
    assert per_place(table, "cold_raw_bytes") == cold

    records: Counter[Place] = Counter()
    warm: Counter[Place] = Counter()
    changed = set()
    for row in Checkpoint(tmp_path).scan("changes", since=last, version=6).to_arrow().to_pylist():
        key, value = tuple(row["key"].values()), row["value"]
        at = place(built, row["partition_id"], key)
        changed.add((at, key))
        records[at] += 1
        warm[at] += size(built, key, None if value is None else tuple(value.values()))
    assert per_place(table, "warm_records") == records
    assert per_place(table, "warm_raw_bytes") == warm
    assert per_place(table, "warm_keys") == Counter(at for at, _ in changed)
    for store in stores(Checkpoint(tmp_path)):
        living = {key for (partition, _), key in changed if partition == store.partition}
        living &= built.states[-1][store.partition].keys()
        assert store.residency is not None
        assert store.residency.resident_keys >= len(living)
    # Of files, each bucket takes something where it has anything, and nothing where it has not.
    assert per_place(table, "cold_bytes").keys() == cold.keys()
    assert per_place(table, "warm_bytes").keys() <= warm.keys()


def place(built: Built, partition: int, key: Row) -> Place:
    return partition, bucket_of(compact_row(built.key, key), built.buckets)


def size(built: Built, key: Row, value: Row | None) -> int:
    return len(compact_row(built.key, key)) + (
        0 if value is None else len(compact_row(built.value, value))
    )


@pytest.mark.parametrize("sliced", [False, True])
def test_what_has_expired_is_in_the_files_still(tmp_path: Path, sliced: bool) -> None:
    built = Aging(tmp_path, sliced=sliced)
    built.batch_at({(f"k{n}",): (100 * (n % 9), (n, n)) for n in range(90)}, horizon=0)
    built.snapshot(1)
    built.batch_at({("late",): (300, (1, 1)), ("always",): (NEVER, (1, 1))}, horizon=400)
    checkpoint = Checkpoint(tmp_path)
    check_sums(checkpoint)
    sums = [summed(checkpoint.scan().residency_per_bucket(), p) for p in range(2)]
    assert sum(s["cold_entries"] for s in sums) == 90
    assert sum(s["keys"] for s in sums) == 50 + 1
    assert sum(s["warm_keys"] for s in sums) == 2


def plan_of(root: Path) -> Plan:
    return Checkpoint(root).plan()


def test_what_must_stay_is_bounded_by_the_changes(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1)
    built.batch({(f"k{n}",): (n, n) for n in range(100)})
    built.snapshot(1)
    built.batch({("k1",): (0, 0), ("k2",): None})
    built.batch({("k1",): (1, 1), ("k3",): (1, 1)})
    of = Residency.of(plan_of(tmp_path))
    assert (of.cold_entries, of.warm_records) == (100, 4)
    assert (of.resident_keys, of.resident_share) == (4, 4 / 99)
    sums = summed(Checkpoint(tmp_path).scan().residency_per_bucket(), 0)
    assert (sums["keys"], sums["warm_keys"], sums["warm_records"]) == (99, 3, 4)


def test_without_a_manifest_all_must_stay(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1)
    built.batch({("a",): (1, 1), ("b",): (1, 1)})
    built.batch({("a",): (2, 2)})
    assert Residency.of(plan_of(tmp_path)).resident_share == 1
    assert Residency.of(Checkpoint(tmp_path).plan(version=0)).resident_share is None


def test_keys_with_several_values_must_all_stay(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1)
    built.batch({(f"k{n}",): (n, n) for n in range(10)})
    built.snapshot(1)
    built.batch({("k1",): (0, 0)})
    plan = plan_of(tmp_path)
    assert Residency.of(plan).resident_keys == 1
    (newest,) = plan.changelogs
    lists = replace(newest, families=(replace(newest.families[0], value_encoding=LISTS),))
    assert Residency.of(replace(plan, changelogs=(lists,))).resident_keys == 10


def test_what_files_have_of_removed_families_is_of_none(tmp_path: Path) -> None:
    built = grown(tmp_path, partitions=1)
    built.snapshot(4)
    plan = plan_of(tmp_path)
    last = replace(plan.changelogs[-1], families=(OTHER,), blocks=())
    removed = replace(plan, changelogs=(*plan.changelogs[:-1], last))
    store = Checkpoint(tmp_path).store()
    rows = residency_per_bucket(store, removed, MEMORY).to_pylist()
    assert not any(row[name] for row in rows for name in NUMBERS if row["column_family"])
    left = [row for row in rows if row["column_family"] is None]
    of = Residency.of(removed)
    for name in ("cold_entries", "cold_bytes", "warm_records", "warm_bytes"):
        assert sum(row[name] for row in left) == getattr(of, name) > 0
    assert of.resident_keys == 0


def test_another_number_of_entries_than_the_manifest_s_is_damage(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(6, files=1)
    runs: list[Any] = json.loads((built.folder() / "6.manifest").read_bytes())["runs"]
    runs[0]["files"][0]["entries"] += 1
    built.rewrite_manifest(6, runs=runs)
    with pytest.raises(DamagedFileError, match=r"expected \d+ entries, 0 of them tombstones"):
        Checkpoint(tmp_path).scan().residency_per_bucket()
