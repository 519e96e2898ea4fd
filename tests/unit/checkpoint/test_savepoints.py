"""Savepoints: files that hold what a batch made, written whole and alone, or not at all."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate.checkpoint import Checkpoint, Savepoint, savepoints
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.checkpoint.store.savepoint import (
    encoded,
    is_name,
    name_of,
    new_file,
    read_savepoints,
)
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.errors import (
    DamagedFileError,
    InvalidArgumentError,
    NewerFormatError,
    NoSuchStateError,
    SavepointError,
    StorageError,
)
from tests.kit.checkpoints import Built
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint.test_state import grown, rows
from tests.unit.checkpoint.test_verify import damage

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path("tests/golden/v1/savepoints")


def files(root: Path) -> list[Path]:
    """What lies where savepoints do, writes under way included."""
    return sorted((root / "_bucketstate/savepoints").glob("*"))


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Once, just before a savepoint is written."""
    write, left = WritableFolder.create, [happens]

    def written(folder: WritableFolder, name: str, data: bytes) -> None:
        if left:
            left.pop()()
        write(folder, name, data)

    monkeypatch.setattr(WritableFolder, "create", written)


def purge(built: Built, oldest: int) -> None:
    """As Spark does with the entries of its logs."""
    for log in ("offsets", "commits"):
        for path in (built.root / log).iterdir():
            if int(path.name) < oldest:
                path.unlink()


@pytest.mark.parametrize("ids", [False, True])
def test_what_is_held(tmp_path: Path, ids: bool) -> None:
    built = grown(tmp_path, ids=ids)
    before = datetime.now(UTC)
    made = savepoints.create(tmp_path, "before-release")
    assert (made.name, made.batch, made.version) == ("before-release", 5, 6)
    assert abs((made.created - before).total_seconds()) < 60
    assert made.tool.startswith("bucketstate ")
    for partition in range(2):
        own = built.checkpoint_id(6, partition) or None
        assert made.attempt(0, partition, "default") == Attempt(6, own)
    logs = {"offsets/4", "offsets/5", "commits/4", "commits/5"}
    state = {"state/0/_metadata/metadata", "state/0/0/_metadata/schema"}
    assert made.files.keys() == logs | state
    assert all(made.files[name] == (tmp_path / name).read_bytes() for name in made.files)
    (path,) = files(tmp_path)
    assert name_of(path.name) == "before-release"
    assert made.path == str(path)
    assert savepoints.listed(tmp_path) == (made,) == Checkpoint(tmp_path).savepoints
    savepoints.drop(tmp_path, "before-release")
    assert files(tmp_path) == []
    assert savepoints.listed(tmp_path) == ()


def test_the_first_batch(tmp_path: Path) -> None:
    grown(tmp_path, batches=1)
    made = savepoints.create(tmp_path, "first")
    assert {n for n in made.files if n.startswith(("offsets", "commits"))} == {
        "offsets/0",
        "commits/0",
    }


def test_a_name_is_taken_until_it_is_dropped(tmp_path: Path) -> None:
    built = grown(tmp_path)
    savepoints.create(tmp_path, "a")
    savepoints.create(tmp_path, "a.b")
    with pytest.raises(SavepointError, match="has a savepoint 'a'"):
        savepoints.create(tmp_path, "a")
    assert len(files(tmp_path)) == 2
    built.batch({("new",): (1, 1)})
    savepoints.drop(tmp_path, "a")
    assert savepoints.create(tmp_path, "a").batch == 6
    assert [(s.name, s.batch) for s in savepoints.listed(tmp_path)] == [("a.b", 5), ("a", 6)]


def test_two_who_create_one_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(tmp_path)
    meanwhile(monkeypatch, lambda: savepoints.create(tmp_path, "a"))
    with pytest.raises(SavepointError, match="or one is being created"):
        savepoints.create(tmp_path, "a")
    assert len(savepoints.listed(tmp_path)) == 1


@pytest.mark.parametrize("name", ["", "a b", "../a", "a/b", ".a", "_a", "-a", "ä", "a" * 65, None])
def test_what_cannot_be_a_name(tmp_path: Path, name: Any) -> None:
    grown(tmp_path)
    with pytest.raises(InvalidArgumentError, match="cannot be the name of a savepoint"):
        savepoints.create(tmp_path, name)
    assert files(tmp_path) == []


