"""Checkpoints that were rewritten in place: the number of partitions depends on the batch."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.errors import NoSuchStateError, RefusedMoveError
from bucketstate.move import clone, fork, rewind
from tests.kit.checkpoints import Built, Row, log
from tests.unit.checkpoint.test_repartition import recorded
from tests.unit.checkpoint.test_state import grown, rows

CASES = [(2, 5, False), (4, 1, True), (5, 2, False), (1, 3, True)]


def metadata(built: Built) -> Path:
    return built.root / "state/0/_metadata/metadata"


def rewritten(built: Built, partitions: int) -> None:
    """A batch of its own, with a manifest alone in each store."""
    batch = built.version
    state: dict[int, dict[Row, Row]] = {p: {} for p in range(partitions)}
    built.partitions = partitions
    for of in built.states[-1].values():
        for key, value in of.items():
            state[built.partition_of(key)][key] = value
    for older in built.states:
        for partition in range(partitions):
            older.setdefault(partition, {})
            built.folder(partition).mkdir(exist_ok=True)
    built.states.append(state)
    recorded(built, batch, partitions, 1000 + batch)
    built.snapshot(built.version)
    head, body = metadata(built).read_text().split("\n")
    found = json.loads(body)
    found["stateStoreInfo"][0]["numPartitions"] = partitions
    log(metadata(built), int(head[1:]), found)
    built.commit_batch(batch)


def on(built: Built, number: int) -> None:
    built.batch({(f"key-{number}-{i}",): (number, i) for i in range(20)})
    recorded(built, built.version - 1, built.partitions, 1000 + built.version)


def made(root: Path, before: int, after: int, *, ids: bool) -> Built:
    """Four batches, the rewrite, and two more."""
    built = grown(root, batches=4, partitions=before, ids=ids, commits=True)
    for batch in range(4):
        recorded(built, batch, before, 1000 + batch)
    rewritten(built, after)
    on(built, 5)
    on(built, 6)
    return built


def partitions_of(root: Path) -> int:
    return Checkpoint(root).operator_at(0).stores[0].partitions


@pytest.mark.parametrize(("before", "after", "ids"), CASES)
def test_every_version_is_read_in_its_own_partitions(
    tmp_path: Path, before: int, after: int, ids: bool
) -> None:
    built = made(tmp_path / "checkpoint", before, after, ids=ids)
    found = Checkpoint(built.root)
    assert found.last_batch == 6
    report = found.verify()
    assert report.ok, report.findings
    assert len(report.restarts) == after
    history = found.history().to_pylist()
    for version in range(1, 8):
        of = before if version < 5 else after
        assert rows(found.scan(version=version).to_arrow()) == built.rows(version)
        assert {r["partition_id"] for r in history if r["version"] == version} == set(range(of))
        assert len(found.overview(version).operators[0].stores) == of
        with pytest.raises(NoSuchStateError, match="has no partition"):
            found.scan(version=version, partition=of).to_arrow()
    with pytest.raises(NoSuchStateError, match=f"from {before} to {after} partitions"):
        found.scan("diff", since=4, version=6).to_arrow()
    assert found.scan("diff", since=5, version=6).to_arrow().num_rows == 20


@pytest.mark.parametrize(("before", "after", "ids"), CASES)
def test_a_key_is_followed_wherever_it_lay(
    tmp_path: Path, before: int, after: int, ids: bool
) -> None:
    """These lie elsewhere than Spark's hash says, as those of a few operators do."""
    built = made(tmp_path / "checkpoint", before, after, ids=ids)
    found = Checkpoint(built.root)
    lay = {v: {key: (p, value) for p, key, value in built.rows(v)} for v in range(1, 8)}
    for key in [*sorted(lay[4])[:6], *sorted(lay[7])[-2:]]:
        history = found.scan("history", key=key).to_arrow().to_pylist()
        assert [row["version"] for row in history] == list(range(1, 8))
        for row in history:
            there = lay[row["version"]].get(key)
            assert (row["value"] is None) == (there is None), (key, row)
            if there is not None:
                assert (row["partition_id"], tuple(row["value"].values())) == there


