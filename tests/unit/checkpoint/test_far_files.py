"""Checkpoints on file systems where each request takes its time: few of them, many at once."""

from __future__ import annotations

import builtins
import re
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.parallel import REQUESTS, Once, in_order
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import InvalidArgumentError, MissingFileError, StorageError
from tests.kit.checkpoints import Built
from tests.kit.storage.far_files import FarFiles
from tests.unit.checkpoint.test_state import grown, rows

PARTITIONS = 200


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Built:
    made = grown(tmp_path_factory.mktemp("wide"), batches=4, partitions=PARTITIONS, buckets=2)
    made.snapshot(3, files=1)
    return made


class Meeting:
    """Holds up the first requests of a kind until so many are under way at once."""

    def __init__(self, kind: str, folder: str) -> None:
        self._kind = kind
        self._folder = re.compile(folder)
        self._left = REQUESTS
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(REQUESTS)

    def __call__(self, kind: str, path: str) -> None:
        if kind != self._kind or not self._folder.search(path):
            return
        with self._lock:
            self._left -= 1
            waits = self._left >= 0
        if waits:
            self._barrier.wait(60)


def test_many_partitions_are_inspected_at_once_with_few_requests(wide: Built) -> None:
    far = FarFiles(Meeting("list", r"/state/0/\d+$"))
    found = Checkpoint(str(wide.root), far.arrow()).overview()
    assert found == replace(Checkpoint(wide.root).overview(), location=str(wide.root))
    # Those of 200 stores are in 20 rounds or so: with 20 ms for each, less than a second.
    assert far.most_at_once == REQUESTS
    # A listing; the manifest, and the header and the index of the newest changelog in one read.
    assert far.requests["list"] <= PARTITIONS + 12
    assert far.requests["open"] <= 2 * PARTITIONS + 8
    assert far.requests["read"] <= 2 * PARTITIONS + 8
    assert far.requests["info"] <= 8


def test_many_partitions_are_exported_with_indexes_read_at_once(wide: Built) -> None:
    far = FarFiles(Meeting("open", r"\.changelog$"))
    assert rows(Checkpoint(str(wide.root), far.arrow()).scan().to_arrow()) == wide.rows()
    assert far.most_at_once == REQUESTS


def test_many_stores_are_verified_at_once(wide: Built) -> None:
    far = FarFiles(Meeting("list", r"/state/0/\d+$"))
    told: list[tuple[int, int]] = []
    found = Checkpoint(str(wide.root), far.arrow()).verify(lambda *n: told.append(n))
    assert found == replace(Checkpoint(wide.root).verify(), location=str(wide.root))
    assert found.ok
    total = found.files
    first = total - len(told) + 1
    assert told == [(n, total) for n in range(first, total + 1)]


