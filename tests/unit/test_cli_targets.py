"""Exports to object stores, and to tables of Delta and Iceberg."""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from tests.kit.checkpoints import Built
from tests.kit.storage.object_store import BUCKET, CREDENTIALS, moto
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_state import grown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Exports the checkpoint: what is printed, or of what fails what is told."""

    def asked(output: object, *given: str, code: int = 0) -> str:
        arguments = ["export", str(tmp_path / "checkpoint"), str(output), *given]
        assert main(arguments) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    return asked


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return grown(tmp_path / "checkpoint")


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=str)


def state(built: Built, version: int | None = None) -> list[dict[str, Any]]:
    return in_order(Checkpoint(built.root).scan(version=version).to_arrow())


def damage(built: Built) -> None:
    """The second partition cannot be read, which shows when the first one has been."""
    for file in built.folder(1).glob("*.changelog"):
        data = file.read_bytes()
        file.write_bytes(data[:150] + bytes(10) + data[160:])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with moto() as port:
        yield port


@pytest.mark.slow
def test_an_object_store(
    built: Built, export: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    endpoint = f"127.0.0.1:{port}"
    store = fs.S3FileSystem(
        endpoint_override=endpoint, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    store.create_dir(BUCKET)
    options = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    told = export(f"s3a://{BUCKET}/out/state.parquet{options}", "--json")
    assert json.loads(told)["rows"] == len(built.rows())
    assert in_order(pq.read_table(f"{BUCKET}/out/state.parquet", filesystem=store)) == state(built)
    there = f"s3://{BUCKET}/out/state.parquet{options}"
    assert "is there already" in export(there, code=1)
    assert f"rows in s3://{BUCKET}" in export(there, "--overwrite", "--version", "2")
    found = pq.read_table(f"{BUCKET}/out/state.parquet", filesystem=store)
    assert in_order(found) == state(built, 2)
    assert "cannot be written" in export(f"s3://nowhere/state.csv{options}", code=1)
    assert "has the ending '.txt'" in export(f"s3://{BUCKET}/state.txt{options}", code=1)
    damage(built)
    assert "is damaged" in export(f"s3://{BUCKET}/other.csv{options}", code=1)
    assert store.get_file_info(f"{BUCKET}/other.csv").type == fs.FileType.NotFound


class Disk(MemoryFileSystem):  # type: ignore[misc]
    """A file is seen from its first byte on. `left` more writes do not fail."""

    protocol = "disk"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    left = 0
    error: ClassVar[type[Exception]] = OSError

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("disk://", "memory://")))

    def _open(self, path: str, mode: str = "rb", *given: Any, **named: Any) -> Any:
        file = super()._open(path, mode, *given, **named)
        if mode == "wb":
            write = file.write

            def failing(data: bytes) -> int:
                if Disk.left == 0:
                    raise Disk.error("nobody is there")
                Disk.left -= 1
                return int(write(data))

            file.write = failing
        return file


class Renaming(Disk):
    protocol = "renaming"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("renaming://", "memory://")))

    def mv(self, path1: str, path2: str, **_: Any) -> None:
        if self.exists(path2):
            raise FileExistsError(path2)
        if Disk.left == 0:
            raise Disk.error("nobody is there")
        self.store[path2] = self.store.pop(path1)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Disk]]:
    """File systems whose files are seen while they are written, in chunks of 100 bytes."""
    monkeypatch.setattr("bucketstate.checkpoint.format.writing._CHUNK", 100)
    for kind in (Disk, Renaming):
        fsspec.register_implementation(kind.protocol, kind, clobber=True)
    Disk.store.clear()
    Disk.left, Disk.error = 10**6, OSError
    yield Disk
    Disk.store.clear()


def held(disk: type[Disk]) -> dict[str, bytes]:
    return {path: file.getvalue() for path, file in disk.store.items()}


@pytest.mark.parametrize("error", [OSError, RuntimeError])
@pytest.mark.parametrize("scheme", ["disk", "renaming"])
def test_what_fails_while_it_is_sent_leaves_nothing(
    built: Built, export: Any, disk: type[Disk], scheme: str, error: type[Exception]
) -> None:
    target = f"{scheme}://out/state.csv"
    disk.left, disk.error = 1, error
    told = export(target, code=1)
    assert f"{target} cannot be written: nobody is there" in told
    assert held(disk) == {}
    disk.left = 10**6
    assert "rows in" in export(target)
    ((path, written),) = held(disk).items()
    assert (path, written.count(b"\n")) == ("/out/state.csv", 1 + len(built.rows()))
    assert "is there already" in export(target, code=1)
    export(target, "--overwrite", "--version", "2")
    assert held(disk)[path].count(b"\n") == 1 + len(built.rows(2))


def test_where_files_are_renamed_the_old_one_stays_until_the_new_one_is_whole(
    built: Built, export: Any, disk: type[Disk]
) -> None:
    target = "renaming://out/state.csv"
    export(target, "--version", "2")
    before = held(disk)
    disk.left = 1
    assert "cannot be written" in export(target, "--overwrite", code=1)
    assert held(disk) == before
    # As many writes as it takes, and then nobody is there for the new name.
    disk.left = -(-len(before["/out/state.csv"]) // 100)
    told = export(target, "--overwrite", "--version", "2", code=1)
    ((hidden, whole),) = held(disk).items()
    assert f"nobody is there; it is whole under the name {hidden}" in told
    assert whole == before["/out/state.csv"]
    assert built.root


@pytest.mark.parametrize("found", [None, "nowhere"])
def test_without_a_temporary_folder(
    built: Built,
    export: Any,
    disk: type[Disk],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: str | None,
) -> None:
    """Python knows of some that are always there, so it is told of none."""
    nowhere = str(tmp_path / "nowhere")
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [nowhere])
    monkeypatch.setattr(tempfile, "tempdir", found and nowhere)
    told = export("disk://out/state.csv", code=1)
    assert told.startswith("bucketstate: disk://out/state.csv cannot be written: ")
    assert "See that TMPDIR is a folder with room for it." in told
    assert "standard output" not in told
    assert held(disk) == {}
    assert built.root


def test_a_table_of_delta(built: Built, export: Any, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    table = tmp_path / "table"
    assert "rows in" in export(table, "--format", "delta")
    assert in_order(DeltaTable(table).to_pyarrow_table()) == state(built)
    assert "is there already" in export(table, "--format", "delta", code=1)
    some = "--columns", "value", "--where", "value.total >= 50"
    export(table, "--format", "delta", "--overwrite", *some)
    found = DeltaTable(table).to_pyarrow_table()
    assert found.column_names == ["value"]
    assert {row["value"]["total"] >= 50 for row in found.to_pylist()} == {True}
    assert DeltaTable(table).version() == 1
    damage(built)
    assert "is damaged" in export(table, "--format", "delta", "--overwrite", code=1)
    assert DeltaTable(table).version() == 1
    assert DeltaTable(table).to_pyarrow_table() == found


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import pyiceberg.catalog
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    # The settings are read when the library is first imported.
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    return pyiceberg.catalog.load_catalog("lake")


@pytest.mark.filterwarnings("ignore")
def test_a_table_of_iceberg(built: Built, export: Any, catalog: Any) -> None:
    assert "rows in" in export("lake:keys.state", "--format", "iceberg")
    table = catalog.load_table("keys.state")
    assert in_order(table.scan().to_arrow()) == state(built)
    assert "is there already" in export("lake:keys.state", "--format", "iceberg", code=1)
    export("lake:keys.state", "--format", "iceberg", "--overwrite", "--version", "2")
    assert in_order(catalog.load_table("keys.state").scan().to_arrow()) == state(built, 2)
    some = "--columns", "partition_id", "--overwrite"
    told = export("lake:keys.other", "--format", "iceberg", *some)
    assert "rows in" in told
    damage(built)
    assert "is damaged" in export("lake:keys.state", "--format", "iceberg", "--overwrite", code=1)
    assert in_order(catalog.load_table("keys.state").scan().to_arrow())[0]["partition_id"] in (0, 1)
    assert "is damaged" in export("lake:keys.new", "--format", "iceberg", code=1)
    assert not catalog.table_exists("keys.new")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_times_and_no_rows(tmp_path: Path, export: Any, catalog: Any, format_: str) -> None:
    from deltalake import DeltaTable

    made = Variables(tmp_path / "checkpoint")
    made.batch(made.families(State(last={"a": (1, 1_700_000_000_000)})))
    target = tmp_path / "table" if format_ == "delta" else "lake:keys.state"
    export(target, "--format", format_, "--state-var", "last", "--times")

    def read() -> pa.Table:
        if format_ == "delta":
            return DeltaTable(target).to_pyarrow_table()
        return catalog.load_table("keys.state").scan().to_arrow()

    (row,) = read().to_pylist()
    assert row["expires_at"].replace(tzinfo=None) == datetime(2023, 11, 14, 22, 13, 20)
    nobody = "--where", "key.key = 'nobody'"
    export(target, "--format", format_, "--state-var", "last", "--times", "--overwrite", *nobody)
    assert read().num_rows == 0


def test_what_is_no_table(
    built: Built, export: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    told = export(tmp_path / "file", "--format", "delta", code=1)
    assert "cannot be written as delta" in told
    assert "Traceback" not in told
    assert "delta is a table, not standard output" in export("-", "--format", "delta", code=1)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    assert "pip install 'bucketstate[delta]'" in export("t", "--format", "delta", code=1)
    assert "pip install 'bucketstate[iceberg]'" in export("a.t", "--format", "iceberg", code=1)
    assert built.root