@pytest.mark.parametrize(("before", "after", "ids"), CASES)
def test_copies_and_the_way_back(tmp_path: Path, before: int, after: int, ids: bool) -> None:
    built = made(tmp_path / "checkpoint", before, after, ids=ids)
    for batch in range(7):
        of = before if batch < 4 else after
        for how, root in (("fork", tmp_path / f"fork-{batch}"), ("back", tmp_path / f"b-{batch}")):
            if how == "fork":
                fork(built.root, root, batch)
            else:
                shutil.copytree(built.root, root)
                rewind(root, batch, stopped=True)
            found = Checkpoint(root)
            assert found.last_batch == batch
            report = found.verify()
            assert report.ok, report.findings
            assert rows(found.scan().to_arrow()) == built.rows(batch + 1)
            assert partitions_of(root) == of
            recorded_ = json.loads((root / metadata(built).relative_to(built.root)).read_text()[3:])
            assert recorded_["stateStoreInfo"][0]["numPartitions"] == of
            left = Counter(p.suffix for p in root.glob(f"state/0/*/{batch + 2}*.*"))
            assert not left


def test_a_savepoint_of_before(tmp_path: Path) -> None:
    built = grown(tmp_path / "checkpoint", batches=4, partitions=3, commits=True)
    for batch in range(4):
        recorded(built, batch, 3, 1000 + batch)
    savepoints.create(built.root, "before", stopped=True)
    rewritten(built, 2)
    for number in range(5, 8):
        on(built, number)
    # Spark has forgotten what was before the rewrite.
    for batch in range(4):
        for name in ("offsets", "commits"):
            (built.root / name / str(batch)).unlink()
    found = Checkpoint(built.root)
    assert rows(found.scan(batch=3).to_arrow()) == built.rows(4)
    assert found.verify().ok
    clone(built.root, tmp_path / "held", savepoint="before")
    assert partitions_of(tmp_path / "held") == 3
    assert rows(Checkpoint(tmp_path / "held").scan().to_arrow()) == built.rows(4)
    rewind(built.root, savepoint="before", stopped=True)
    assert partitions_of(built.root) == 3
    assert Checkpoint(built.root).verify().ok


def test_folders_that_nothing_needs_are_named(tmp_path: Path) -> None:
    built = made(tmp_path, 3, 2, ids=False)
    left = built.folder(2)

    def told() -> bool:
        findings = Checkpoint(built.root).verify().findings
        return any(f.path == str(left) and "it can be deleted" in f.what for f in findings)

    assert not told()
    for batch in range(4):
        for name in ("offsets", "commits"):
            (built.root / name / str(batch)).unlink()
    assert told()
    shutil.rmtree(left)
    assert Checkpoint(built.root).verify().ok


def test_one_that_is_not_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = grown(tmp_path / "checkpoint", batches=4, partitions=2, commits=True)
    for batch in range(4):
        recorded(built, batch, 2, 1000 + batch)
    was = Checkpoint(built.root).overview()
    rewritten(built, 3)
    mark = built.root / "_bucketstate/in-place.json"
    mark.parent.mkdir()
    members = {"format": 1, "kind": "rewrite", "status": "begun", "batch": 4, "partitions": 3}
    mark.write_text(json.dumps(members | {"tool": "0.1.0", "startedMs": 1_700_000_000_000}))
    # Finished but for the mark: the logs tell.
    assert Checkpoint(built.root).overview().half_done is None
    assert Checkpoint(built.root).verify().ok
    (built.root / "commits/4").unlink()
    found = Checkpoint(built.root)
    said = found.overview().half_done
    assert said is not None
    assert "in place to 3 partitions was begun as batch 4" in said
    assert found.overview().unfinished is None
    assert found.overview().operators[0].stores[0].keys == was.operators[0].stores[0].keys
    assert (found.last_batch, partitions_of(built.root)) == (3, 2)
    assert rows(found.scan().to_arrow()) == built.rows(4)
    assert [f.what for f in found.verify().findings if f.severity == "error"] == [said]
    assert said in [advice.what for advice in of_checkpoint(found.overview()).advice]
    with pytest.raises(RefusedMoveError, match="is not finished"):
        clone(built.root, tmp_path / "clone")
    with pytest.raises(RefusedMoveError, match="is not finished"):
        rewind(built.root, 1, stopped=True)
    with pytest.raises(NoSuchStateError):
        savepoints.create(built.root, "now", batch=4)
    assert main(["inspect", str(built.root)]) == 3
    assert "--undo" in capsys.readouterr().out
    # Its plan was taken back, and a query went on: the mark says nothing any more.
    (built.root / "offsets/4").unlink()
    recorded(built, 4, 2, 2000)
    assert Checkpoint(built.root).overview().half_done is None