def test_reads_that_are_cut_are_gone_on_with(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    far = FarFiles()
    far.cut_at = 100
    checkpoint = Checkpoint(str(tmp_path), far.arrow())
    assert rows(checkpoint.scan().to_arrow()) == built.rows()
    assert checkpoint.verify().ok


def test_a_read_that_never_comes_is_no_damage(tmp_path: Path) -> None:
    grown(tmp_path)
    far = FarFiles()
    checkpoint = Checkpoint(str(tmp_path), far.arrow())
    assert checkpoint.operators
    assert checkpoint.restart_version == 6
    assert checkpoint.attempt(checkpoint.store(), 6).version == 6
    far.cut_at = 0
    with pytest.raises(
        StorageError, match=r"/0/6\.changelog cannot be read: it has \d+ bytes.*again"
    ):
        checkpoint.plan()


def test_what_fails_fails_in_its_turn_and_nothing_more_is_begun(tmp_path: Path) -> None:
    built = grown(tmp_path, partitions=4)
    (built.folder(2) / "6.changelog").unlink()
    reader = Checkpoint(tmp_path).scan().to_arrow_batch_reader()
    read = [reader.read_next_batch().column("partition_id")[0].as_py() for _ in range(2)]
    assert read == [0, 1]
    with pytest.raises(MissingFileError, match=r"/2/6\.changelog"):
        reader.read_next_batch()


def test_results_come_in_order_and_only_so_many_are_begun() -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        if n == 5:
            raise KeyError(n)
        return n * n

    found = in_order(work, range(1000), threads=4)
    assert [next(found) for _ in range(5)] == [0, 1, 4, 9, 16]
    with pytest.raises(KeyError):
        next(found)
    assert max(begun) < 5 + 2 * 4 + 1


def test_what_is_made_once_is_made_once_and_what_failed_is_tried_again() -> None:
    once: Once[str, int] = Once()
    meet = threading.Barrier(8)
    made: list[int] = []

    def make() -> int:
        made.append(1)
        if len(made) == 1:
            raise OSError("not now")
        return 7

    with pytest.raises(OSError, match="not now"):
        once.get("a", make)

    def ask(_: int) -> int:
        meet.wait(60)
        return once.get("a", make)

    assert list(in_order(ask, range(8), threads=8)) == [7] * 8
    assert len(made) == 2


def test_a_file_system_of_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    built = grown(tmp_path / "in")
    built.snapshot(4)
    local = fsspec.filesystem("file")
    assert rows(Checkpoint(str(tmp_path / "in"), local).scan().to_arrow()) == built.rows()
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "in"), "/far/checkpoint", recursive=True)
    try:
        by_object = Checkpoint("/far/checkpoint", memory)
        assert rows(by_object.scan().to_arrow()) == built.rows()
        assert by_object.verify().ok
        assert rows(Checkpoint("memory://far/checkpoint").scan().to_arrow()) == built.rows()
        by_both = Checkpoint("memory://far/checkpoint", memory)
        assert rows(by_both.scan().to_arrow()) == built.rows()
        assert by_both.verify().ok
    finally:
        memory.rm("/far", recursive=True)


def test_a_relative_path_on_a_file_system_of_fsspec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    built = grown(tmp_path / "in/it")
    built.snapshot(4)
    monkeypatch.chdir(tmp_path)
    for path in ("in/it", "./in/it", "file://in/it", f"file://{tmp_path}/in/it/"):
        checkpoint = Checkpoint(path, fsspec.filesystem("file"))
        assert rows(checkpoint.scan().to_arrow()) == built.rows()
        assert checkpoint.verify().ok


@pytest.mark.parametrize("as_arrow", [False, True])
def test_listings_that_a_file_system_keeps_are_not_those_of_now(
    tmp_path: Path, as_arrow: bool
) -> None:
    pytest.importorskip("fsspec")
    from tests.kit.storage.remembering import Remembering

    built = grown(tmp_path)
    far = Remembering()
    given = fs.PyFileSystem(fs.FSSpecHandler(far)) if as_arrow else far
    far.take(tmp_path, "/far/checkpoint")
    before = Checkpoint("/far/checkpoint", given)
    assert rows(before.scan().to_arrow()) == built.rows()
    built.batch({("new",): (9, 9)})
    built.snapshot(7)
    far.take(tmp_path, "/far/checkpoint")
    after = Checkpoint("/far/checkpoint", given)
    assert (before.restart_version, after.restart_version) == (6, 7)
    assert rows(after.scan().to_arrow()) == built.rows()
    assert after.plan().base is not None


