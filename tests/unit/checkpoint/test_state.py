"""The state at every version of checkpoints made without Spark, against a model."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.changelog import read_changelog
from bucketstate.checkpoint.format.names import Attempt, ChangelogName
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.store.state import read_changes
from bucketstate.errors import (
    DamagedFileError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
)
from tests.kit.checkpoints import CODECS, PUT, REMOVE, Built

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.checkpoints import Row

pytestmark = pytest.mark.usefixtures("each_reader")

SMALL = 2_000
"""Bytes of memory that make every few buckets a span of their own."""


def grown(root: Path, *, batches: int = 6, seed: int = 1, **settings: Any) -> Built:
    """Random puts and removals of a few hundred keys."""
    chance = random.Random(seed)
    built = Built(root, **settings)
    for number in range(batches):
        known = [key for rows in built.states[-1].values() for key in rows]
        changes: dict[Row, Row | None] = {
            (f"key-{chance.randrange(300)}",): (number, chance.randrange(100)) for _ in range(80)
        }
        changes |= dict.fromkeys(chance.sample(known, len(known) // 5))
        built.batch(changes)
    return built


def test_the_state_that_a_batch_made(tmp_path: Path) -> None:
    built = grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    assert rows(checkpoint.scan(batch=2).to_arrow()) == built.rows(3)
    assert checkpoint.scan(batch=2).to_pandas().equals(checkpoint.scan(version=3).to_pandas())
    assert checkpoint.overview(batch=2) == checkpoint.overview(3)
    assert checkpoint.plan(batch=2).target.version == 3
    with pytest.raises(InvalidArgumentError, match="version=3 and batch=2 are given"):
        checkpoint.scan(version=3, batch=2).to_arrow()


def test_a_batch_that_is_none_is_told_by_its_own_number(tmp_path: Path) -> None:
    grown(tmp_path, batches=2)
    checkpoint = Checkpoint(tmp_path)
    for read in (
        lambda batch: checkpoint.scan(batch=batch).to_arrow(),
        lambda batch: checkpoint.scan(batch=batch).get("a"),
        lambda batch: checkpoint.scan("changes", batch=batch).to_arrow(),
        lambda batch: checkpoint.scan("diff", batch=batch).to_arrow(),
        lambda batch: checkpoint.plan(batch=batch),
    ):
        with pytest.raises(NoSuchStateError, match="There is no batch -1: batches start at 0"):
            read(-1)
        with pytest.raises(NoSuchStateError, match=r"no version 100, which batch 99 makes"):
            read(99)
    with pytest.raises(NoSuchStateError, match="There is no version -1: versions start at 0"):
        checkpoint.scan(version=-1).to_arrow()
    with pytest.raises(NoSuchStateError, match="There is no batch -1"):
        checkpoint.overview(batch=-1)


def test_the_version_that_a_restart_opens_when_commits_are_missing(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (tmp_path / "commits/5").unlink()
    # Batch 5 was planned, and runs once more.
    assert Checkpoint(tmp_path).restart_version == 5
    (tmp_path / "commits/4").unlink()
    assert Checkpoint(tmp_path).restart_version == 5
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows(5)
    (tmp_path / "offsets/5").unlink()
    assert Checkpoint(tmp_path).restart_version == 4


def rows(table: pa.Table) -> set[tuple[int, Row, Row]]:
    found = [
        (row["partition_id"], tuple(row["key"].values()), tuple(row["value"].values()))
        for row in table.to_pylist()
    ]
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("memory", [SMALL, 2**28])
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("snapshots", [(), (3,), (2, 4), (1, 2, 6)])
def test_every_version(tmp_path: Path, snapshots: tuple[int, ...], ids: bool, memory: int) -> None:
    built = grown(tmp_path, ids=ids)
    if snapshots:
        built.snapshot(*snapshots)
    checkpoint = Checkpoint(tmp_path, memory=memory)
    assert checkpoint.versions == [1, 2, 3, 4, 5, 6]
    assert checkpoint.restart_version == 6
    for version in range(7):
        assert rows(checkpoint.scan(version=version).to_arrow()) == built.rows(version)
    assert rows(checkpoint.scan().to_arrow()) == built.rows()
    assert rows(checkpoint.scan(partition=1).to_arrow()) == {r for r in built.rows() if r[0] == 1}
    base = checkpoint.plan().base
    assert (base.version if base else 0) == (snapshots[-1] if snapshots else 0)
    assert checkpoint.plan().families[0].keys == len(built.states[-1][0])


def test_files_that_do_not_say_which_commit_they_build_on(tmp_path: Path) -> None:
    built = grown(tmp_path, commits=False)
    built.snapshot(2, 4)
    for version in range(7):
        assert rows(Checkpoint(tmp_path).scan(version=version).to_arrow()) == built.rows(version)


@pytest.mark.parametrize("target", [4, 6])
def test_a_manifest_of_an_attempt_that_was_replaced_is_passed_over(
    tmp_path: Path, target: int
) -> None:
    """Without checkpoint ids a retry writes the same names: it may be of the first try."""
    built = grown(tmp_path)
    built.snapshot(4)
    built.rewrite_manifest(4, commitId=str(uuid.UUID(int=7)))
    checkpoint = Checkpoint(tmp_path)
    plan = checkpoint.plan(version=target)
    assert plan.base is None
    expected = "4.manifest is of an attempt at its version that was replaced"
    assert expected in str(plan.skipped[0])
    assert rows(checkpoint.scan(version=target).to_arrow()) == built.rows(target)


def test_a_changelog_that_another_attempt_replaced_is_used(tmp_path: Path) -> None:
    """Without checkpoint ids: the file of version 4 is of the same batch, on the same base."""
    built = grown(tmp_path)
    rewrite(built, 4, commit=uuid.UUID(int=7))
    checkpoint = Checkpoint(tmp_path)
    (noticed,) = checkpoint.plan().replaced
    assert (noticed.version, noticed.path) == (4, str(built.folder(0) / "4.changelog"))
    assert "5.changelog: it was built on the commit" in str(noticed)
    assert rows(checkpoint.scan().to_arrow()) == built.rows()
    assert checkpoint.scan("changes", since=2, version=6).to_arrow().num_rows > 0
    assert checkpoint.plan(version=4).replaced == ()


def test_a_changelog_that_fits_neither_neighbour_is_of_another_history(tmp_path: Path) -> None:
    built = grown(tmp_path)
    rewrite(built, 4, commit=uuid.UUID(int=7), base_id=str(uuid.UUID(int=8)))
    expected = r"5\.changelog is damaged: it was built on the commit .* another history"
    with pytest.raises(DamagedFileError, match=expected):
        Checkpoint(tmp_path).scan().to_arrow()
    with pytest.raises(DamagedFileError, match=expected):
        Checkpoint(tmp_path).scan("changes", since=2, version=6).to_arrow()


SAME = -1
"""As many keys as there were."""


def rewrite(built: Built, version: int, keys: int | None = SAME, **header: Any) -> None:
    """Another attempt's file of partition 0, with the same changes, and perhaps another count."""
    path = built.folder(0) / f"{version}.changelog"
    index = read_changelog(Folder.at(built.folder(0)), ChangelogName(Attempt(version)))
    changes = Records.concat(list(read_changes(index, index.families[0])))
    records = zip(
        [PUT if put else REMOVE for put in changes.puts.tolist()],
        changes.keys.to_list(),
        changes.values.to_list(),
        strict=True,
    )
    keys = index.families[0].keys if keys == SAME else keys
    assert built.write_changelog(version, 0, records, keys, **header) == path


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(tmp_path: Path, codec: str) -> None:
    built = grown(tmp_path, codec=codec)
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


