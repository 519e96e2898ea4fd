"""Versions that come, that go, and files that are not there when they are read."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.selection import Selection
from bucketstate.errors import (
    BucketstateError,
    DamagedFileError,
    MissingFileError,
    NoSuchStateError,
    NotACheckpointError,
    StorageError,
)
from bucketstate.live import Live
from bucketstate.live.following import Follower
from tests.kit.cases import examples
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint import test_in_place
from tests.unit.checkpoint.test_repartition import recorded
from tests.unit.checkpoint.test_state import grown
from tests.unit.live.following import KEYS, Clock, Hashed, agrees, changed, hashed, values_of


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.usefixtures("each_reader")
def test_each_batch_is_seen_when_it_is_committed(tmp_path: Path, ids: bool) -> None:
    """And before it is, what it wrote is not."""
    built = hashed(tmp_path, ids=ids, partitions=3)
    with Live(tmp_path, max_age=0) as live:
        agrees(live, built)
        for seed in range(10, 16):
            before = values_of(built)
            built.batch(changed(built, seed), commit=False)
            answers = live.get_many(KEYS)
            assert answers.version == built.version - 1
            assert answers.values == [before.get(key) for key in KEYS]
            built.commit_batch(built.version - 1)
            agrees(live, built)
            if seed % 2:
                built.snapshot(built.version - 1)
                if not ids:
                    for path in tmp_path.glob("state/0/*/*.changelog"):
                        if int(path.name.split(".")[0]) < built.version - 1:
                            path.unlink()
        built.snapshot(built.version - 1, built.version)
        live.refresh()
        agrees(live, built)


def test_a_look_is_at_two_names_and_no_listing(tmp_path: Path) -> None:
    built = hashed(tmp_path)
    asked: list[tuple[str, str]] = []
    far = FarFiles(lambda kind, path: asked.append((kind, path)))
    with Live(str(tmp_path), far.arrow(), max_age=0) as live:
        live.get_many(KEYS)
        for key in KEYS:
            live.get(key)
        asked.clear()
        live.get("key-1")
        assert asked == [("info", f"{tmp_path}/commits/{built.version - 1}")]
        asked.clear()
        built.batch({("key-1",): (9, 9)})
        assert live.get("key-1").value == {"count": 9, "total": 9}
        (place,) = {row["partition_id"] for row in live.get("key-1").rows}
        listed = [path for kind, path in asked if kind == "list" and "/state/0/" in path]
        # Of the partitions that one alone which is asked for.
        assert [p for p in listed if f"/state/0/{1 - place}" in p] == []
        assert sum(p == f"{tmp_path}/state/0/{place}" for p in listed) <= 2
        opened = [path for kind, path in asked if kind == "open" and path.endswith("changelog")]
        # Those of before are known by the ids in the newest.
        assert {Path(path).name for path in opened} == {f"{built.version}.changelog"}


def test_the_newest_is_looked_for_when_it_may_be_old(tmp_path: Path) -> None:
    built = hashed(tmp_path)
    far = FarFiles()
    clock = Clock()
    follower = Follower(Folder.at(str(tmp_path), far.arrow()), Selection(), 2**20, 0.5, clock)
    assert follower.view().version == 3
    built.batch({("key-1",): (9, 9)})
    far.requests.clear()
    clock.now = 0.49
    assert follower.view().version == 3
    assert not far.requests
    clock.now = 0.5
    assert follower.view().version == 4
    built.batch({("key-1",): (9, 9)})
    assert follower.view().version == 4
    assert follower.refreshed().version == 5
    follower.close()


def test_a_file_system_that_keeps_its_listings_is_followed(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    from tests.kit.storage.remembering import Remembering

    built = hashed(tmp_path)
    far = Remembering()
    far.take(tmp_path, "/far")
    with Live("/far", far, max_age=0) as live:
        agrees(live, built)
        for seed in range(20, 23):
            built.batch(changed(built, seed))
            far.take(tmp_path, "/far")
            agrees(live, built)


def test_before_the_first_batch_is_committed_nothing_is_there(tmp_path: Path) -> None:
    built = Hashed(tmp_path)
    built.batch({("a",): (1, 1)}, commit=False)
    with Live(tmp_path, max_age=0) as live:
        answer = live.get("a")
        assert (answer.value, answer.version, answer.batch) == (None, 0, None)
        built.commit_batch(0)
        answer = live.get("a")
        assert (answer.value, answer.version, answer.batch) == ({"count": 1, "total": 1}, 1, 0)


def test_a_deleted_checkpoint_is_said_to_be(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    built = hashed(root)
    with Live(root, max_age=0) as live:
        agrees(live, built)
        shutil.rmtree(root)
        for ask in (lambda: live.get("key-1"), lambda: live.get_many(KEYS), live.refresh):
            with pytest.raises(NotACheckpointError, match="was deleted or moved after version 3"):
                ask()
        # Nothing was made in its place.
        assert not root.exists()
        # One that has come back is read again.
        built = hashed(root, 4)
        agrees(live, built)


@pytest.mark.parametrize("left", ["commits", "state", "offsets"])
def test_half_a_checkpoint_is_an_error_of_the_package(tmp_path: Path, left: str) -> None:
    root = tmp_path / "checkpoint"
    hashed(root)
    with Live(root, max_age=0) as live:
        for folder in ("commits", "state", "offsets"):
            if folder != left:
                shutil.rmtree(root / folder)
        with pytest.raises(BucketstateError):
            live.get_many(KEYS)


def test_a_checkpoint_that_was_taken_back_says_so_until_it_is_taken_as_it_is(
    tmp_path: Path,
) -> None:
    built = hashed(tmp_path, 5)
    with Live(tmp_path, max_age=0) as live:
        agrees(live, built)
        back(built, 3)
        for _ in range(2):
            with pytest.raises(NoSuchStateError, match=r"read at version 5 .*newest is version 3"):
                live.get("key-1")
        assert live.refresh() == 3
        agrees(live, built)
        built.batch(changed(built, 99))
        agrees(live, built)


def back(built: Hashed, version: int) -> None:
    """As a rewind leaves it."""
    for newer in range(version, built.version):
        (built.root / "commits" / str(newer)).unlink(missing_ok=True)
        (built.root / "offsets" / str(newer)).unlink()
        for partition in range(built.partitions):
            for path in built.folder(partition).glob(f"{newer + 1}.*"):
                path.unlink()
    del built.states[version + 1 :]


def test_a_version_that_is_taken_back_while_it_is_read_is_not_answered_from_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = hashed(tmp_path, 5)
    stamps = Folder.stamps

    def taken_back(folder: Folder, names: list[str]) -> Any:
        context.undo()
        # A rewind begins with the commits; its files of state are there for a while.
        (tmp_path / "commits/4").unlink()
        return stamps(folder, names)

    with monkeypatch.context() as context:
        context.setattr(Folder, "stamps", taken_back)
        with Live(tmp_path, max_age=0) as live:
            with pytest.raises(NoSuchStateError, match="taken back to an earlier batch"):
                live.get_many(KEYS)
            back(built, 4)
            live.refresh()
            agrees(live, built)


def test_another_history_with_the_same_number_is_noticed(tmp_path: Path) -> None:
    built = hashed(tmp_path, 5)
    with Live(tmp_path, max_age=0) as live:
        agrees(live, built)
        back(built, 4)
        built.batch({("key-1",): (77, 77)})
        os.utime(tmp_path / "commits/4", ns=(5, 5))
        # The kit gives a version's commits one id, and Spark never gives one twice.
        live.refresh()
        live._follower._held.close()
        agrees(live, built)


@pytest.mark.parametrize("timed", [True, False])
def test_another_history_with_the_same_number_is_noticed_far_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timed: bool
) -> None:
    """Its commit is the same to the byte."""
    pytest.importorskip("fsspec")
    from tests.kit.storage.remembering import Remembering

    built = hashed(tmp_path, 5)
    recorded(built, 4, built.partitions, 1000)
    far = Remembering(timed=timed)
    far.take(tmp_path, "/far")
    with Live("/far", far, max_age=0) as live:
        agrees(live, built)
        known = live._follower.known
        live.refresh()
        # What is as it was is not made anew.
        assert live._follower.known is known
        before, commit = built.commit_id, (tmp_path / "commits/4").read_bytes()
        back(built, 4)
        # Spark gives no id twice.
        monkeypatch.setattr(built, "commit_id", lambda v, p: before(1000 if v == 5 else v, p))
        built.batch({("key-1",): (77, 77)})
        recorded(built, 4, built.partitions, 2000)
        assert (tmp_path / "commits/4").read_bytes() == commit
        far.store.clear()
        far.take(tmp_path, "/far")
        assert live.refresh() == 5
        agrees(live, built)


@pytest.mark.parametrize("ids", [False, True])
def test_a_commit_log_that_moved_on_far_is_followed(tmp_path: Path, ids: bool) -> None:
    """Spark deletes old commits: the one that was known is gone, and newer ones are there."""
    built = hashed(tmp_path, ids=ids)
    with Live(tmp_path, max_age=0) as live:
        agrees(live, built)
        for seed in range(20, 26):
            built.batch(changed(built, seed))
        for old in range(7):
            (tmp_path / "commits" / str(old)).unlink()
        agrees(live, built)


@pytest.mark.parametrize(("before", "after", "ids"), test_in_place.CASES)
def test_a_rewrite_in_place_is_followed(tmp_path: Path, before: int, after: int, ids: bool) -> None:
    built = grown(tmp_path, batches=4, partitions=before, ids=ids, commits=True)
    for batch in range(4):
        recorded(built, batch, before, 1000 + batch)
    with Live(tmp_path, max_age=0) as live:
        agrees(live, built)
        test_in_place.rewritten(built, after)
        agrees(live, built)
        test_in_place.on(built, 5)
        agrees(live, built, [*KEYS, "key-5-3"])


class Vanishing(FarFiles):
    """Calls something before a file is opened, once."""

    def __init__(self, before: Callable[[str], bool]) -> None:
        super().__init__()
        self.before = before

    def open_input_file(self, path: str) -> Any:
        self.before(path)
        return super().open_input_file(path)


@pytest.mark.parametrize("commits", [0, 1])
def test_a_file_that_retention_takes_between_planning_and_reading(
    tmp_path: Path, commits: int
) -> None:
    """The version is looked up anew: it is a newer one, or is read from newer files."""
    built = hashed(tmp_path, 4)
    built.snapshot(2)
    done: list[str] = []

    def before(path: str) -> bool:
        if path.endswith(".sst") and not done:
            done.append(path)
            if commits:
                built.batch(changed(built, 50))
            built.snapshot(4)
            for partition in range(built.partitions):
                for old in built.folder(partition).glob("runs/2-*"):
                    old.unlink()
                (built.folder(partition) / "2.manifest").unlink()
            built.drop_changelogs(3)
        return True

    with Live(str(tmp_path), Vanishing(before).arrow(), max_age=1e9) as live:
        assert live.get_many(KEYS).version == 4 + commits
        assert done
        agrees(live, built)


def test_a_file_that_stays_away_is_an_error(tmp_path: Path) -> None:
    built = hashed(tmp_path)
    gone: Counter[str] = Counter()

    def before(path: str) -> bool:
        if path.endswith(f"/{built.version}.changelog"):
            gone[path] += 1
            raise FileNotFoundError(path)
        return True

    with Live(str(tmp_path), Vanishing(before).arrow()) as live:
        with pytest.raises(MissingFileError):
            live.get_many(KEYS)
        assert max(gone.values()) == 3
        # What was found out is not found out three times more by each call.
        gone.clear()
        with pytest.raises(MissingFileError):
            live.get_many(KEYS)
        assert max(gone.values()) == 1


@pytest.mark.usefixtures("each_reader")
def test_damage_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    built = Hashed(tmp_path, partitions=1, buckets=4)
    built.batch({(f"k{n}",): (n, n) for n in range(300)})
    built.snapshot(1, files=1)
    (path,) = built.folder(0).glob("runs/*.sst")
    sound = path.read_bytes()
    path.write_bytes(sound[:100] + bytes([sound[100] ^ 1]) + sound[101:])
    with Live(tmp_path) as live:
        with pytest.raises(DamagedFileError, match=path.name):
            live.get("k1")
        path.write_bytes(sound)
        assert live.get("k1").value == {"count": 1, "total": 1}


def test_a_key_is_looked_for_in_one_partition_once_the_rule_is_known(tmp_path: Path) -> None:
    built = hashed(tmp_path / "hashed", 6, partitions=5)
    elsewhere = grown(tmp_path / "elsewhere", batches=6, partitions=5)
    few = Hashed(tmp_path / "few", partitions=5)
    few.batch({("a",): (1, 1)})
    for of, rule in ((built, True), (elsewhere, False), (few, None)):
        with Live(of.root) as live:
            assert live.get("not there").value is None
            known = live._follower.known
            assert known is not None
            assert known.asked._told is rule
            assert list(live._follower._held.rules.values()) == ([] if rule is None else [rule])
            agrees(live, of)


def copies(folder: Path) -> list[Path]:
    return list(folder.glob("bucketstate-runs-*/*"))


def test_copies_go_with_what_they_are_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bucketstate.checkpoint.format import runs

    monkeypatch.setattr(runs, "_SMALL", 0)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    built = hashed(tmp_path / "checkpoint", 4)
    built.snapshot(4, files=1)
    with Live(built.root, max_age=0) as live:
        assert not copies(temporary)
        agrees(live, built)
        first = copies(temporary)
        assert len(first) == built.partitions
        built.batch(changed(built, 50))
        agrees(live, built)
        assert copies(temporary) == first
        built.batch(changed(built, 51))
        built.snapshot(built.version, files=1)
        agrees(live, built)
        assert len(copies(temporary)) == built.partitions
        assert not set(first) & set(copies(temporary))
    assert not list(temporary.iterdir())


def test_not_all_data_files_are_open_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may not have any number of files: those that were asked for last stay open."""
    from bucketstate.checkpoint.format import runs
    from bucketstate.checkpoint.format.sst.copy import Copy
    from bucketstate.live import held

    monkeypatch.setattr(runs, "_SMALL", 0)
    monkeypatch.setattr(held, "_MOST_DATABASES", 2)
    built = hashed(tmp_path, 4, partitions=3)
    built.snapshot(2, 4)
    with Live(tmp_path, max_age=0) as live:
        for _ in range(2):
            agrees(live, built, KEYS[::15])
            stores = live._follower._held._stores.values()
            copies = [c for store in stores if store._runs for c in store._runs._fetched.values()]
            assert len([c for c in copies if isinstance(c, Copy) and c.is_open]) == 2
        built.batch(changed(built, 50))
        built.snapshot(3, 5)
        agrees(live, built, KEYS[::15])


