"""Clones and rewinds in an object store, which has no links and no renames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import fs

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.errors import RefusedMoveError
from bucketstate.move import clone, fork, rewind
from tests.kit.stops import Stopped, Writes
from tests.kit.storage.object_store import BUCKET, CREDENTIALS, moto
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_state import grown, rows
from tests.unit.move.test_going_back import held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.checkpoints import Built

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with moto() as port:
        yield port


@pytest.fixture(scope="module")
def store(port: int) -> fs.FileSystem:
    made = fs.S3FileSystem(
        access_key=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        secret_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    made.create_dir(BUCKET)
    return made


def uploaded(root: Path, store: fs.FileSystem, name: str) -> str:
    fs.copy_files(str(root), f"{BUCKET}/{name}", destination_filesystem=store)
    return f"{BUCKET}/{name}"


def assert_at(built: Built, path: str, store: fs.FileSystem, version: int) -> None:
    checkpoint = Checkpoint(path, store)
    assert checkpoint.verify().ok
    assert checkpoint.restart_version == version
    assert rows(checkpoint.scan().to_arrow()) == built.rows(version)


def test_clone_and_rewind(built: Built, store: fs.FileSystem) -> None:
    source, target = uploaded(built.root, store, "a"), f"{BUCKET}/b"
    report = clone(source, target, batch=4, filesystem=store)
    assert (report.linked, report.notes) == (0, ())
    assert_at(built, target, store, 5)
    with pytest.raises(RefusedMoveError, match="is not empty"):
        clone(source, target, filesystem=store)
    with pytest.raises(RefusedMoveError, match="or within it"):
        clone(source, f"{source}/b", filesystem=store)
    rewind(source, 2, filesystem=store)
    assert_at(built, source, store, 3)


def test_a_savepoint(tmp_path: Path, store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    built = held(tmp_path / "source", ids=True)
    source, target = uploaded(built.root, store, "held"), f"{BUCKET}/of-held"
    assert fork(source, target, savepoint="kept", filesystem=store).batch == 2
    assert_at(built, target, store, 3)
    with monkeypatch.context() as context:
        Writes(14).install(context)
        with pytest.raises(Stopped):
            rewind(source, savepoint="kept", filesystem=store)
    rewind(source, savepoint="kept", filesystem=store)
    assert_at(built, source, store, 3)


def test_stopped(tmp_path: Path, store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    built = grown(tmp_path, batches=3)
    source = uploaded(built.root, store, "stopped")
    for at in range(0, 24, 5):
        target = f"{BUCKET}/clone-{at}"
        with monkeypatch.context() as context:
            Writes(at).install(context)
            with pytest.raises(Stopped):
                clone(source, target, filesystem=store)
        clone(source, target, filesystem=store)
        assert_at(built, target, store, 3)


def test_between_a_disk_and_the_store(built: Built, tmp_path: Path, store: fs.FileSystem) -> None:
    clone(
        str(built.root),
        f"{BUCKET}/from-disk",
        filesystem=fs.LocalFileSystem(),
        target_filesystem=store,
    )
    assert_at(built, f"{BUCKET}/from-disk", store, 6)
    back = tmp_path / "back"
    clone(
        f"{BUCKET}/from-disk",
        str(back),
        filesystem=store,
        target_filesystem=fs.LocalFileSystem(),
    )
    assert_at(built, str(back), fs.LocalFileSystem(), 6)


def test_by_uri(
    tmp_path: Path, port: int, store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's whole paths become those of the clone, by the scheme that it was given."""
    built = Variables(tmp_path / "source")
    built.batch(built.families(State(count={"a": (1, "x")})))
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    options: Any = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    target = f"s3a://{BUCKET}/variables"
    assert main(["clone", str(built.root), target + options]) == 0
    names = store.get_file_info(fs.FileSelector(f"{BUCKET}/variables", recursive=True))
    (found,) = [n.path for n in names if "/v2/" in n.path and n.is_file]
    with store.open_input_stream(found) as file:
        text = file.read().decode()
    assert f'"{target}/state/0/_stateSchema/default/0_0"' in text
    assert Checkpoint(target + options).query.copied is None