def test_changelogs_below_a_manifest_are_not_needed(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    built.drop_changelogs(4)
    checkpoint = Checkpoint(tmp_path)
    for version in (4, 5, 6):
        assert rows(checkpoint.scan(version=version).to_arrow()) == built.rows(version)
    with pytest.raises(MissingFileError, match=r"3\.changelog is not there, and no manifest"):
        checkpoint.scan(version=3).to_arrow()
    with pytest.raises(MissingFileError, match="compare two states with a scan of `diff`"):
        checkpoint.scan("changes", since=2, version=6).to_arrow()
    assert checkpoint.scan("diff", since=4, version=6).to_arrow().num_rows > 0


def test_what_another_attempt_left_is_not_looked_at(tmp_path: Path) -> None:
    built = grown(tmp_path, ids=True)
    loser = built.write_changelog(
        3, 0, [(1, b"\x01\x00\x01x", b"\x01\x00" + bytes(16))], 1, checkpoint_id="loser"
    )
    assert loser.exists()
    checkpoint = Checkpoint(tmp_path)
    for version in range(7):
        assert rows(checkpoint.scan(version=version).to_arrow()) == built.rows(version)


def test_a_batch_that_was_not_committed_is_there_by_its_version_alone(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.batch({("late",): (1, 1)}, commit=False)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.restart_version == 6
    assert rows(checkpoint.scan().to_arrow()) == built.rows(6)
    assert rows(checkpoint.scan(version=7).to_arrow()) == built.rows(7)


@pytest.mark.parametrize("memory", [SMALL, 2**28])
def test_differences(tmp_path: Path, memory: int) -> None:
    built = grown(tmp_path)
    built.snapshot(2, 4)
    checkpoint = Checkpoint(tmp_path, memory=memory)
    for older, newer in [(0, 6), (2, 5), (3, 3), (4, 6)]:
        before = {(p, k): v for p, k, v in built.rows(older)}
        after = {(p, k): v for p, k, v in built.rows(newer)}
        expected = {
            (p, k, before.get((p, k)), after.get((p, k)))
            for p, k in before.keys() | after.keys()
            if before.get((p, k)) != after.get((p, k))
        }
        found = checkpoint.scan("diff", since=older, version=newer).to_arrow().to_pylist()
        assert len(found) == len(expected)
        assert {
            (
                row["partition_id"],
                tuple(row["key"].values()),
                values(row["before"]),
                values(row["after"]),
            )
            for row in found
        } == expected
        kinds = {(row["before"] is None, row["after"] is None): row["change"] for row in found}
        assert (
            kinds.items()
            <= {(True, False): "added", (False, False): "changed", (False, True): "removed"}.items()
        )


def values(struct: dict[str, Any] | None) -> Row | None:
    return None if struct is None else tuple(struct.values())


def test_changes_replayed_lead_from_one_version_to_another(tmp_path: Path) -> None:
    built = grown(tmp_path)
    feed = Checkpoint(tmp_path).scan("changes", since=2, version=5).to_arrow().to_pylist()
    assert {row["batch_id"] for row in feed} == {2, 3, 4}
    state = {(p, k): v for p, k, v in built.rows(2)}
    for row in feed:
        key = (row["partition_id"], tuple(row["key"].values()))
        if row["change_type"] == "delete":
            assert row["value"] is None
            state.pop(key, None)
        else:
            state[key] = tuple(row["value"].values())
    assert {(p, k, v) for (p, k), v in state.items()} == built.rows(5)


def test_keys_per_bucket(tmp_path: Path) -> None:
    built = grown(tmp_path, buckets=5)
    built.snapshot(3)
    found = Checkpoint(tmp_path, memory=SMALL).scan().keys_per_bucket().to_pylist()
    assert [(row["partition_id"], row["bucket"]) for row in found] == [
        (p, b) for p in range(2) for b in range(5)
    ]
    assert sum(row["keys"] for row in found) == len(built.rows())


def test_a_frame_has_a_column_for_each_field(tmp_path: Path) -> None:
    grown(tmp_path)
    frame = Checkpoint(tmp_path).scan().to_pandas()
    assert list(frame) == ["key.key", "value.count", "value.total", "partition_id"]


def test_batches_are_small_and_come_one_by_one(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1, buckets=4)
    built.batch({(f"k{n}",): (n, n) for n in range(70_000)})
    sizes = [batch.num_rows for batch in Checkpoint(tmp_path).scan().to_arrow_batch_reader()]
    assert sum(sizes) == 70_000
    assert max(sizes) <= 65_536


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operator": 3}, "has no operator 3. There are: 0"),
        ({"partition": 2}, "has no partition 2: it has 0 to 1"),
        (
            {"version": 99},
            "has no version 99, which batch 98 makes. Spark's log has the versions 1 to 6",
        ),
        ({"version": -1}, "no version -1"),
        ({"store": "left"}, "has no store 'left'. There are: default"),
        ({"column_family": "timers"}, "has no column family 'timers'. There are: default"),
    ],
)
def test_what_there_is_not(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    grown(tmp_path)
    with pytest.raises(NoSuchStateError, match=message):
        Checkpoint(tmp_path).scan(**arguments).to_arrow()


def test_versions_in_the_wrong_order(tmp_path: Path) -> None:
    grown(tmp_path)
    with pytest.raises(NoSuchStateError, match="the older one as `since`"):
        Checkpoint(tmp_path).scan("changes", since=5, version=2).to_arrow()