@pytest.mark.parametrize("of", ["database", "ingest", "get"])
@pytest.mark.parametrize("what", ["No space left on device", "While opendir: Too many open files"])
def test_what_the_disk_of_copies_lacks_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str, what: str
) -> None:
    import rocksdict

    from bucketstate.checkpoint.format import runs
    from bucketstate.checkpoint.format.sst import copy

    made, failed = rocksdict.Rdict, []
    full = True

    def asked(name: str) -> None:
        if full and name == of:
            failed.append(name)
            raise Exception(f"IO error: {what}")

    class Database:
        def __init__(self, *given: Any, **how: Any) -> None:
            asked("database")
            self._made = made(*given, **how)

        def ingest_external_file(self, *given: Any) -> None:
            asked("ingest")
            self._made.ingest_external_file(*given)

        def get(self, keys: Any) -> Any:
            asked("get")
            return self._made.get(keys)

        def close(self) -> None:
            self._made.close()

    monkeypatch.setattr(runs, "_SMALL", 0)
    monkeypatch.setattr(copy, "Rdict", Database)
    built = hashed(tmp_path, 4, partitions=1)
    built.snapshot(4, files=1)
    with Live(tmp_path) as live:
        with pytest.raises(StorageError, match=rf"{what}\).*TMPDIR.*ulimit -n") as raised:
            live.get(KEYS[0])
        assert ".sst" in str(raised.value)
        assert len(failed) == 1
        full = False
        agrees(live, built)