def test_a_batch_that_is_not_there(tmp_path: Path) -> None:
    built = Built(tmp_path)
    built.batch({("a",): (1, 1)}, commit=False)
    with pytest.raises(NoSuchStateError, match="no batch yet that was committed"):
        savepoints.create(tmp_path, "a")
    built.commit_batch(0)
    with pytest.raises(NoSuchStateError, match=r"has no batch 1. There are: 0\."):
        savepoints.create(tmp_path, "a", batch=1)
    with pytest.raises(InvalidArgumentError, match="whole number"):
        savepoints.create(tmp_path, "a", batch="0")  # type: ignore[arg-type]


def test_a_batch_near_the_end_of_the_log_takes_a_query_that_is_stopped(tmp_path: Path) -> None:
    grown(tmp_path, batches=12)
    for batch in (6, 9, 11):
        assert savepoints.create(tmp_path, f"b{batch}", batch=batch).batch == batch
    with pytest.raises(SavepointError, match=r"Batch 5 is so old .* from 6 on, or stop the query"):
        savepoints.create(tmp_path, "b5", batch=5)
    assert len(files(tmp_path)) == 3
    assert savepoints.create(tmp_path, "b0", batch=0, stopped=True).version == 1


def test_a_query_that_has_gone_on_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = grown(tmp_path)

    def two_more() -> None:
        for number in range(2):
            built.batch({(f"more {number}",): (1, 1)})
        purge(built, built.version - 2)

    meanwhile(monkeypatch, two_more)
    assert savepoints.create(tmp_path, "newest").batch == 7
    assert len(files(tmp_path)) == 1
    meanwhile(monkeypatch, two_more)
    with pytest.raises(SavepointError, match="Batch 7 is so old"):
        savepoints.create(tmp_path, "fixed", batch=7)
    assert len(files(tmp_path)) == 1


def test_a_query_that_never_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = grown(tmp_path)
    write = WritableFolder.create

    def racing(folder: WritableFolder, name: str, data: bytes) -> None:
        write(folder, name, data)
        for _ in range(3):
            built.batch({("more",): (1, 1)})
        purge(built, built.version - 2)

    monkeypatch.setattr(WritableFolder, "create", racing)
    with pytest.raises(SavepointError, match="so old"):
        savepoints.create(tmp_path, "newest")
    assert files(tmp_path) == []


def test_what_is_gone_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = grown(tmp_path)
    meanwhile(monkeypatch, (built.folder(1) / "3.changelog").unlink)
    with pytest.raises(SavepointError, match=r"batch 5 made is not whole.*3\.changelog"):
        savepoints.create(tmp_path, "a")
    assert files(tmp_path) == []


def test_what_spark_has_deleted_already(tmp_path: Path) -> None:
    grown(tmp_path)
    (tmp_path / "offsets/4").unlink()
    with pytest.raises(SavepointError, match=r"offsets/4 is gone.*minBatchesToRetain"):
        savepoints.create(tmp_path, "a")
    assert files(tmp_path) == []


def test_one_that_is_not_there_cannot_be_dropped(tmp_path: Path) -> None:
    grown(tmp_path)
    with pytest.raises(NoSuchStateError, match=r"no savepoint 'b'\. There are: none"):
        savepoints.drop(tmp_path, "b")
    savepoints.create(tmp_path, "a")
    with pytest.raises(NoSuchStateError, match=r"There are: a\."):
        savepoints.drop(tmp_path, "b")


def test_the_golden_files(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "_bucketstate/savepoints")
    (nightly, release) = read_savepoints(Folder.at(tmp_path))
    assert (nightly.name, nightly.batch, nightly.files) == ("nightly.2026.11", 0, {})
    assert nightly.attempts == {(0, 0, "default"): Attempt(1)}
    assert (release.name, release.batch) == ("before-release", 41)
    assert release.created == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert release.tool == "bucketstate 0.1.0"
    own = "7d0c1f5e-3a2b-4c6d-9e8f-102132435465"
    assert release.attempt(0, 1, "default") == Attempt(42, own)
    assert release.files["offsets/41"] == b'v1\n{"batchWatermarkMs":0}\n{"offset":7}'
    assert release.files["state/0/0/_metadata/schema"] == bytes([0, 2, 118, 50, 200])
    for savepoint in (nightly, release):
        assert encoded(savepoint) == Path(savepoint.path).read_bytes()


paths = st.text("abc/0_-", min_size=1)
attempts = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["default", "left-x"])),
    st.one_of(st.none(), st.uuids().map(str)),
)


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True),
    st.integers(0, 2**53),
    st.dictionaries(paths, st.binary()),
    attempts,
)
def test_what_is_written_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    batch: int,
    content: dict[str, bytes],
    of: dict[tuple[int, int, str], str | None],
) -> None:
    root = tmp_path_factory.mktemp("root")
    folder = root / "_bucketstate/savepoints"
    folder.mkdir(parents=True)
    path = folder / new_file(name)
    made = Savepoint(
        name,
        batch,
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "a test",
        {store: Attempt(batch + 1, own) for store, own in of.items()},
        content,
        str(path),
    )
    path.write_bytes(encoded(made))
    assert read_savepoints(Folder.at(root)) == (made,)
    assert is_name(name)
    assert name_of(path.name) == name