def test_listings_are_given_up_for_each_request_and_for_no_read(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    from tests.kit.storage.remembering import Remembering

    grown(tmp_path)
    far = Remembering()
    far.take(tmp_path, "/far/checkpoint")
    folder = Folder.at("/far/checkpoint/state/0/0", far)
    assert "6.changelog" in {file.name for file in folder.all_files()}
    assert far.forgotten == 1
    assert folder.stamps(["6.changelog", "7.changelog"])[1] is None
    assert far.forgotten == 2
    with folder.opened("6.changelog") as file:
        assert far.forgotten == 3
        assert file.read_at(8, 0) == b"BKTSTLOG"
        assert file.read_at(8, file.size - 8) == b"BKTSTEND"
    assert far.forgotten == 3


MOMENT = datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC)
SECONDS = MOMENT.timestamp()


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        ({"mtime": SECONDS}, SECONDS),
        ({"mtime": MOMENT}, SECONDS),
        ({"mtime": datetime.fromtimestamp(SECONDS)}, SECONDS),
        ({"modificationTime": round(SECONDS * 1000)}, SECONDS),
        ({"LastModified": MOMENT}, SECONDS),
        ({"last_modified": MOMENT}, SECONDS),
        ({"created": SECONDS}, SECONDS),
        ({"created": 1.0, "LastModified": MOMENT}, SECONDS),
        ({"created": SECONDS, "mtime": None}, SECONDS),
        ({"LastModified": "Mon, 06 May 2024 07:08:09 GMT"}, None),
        ({"mtime": 0}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_file_system_of_fsspec_tells_in_its_own_way_when_a_file_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], changed: float | None
) -> None:
    far = pytest.importorskip("fsspec").filesystem("file", skip_instance_cache=True)
    info = {"name": "a", "type": "file", "size": 3, **told}
    monkeypatch.setattr(far, "info", lambda _: info)
    (stamp,) = Folder.at(str(tmp_path), far).stamps(["a"])
    assert stamp is not None
    assert stamp == (3, None if changed is None else round(changed * 1e9))


def test_a_listing_of_fsspec_that_fails_is_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    grown(tmp_path)
    local = fsspec.filesystem("file")
    checkpoint = Checkpoint(str(tmp_path), local)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr(local, "ls", refused)
        with pytest.raises(StorageError, match="Permission denied"):
            checkpoint.plan()
    assert checkpoint.plan().changelogs
    # Nor is a file missing that cannot be asked for.
    monkeypatch.setattr(local, "info", refused)
    with pytest.raises(StorageError, match="Permission denied"):
        Folder.at(str(tmp_path), local).read("metadata")


def test_a_file_system_that_lists_other_names_than_it_is_asked_for(tmp_path: Path) -> None:
    class Elsewhere(FarFiles):
        def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
            found = super().get_file_info_selector(selector)
            return [fs.FileInfo(f"/elsewhere{i.path}", i.type, size=i.size) for i in found]

    grown(tmp_path)
    with pytest.raises(StorageError, match=r"lists /elsewhere.* in it, which does not begin with"):
        Checkpoint(str(tmp_path), Elsewhere().arrow()).plan()


def test_what_is_no_file_system() -> None:
    with pytest.raises(InvalidArgumentError, match=r"a dict: give one of pyarrow\.fs or of fsspec"):
        Checkpoint("somewhere", {})


@pytest.mark.parametrize("path", [None, 5, b"somewhere", fs.LocalFileSystem()])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path is a \w+: give a path or a URI"):
        Checkpoint(path)


@pytest.mark.parametrize("error", [RuntimeError("the token has expired"), NotImplementedError()])
def test_what_a_file_system_of_fsspec_raises_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fsspec = pytest.importorskip("fsspec")
    grown(tmp_path)
    local = fsspec.filesystem("file")
    checkpoint = Checkpoint(str(tmp_path), local)

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(local, "open", fails)
    with pytest.raises(StorageError, match=r"metadata cannot be read: "):
        checkpoint.scan().to_arrow()
    monkeypatch.setattr(local, "info", fails)
    with pytest.raises(StorageError, match=f"{tmp_path} cannot be read: "):
        Checkpoint(str(tmp_path), local)


def test_a_scheme_that_fsspec_would_know(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] == "fsspec":
            raise ModuleNotFoundError(name)
        return real(name, *arguments)

    monkeypatch.setattr("bucketstate.optional.import_module", lambda name: without(name))
    with pytest.raises(StorageError, match=r"ftp:.*pip install 'bucketstate\[fsspec\]'"):
        Checkpoint("ftp://host/checkpoint")


def test_hdfs_without_hadoop_s_native_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(tmp_path))
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(StorageError, match=r"to load lib.*ARROW_LIBHDFS_DIR.*webhdfs") as e:
        Checkpoint("hdfs://127.0.0.1:1/checkpoint")
    assert "\n" not in str(e.value)