def test_threads_are_answered_one_by_one(tmp_path: Path) -> None:
    built = hashed(tmp_path, 4)
    built.snapshot(2)
    models = {version: values_of(built, version) for version in range(1, 5)}
    wrong: list[Any] = []
    stop = threading.Event()

    def ask(live: Live, seed: int) -> None:
        last = 0
        while not stop.is_set():
            keys = KEYS[seed::7]
            answers = live.get_many(keys)
            expected = [models[answers.version].get(key) for key in keys]
            if answers.values != expected or answers.version < last:
                wrong.append(answers)
            last = answers.version

    with Live(tmp_path, max_age=0) as live:
        threads = [threading.Thread(target=ask, args=(live, seed)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for seed in range(30, 36):
            built.batch(changed(built, seed), commit=False)
            models[built.version] = values_of(built)
            built.commit_batch(built.version - 1)
        stop.set()
        for thread in threads:
            thread.join()
        agrees(live, built)
    assert not wrong


STEPS = st.lists(
    st.sampled_from(["batch", "failed", "snapshot", "retention", "ask", "some"]),
    min_size=4,
    max_size=14,
)


@pytest.mark.slow
@settings(
    max_examples=examples(8),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(STEPS, st.booleans(), st.integers(1, 3), st.sampled_from([1, 2**28]), st.booleans())
@pytest.mark.usefixtures("each_reader")
def test_a_history(
    tmp_path: Path, steps: list[str], ids: bool, partitions: int, memory: int, far: bool
) -> None:
    """Batches, attempts that fail, snapshots and retention, and answers in between."""
    root = Path(tempfile.mkdtemp(dir=tmp_path))
    built = hashed(root, 1, ids=ids, partitions=partitions, buckets=16)
    place: tuple[Any, ...] = (str(root), FarFiles().arrow()) if far else (root,)
    base = 0
    with Live(*place, max_age=0, memory=memory) as live:
        for seed, step in enumerate(steps, start=100):
            if step == "batch":
                built.batch(changed(built, seed))
            elif step == "failed":
                # The same batch is tried again, and its files are replaced.
                built.batch(changed(built, seed + 500), commit=False)
                live.get_many(KEYS)
                del built.states[-1]
                built.batch(changed(built, seed))
            elif step == "snapshot":
                base = max(1, built.version - seed % 3)
                built.snapshot(base)
            elif step == "retention" and base:
                for partition in range(partitions):
                    for path in built.folder(partition).glob("*.changelog"):
                        if int(path.name.split(".")[0].split("_")[0]) <= base:
                            path.unlink()
            elif step == "some":
                keys = KEYS[seed % 5 :: 40]
                expected = values_of(built)
                assert live.get_many(keys).values == [expected.get(key) for key in keys]
            else:
                agrees(live, built)
        agrees(live, built)
        whole = Checkpoint(root).scan().to_arrow()
        found = live.get_many(KEYS).to_arrow().drop_columns("asked")
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, whole.to_pylist()))