def test_whatever_byte_is_another_it_is_noticed(tmp_path: Path) -> None:
    grown(tmp_path, partitions=1)
    savepoints.create(tmp_path, "a")
    (path,) = files(tmp_path)
    sound = path.read_bytes()
    for at in range(0, len(sound), 11):
        damage(path, at)
        with pytest.raises((DamagedFileError, NewerFormatError), match=path.name):
            savepoints.listed(tmp_path)
        path.write_bytes(sound)


def test_one_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grown(tmp_path)
    savepoints.create(tmp_path, "a")
    savepoints.create(tmp_path, "b")
    (path, _) = files(tmp_path)
    damage(path, 40)
    with pytest.raises(DamagedFileError, match="deletes nothing of what is old"):
        savepoints.listed(tmp_path)
    report = Checkpoint(tmp_path).verify()
    assert [f.severity for f in report.findings] == ["error"]
    assert report.findings[0].path == str(path)
    assert main(["inspect", str(tmp_path)]) == 3
    assert "savepoint drop" in capsys.readouterr().out
    (advice,) = of_checkpoint(Checkpoint(tmp_path).overview()).advice
    assert path.name in advice.what
    savepoints.drop(tmp_path, "a")
    assert Checkpoint(tmp_path).verify().ok


def test_a_file_that_is_no_savepoint_is_dropped_by_its_own_name(tmp_path: Path) -> None:
    grown(tmp_path)
    savepoints.create(tmp_path, "a")
    (tmp_path / "_bucketstate/savepoints/stray.json").write_text("{}")
    with pytest.raises(DamagedFileError, match=r"stray\.json"):
        savepoints.listed(tmp_path)
    with pytest.raises(NoSuchStateError, match=r"There are: a, stray\.json"):
        savepoints.drop(tmp_path, "b")
    savepoints.drop(tmp_path, "stray.json")
    assert [s.name for s in savepoints.listed(tmp_path)] == ["a"]


def retired(built: Built, manifest: int, held: range) -> None:
    """As retention leaves it: the newest manifest, what is after it, and what is held."""
    for partition in range(built.partitions):
        for path in built.folder(partition).glob("*.*"):
            number = int(path.name.split(".")[0].split("_")[0])
            needed = number > manifest or (path.suffix == ".manifest" and number == manifest)
            if not needed and number not in held:
                path.unlink()


def third_held(tmp_path: Path) -> Built:
    """Twelve batches, of which retention left the last and what a savepoint of the third needs."""
    built = grown(tmp_path, batches=3)
    savepoints.create(tmp_path, "third")
    for number in range(9):
        built.batch({(f"key {number}",): (number, 1)})
    built.snapshot(10)
    retired(built, 10, range(1, 4))
    return built


@pytest.mark.parametrize("ids", [False, True])
def test_what_is_held_is_verified_and_can_be_read(tmp_path: Path, ids: bool) -> None:
    built = grown(tmp_path, ids=ids, batches=3)
    savepoints.create(tmp_path, "third")
    for number in range(9):
        built.batch({(f"key {number}",): (number, 1)})
    built.snapshot(10)
    retired(built, 10, range(1, 4))
    purge(built, 10)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.verify().findings == ()
    assert rows(checkpoint.scan(batch=2).to_arrow()) == built.rows(3)
    # Another attempt at the version has been there, too.
    if ids:
        other = "00000000-0000-0000-0000-0000000000ff"
        built.write_changelog(3, 0, [], 0, checkpoint_id=other)
        assert rows(Checkpoint(tmp_path).scan(batch=2).to_arrow()) == built.rows(3)
    next(built.folder(1).glob("2*.changelog")).unlink()
    report = Checkpoint(tmp_path).verify()
    (error,) = [f for f in report.findings if f.severity == "error"]
    assert "one cannot go back to the savepoint third" in error.what
    assert not report.ok
    (advice,) = of_checkpoint(Checkpoint(tmp_path).overview()).advice
    assert advice.what == "What it holds cannot be read, so one cannot go back to it."


def test_damage_of_what_is_held(tmp_path: Path) -> None:
    built = third_held(tmp_path)
    purge(built, 10)
    damage(built.folder(0) / "2.changelog", 90)
    (error,) = Checkpoint(tmp_path).verify().findings
    assert "one cannot go back to the savepoint third" in error.what


