"""A copy of a checkpoint whose operators' metadata name schema files by whole paths."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.errors import InvalidArgumentError
from tests.kit.variables import State, Variables

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


@pytest.fixture
def original(tmp_path: Path) -> Variables:
    built = Variables(tmp_path / "original")
    built.batch(built.families(State(count={"a": (1, "x")}, last={"b": (2, 3)})))
    return built


def rows(checkpoint: Checkpoint) -> pa.Table:
    return checkpoint.scan(state_var="count").to_arrow()


def test_an_original_is_none(original: Variables) -> None:
    checkpoint = Checkpoint(original.root)
    assert checkpoint.query.copied is None
    assert checkpoint.overview().copied is None
    assert checkpoint.verify().findings == ()


def test_a_copy_beside_its_original_is_a_warning(original: Variables, tmp_path: Path) -> None:
    copy = shutil.copytree(original.root, tmp_path / "copy")
    checkpoint = Checkpoint(copy)
    assert rows(checkpoint).equals(rows(Checkpoint(original.root)))
    report = checkpoint.verify()
    assert report.ok
    (finding,) = report.findings
    assert (finding.severity, finding.path) == ("warning", f"{copy}/state/0/_metadata/v2")
    assert f"replace file:{original.root} by file:{copy}" in finding.what
    assert "as long as it is there" in finding.what
    assert main(["inspect", str(copy)]) == 0
    output = str(tmp_path / "a.html")
    assert main(["report", str(copy), "--quick", "-o", output]) == 0


def test_a_copy_whose_original_is_gone_is_an_error(
    original: Variables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.move(original.root, tmp_path / "moved")
    checkpoint = Checkpoint(copy)
    assert rows(checkpoint).num_rows == 1
    report = checkpoint.verify()
    assert not report.ok
    assert [f.severity for f in report.findings] == ["error"]
    assert "the query does not start here" in report.findings[0].what
    overview = checkpoint.overview()
    assert overview.copied == report.findings[0].what
    (advice,) = of_checkpoint(overview).advice
    assert advice.what == overview.copied
    for command, code in (("inspect", 3), ("verify", 3), ("doctor", 0)):
        for more in ([], ["--json"]):
            assert main([command, str(copy), *more]) == code
            assert f"file:{original.root}" in capsys.readouterr().out
    page = ["report", str(copy), "--quick", "--json", "-o", str(tmp_path / "a.html")]
    assert main(page) == 3
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_it_is_gone_once_the_paths_are_replaced(original: Variables, tmp_path: Path) -> None:
    copy = tmp_path / "moved"
    shutil.move(original.root, copy)
    for path in (copy / "state/0/_metadata/v2").iterdir():
        path.write_text(path.read_text().replace(f"file:{original.root}", f"file:{copy}"))
    assert Checkpoint(copy).query.copied is None
    assert Checkpoint(copy).verify().findings == ()


def test_a_link_to_it_is_no_copy(original: Variables, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(original.root)
    assert Checkpoint(link).query.copied is None


@pytest.mark.parametrize(
    ("uri", "same"),
    [
        ("/data/query", True),
        ("file:/data/query", True),
        ("file:///data/query", True),
        ("/data/other", False),
        ("s3a://data/query", False),
        ("hdfs://node:8020/data/query", False),
    ],
)
def test_where_a_local_folder_is(uri: str, same: bool) -> None:
    assert Folder.at("/data/query").is_at(uri) == same


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("s3a://key:secret@bucket/query", "s3a://bucket/query"),
        ("s3a://bucket/a:b@c", "s3a://bucket/a:b@c"),
        ("abfss://container@account/query", "abfss://container@account/query"),
        ("hdfs://node:8020/query", "hdfs://node:8020/query"),
    ],
)
def test_what_is_written_of_a_folder_has_no_secret(location: str, uri: str) -> None:
    folder = FarFolder(location)
    assert folder.uri == folder.location == uri
    assert folder.path_of("0") == f"{uri}/0"


def test_what_cannot_be_opened_tells_no_secret() -> None:
    with pytest.raises(InvalidArgumentError, match=r"nothing://bucket/query: there") as failure:
        Folder.at("nothing://key:secret@bucket/query")
    assert "secret" not in str(failure.value)


class FarFolder(Folder):
    """As of a file system that is not asked anything."""

    def __init__(self, path: str) -> None:
        super().__init__(None, path)


@pytest.mark.parametrize(
    ("path", "uri", "same"),
    [
        ("bucket/query", "s3a://bucket/query", True),
        ("bucket/query", "s3://bucket/query/", True),
        ("bucket/query", "s3a://other/query", False),
        ("bucket/query", "gs://bucket/query", True),
        ("/data/query", "hdfs://node:8020/data/query", True),
        ("/data/query", "hdfs:///data/query", True),
        ("/data/copy", "hdfs://node:8020/data/query", False),
        ("container/query", "abfss://container@account.dfs.core.windows.net/query", True),
    ],
)
def test_where_another_folder_is(path: str, uri: str, same: bool) -> None:
    assert FarFolder(path).is_at(uri) == same
