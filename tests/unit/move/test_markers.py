"""What markers say, and what is made of those that cannot be read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.origin import Origin, encoded, read_origin, read_rewinding
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.cli import main
from bucketstate.doctor import of_checkpoint
from bucketstate.errors import DamagedFileError, NewerFormatError, RefusedMoveError
from bucketstate.move import clone
from bucketstate.move.logs import at_home, with_query_id
from bucketstate.report import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.checkpoints import Built

BEGUN: dict[str, Any] = {
    "format": 1,
    "kind": "import",
    "status": "begun",
    "source": "s3a://states/a",
    "batch": 7,
    "tool": "0.1.0",
    "startedMs": 1_700_000_000_000,
}
"""As another tool of ours may begin: with what it knows then."""


def mark(root: Path, name: str = "move.json", **members: Any) -> None:
    (root / "_bucketstate").mkdir(exist_ok=True)
    (root / "_bucketstate" / name).write_text(json.dumps(BEGUN | members))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    mark(tmp_path)
    assert read_origin(Folder.at(tmp_path)) == Origin(
        "import", "begun", "s3a://states/a", 7, "0.1.0", 1_700_000_000_000
    )
    whole = Origin("clone", "finished", "file:/a", 3, "0.2.0", 1, 2, 3, 4, 5)
    (tmp_path / "_bucketstate/move.json").write_bytes(encoded(whole))
    assert read_origin(Folder.at(tmp_path)) == whole
    assert read_rewinding(Folder.at(tmp_path)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": "1"}',
        '{"format": 0}',
        json.dumps({n: v for n, v in BEGUN.items() if n != "batch"}),
        json.dumps(BEGUN | {"status": "other"}),
        json.dumps(BEGUN | {"startedMs": 10**18}),
        json.dumps(BEGUN | {"stores": "many"}),
    ],
)
def test_damage_is_told_and_is_no_reason_not_to_read(built: Built, text: str) -> None:
    mark(built.root)
    path = built.root / "_bucketstate/move.json"
    path.write_text(text)
    with pytest.raises(DamagedFileError, match=r"_bucketstate/move\.json is damaged"):
        read_origin(Folder.at(built.root))
    checkpoint = Checkpoint(built.root)
    assert checkpoint.scan().to_arrow().num_rows == len(built.rows())
    assert f"{path} is damaged" in str(checkpoint.overview().half_done)
    assert not checkpoint.verify().ok
    with pytest.raises(RefusedMoveError):
        clone(built.root, built.root.parent / "clone")


def test_a_newer_one_says_to_upgrade(built: Built) -> None:
    mark(built.root, format=2)
    with pytest.raises(NewerFormatError, match="upgrade this package"):
        read_origin(Folder.at(built.root))
    assert "upgrade this package" in str(Checkpoint(built.root).overview().half_done)


def test_a_torn_one_is_one_that_was_begun(built: Built, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    target.mkdir()
    mark(target)
    (target / "_bucketstate/move.json").write_text("{")
    clone(built.root, target)
    assert Checkpoint(target).overview().half_done is None


def test_what_another_tool_of_ours_left_is_deleted(built: Built, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    (target / "state/7/0").mkdir(parents=True)
    (target / "state/7/0/1.changelog").write_text("")
    mark(target)
    clone(built.root, target)
    assert not (target / "state/7").exists()


def test_where_they_are_shown(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    mark(built.root, status="finished", finishedMs=1_700_000_000_000)
    told = (
        "This is an import of s3a://states/a after batch 7, made on 2023-11-14 22:13:20 UTC by "
        "bucketstate 0.1.0."
    )
    for command in (["inspect"], ["verify", "--verbose"], ["doctor"]):
        assert main([*command, str(built.root)]) == 0
        assert told in capsys.readouterr().out
    diagnosis = of_checkpoint(Checkpoint(built.root).overview())
    assert diagnosis.notes == (told,)
    assert main(["inspect", str(built.root), "--json"]) == 0
    origin = json.loads(capsys.readouterr().out)["origin"]
    assert (origin["kind"], origin["batch"]) == ("import", 7)


@pytest.mark.parametrize("name", ["move.json", "rewind.json"])
def test_where_unfinished_ones_are_shown(
    built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    mark(built.root, name)
    for command, code in (("inspect", 3), ("verify", 3), ("doctor", 0)):
        for more in ([], ["--json"]):
            assert main([command, str(built.root), *more]) == code
            assert "run the same command again" in capsys.readouterr().out
    assert main(["report", str(built.root), "-o", str(tmp_path / "page.html")]) == 3
    write_report(built.root, tmp_path / "page.html", state=False)


@pytest.mark.parametrize(
    ("recorded", "home", "expected"),
    [
        ("file:/a/state/0/_stateSchema/default/0_x", "file:/b", "file:/b/"),
        ("/a/state/0/_stateSchema/default/0_x", "file:/b", "file:/b/"),
        ("s3a://one/a/state/0/_stateSchema/default/0_x", "s3://two/b", "s3a://two/b/"),
        ("s3a://one/a/state/0/_stateSchema/default/0_x", "s3a://one/b", "s3a://one/b/"),
        ("gs://one/a/state/0/_stateSchema/default/0_x", "s3a://two/b", "s3a://two/b/"),
        ("file:/x/state/0/y/state/0/_stateSchema/default/0_x", "file:/b", "file:/b/"),
    ],
)
def test_paths_of_schema_files(recorded: str, home: str, expected: str) -> None:
    content = {"stateStoreInfo": [{"stateSchemaFilePaths": [recorded]}], "other": {"a": 1}}
    found = at_home(b"v2\n" + json.dumps(content).encode(), 0, home, "path")
    head, body = found.decode().split("\n")
    (store,) = json.loads(body)["stateStoreInfo"]
    assert head == "v2"
    assert store["stateSchemaFilePaths"] == [f"{expected}state/0/_stateSchema/default/0_x"]


def test_metadata_without_paths_stays_as_it_is() -> None:
    data = b'v1\n{ "stateStoreInfo" : [{"storeName": "default"}] }'
    assert at_home(data, 0, "file:/b", "path") == data


@pytest.mark.parametrize(
    "data",
    [b"v2", b"v2\n[]", b'v2\n{"a": 1}', b"v2\n\xff", b'v2\n{"stateStoreInfo": 7}'],
)
def test_metadata_that_cannot_be_read(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="the-path is damaged"):
        at_home(data, 0, "file:/b", "the-path")


def test_a_path_that_leads_elsewhere() -> None:
    data = b'v2\n{"stateStoreInfo": [{"stateSchemaFilePaths": ["file:/elsewhere"]}]}'
    with pytest.raises(DamagedFileError, match=r"expected a path with /state/0/"):
        at_home(data, 0, "file:/b", "the-path")


def test_what_else_spark_says_of_a_query_stays() -> None:
    assert with_query_id(b'{"id":"a","more":1}', "b", "path") == b'{"id":"b","more":1}'
    with pytest.raises(DamagedFileError, match="the-path is damaged"):
        with_query_id(b"[]", "b", "the-path")