def test_what_is_held_is_no_reason_to_miss_what_retention_removed(tmp_path: Path) -> None:
    built = third_held(tmp_path)
    purge(built, 6)
    assert Checkpoint(tmp_path).verify().findings == ()


def test_bytes_that_nothing_else_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = grown(tmp_path, batches=3)
    savepoints.create(tmp_path, "third")

    def held() -> dict[str, int]:
        assert main(["savepoint", "list", str(tmp_path), "--json"]) == 0
        return {s["name"]: s["bytes"] for s in json.loads(capsys.readouterr().out)}

    assert held() == {"third": 0}
    for number in range(9):
        built.batch({(f"key {number}",): (number, 1)})
    built.snapshot(10)
    purge(built, 10)
    only = [built.folder(p) / f"{v}.changelog" for p in range(2) for v in (1, 2, 3)]
    assert held() == {"third": sum(path.stat().st_size for path in only)}
    savepoints.create(tmp_path, "fourth", batch=11)
    assert held() == {"third": sum(path.stat().st_size for path in only), "fourth": 0}
    (first, second) = Checkpoint(tmp_path).overview().savepoints
    assert (first.name, second.name) == ("third", "fourth")
    assert main(["inspect", str(tmp_path)]) == 0
    assert "bytes that nothing else needs" in capsys.readouterr().out


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grown(tmp_path)

    def said(*arguments: str, code: int = 0) -> str:
        assert main(["savepoint", *arguments]) == code
        return capsys.readouterr().out

    root = str(tmp_path)
    assert said("list", root) == "no savepoints\n"
    assert said("create", root, "a") == "a holds what batch 5 made, which is version 6\n"
    assert json.loads(said("create", root, "b", "--batch", "4", "--json"))["batch"] == 4
    assert said("create", root, "c", "--batch", "0", code=1) == ""
    said("create", root, "c", "--batch", "0", "--stopped")
    assert [s["name"] for s in json.loads(said("list", root, "--json"))] == ["c", "b", "a"]
    assert "│ a " in said("list", root)
    assert said("create", root, "a b", code=2) == ""
    assert said("drop", root, "a").startswith("a is dropped")
    assert json.loads(said("drop", root, "b", "--json")) == {"dropped": "b"}
    assert said("drop", root, "a", code=1) == ""


class Writable(FarFiles):
    """Far files that can be written, of which one request fails, before or after it is done."""

    def __init__(self, failing: int, *, after: bool) -> None:
        super().__init__()
        self.failing = failing
        self.after = after
        self.count = 0

    def _try(self, path: str, work: Callable[[], Any]) -> Any:
        self.count += 1
        if self.count == self.failing and not self.after:
            raise OSError(f"{path}: made to fail")
        done = work()
        if self.count == self.failing:
            raise OSError(f"{path}: made to fail")
        return done

    def get_file_info(self, paths: list[str]) -> Any:
        return self._try(paths[0], lambda: super(Writable, self).get_file_info(paths))

    def get_file_info_selector(self, selector: Any) -> Any:
        return self._try(
            selector.base_dir, lambda: super(Writable, self).get_file_info_selector(selector)
        )

    def open_input_file(self, path: str) -> Any:
        return self._try(path, lambda: super(Writable, self).open_input_file(path))

    def open_output_stream(self, path: str, _metadata: Any) -> Any:
        return self._try(path, lambda: pa.PythonFile(Path(path).open("wb"), mode="w"))

    def create_dir(self, path: str, recursive: bool) -> None:
        self._try(path, lambda: Path(path).mkdir(parents=recursive, exist_ok=True))

    def move(self, source: str, target: str) -> None:
        self._try(source, lambda: Path(source).rename(target))

    def delete_file(self, path: str) -> None:
        self._try(path, Path(path).unlink)


@pytest.mark.parametrize("after", [False, True])
def test_a_file_system_that_fails_at_any_moment(tmp_path: Path, after: bool) -> None:
    grown(tmp_path, batches=2)
    failing, failed = 0, 0
    while True:
        failing += 1
        far = Writable(failing, after=after)
        try:
            savepoints.create(str(tmp_path), "a", filesystem=far.arrow())
        except (StorageError, SavepointError):
            failed += 1
        left = files(tmp_path)
        # What could not be taken back is whole.
        assert len(savepoints.listed(tmp_path)) == len([f for f in left if f.suffix == ".json"])
        if far.count < failing:
            assert len(left) == 1
            break
        for path in left:
            path.unlink()
    assert failed > 10
