"""Folders that are no checkpoint of ours, newer formats, damage: one clear error each."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import fs

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.compression import crc32c
from bucketstate.checkpoint.format.names import parse
from bucketstate.errors import (
    DamagedFileError,
    InvalidArgumentError,
    MissingFileError,
    NewerFormatError,
    NotACheckpointError,
    OtherProviderError,
    StorageError,
)
from tests.kit.checkpoints import Built, changelog, manifest
from tests.unit.checkpoint.test_state import grown, rows

if TYPE_CHECKING:
    from pathlib import Path


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match=r"none does not exist"):
        Checkpoint(tmp_path / "none")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match=r"no folder 'offsets'.*checkpointLocation"):
        Checkpoint(tmp_path)


def test_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    grown(tmp_path)
    (tmp_path / "commits" / "\udcff").write_bytes(b"")
    with pytest.raises(StorageError, match=r"commits has a file whose name is not UTF-8"):
        Checkpoint(tmp_path)


def test_a_query_without_state(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "commits").mkdir()
    with pytest.raises(NotACheckpointError, match="holds no state"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize("place", ["offsets/5", "commits/5"])
def test_a_log_of_a_newer_spark(tmp_path: Path, place: str) -> None:
    grown(tmp_path)
    (tmp_path / place).write_text('v99\n{"batchWatermarkMs":0}\n{}')
    with pytest.raises(NewerFormatError, match="It was written by a newer Spark: upgrade this"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_another_provider(tmp_path: Path) -> None:
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    built = Built(tmp_path, provider=other)
    built.batch({("a",): (1, 1)})
    with pytest.raises(OtherProviderError, match=f"written with {other}.*statestore.*move import"):
        Checkpoint(tmp_path)


def test_another_provider_that_spark_did_not_record(tmp_path: Path) -> None:
    built = Built(tmp_path)
    (tmp_path / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0}\n')
    (built.folder(0) / "1.delta").touch()
    with pytest.raises(OtherProviderError, match="written with another provider"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "known"),
    [
        ("offsets/5", "v9\n{}", 2),
        ("commits/5", "v9\n{}", 3),
        ("state/0/_metadata/metadata", "v9\n{}", 2),
    ],
)
def test_a_newer_format_of_spark_s_files(
    tmp_path: Path, name: str, content: str, known: int
) -> None:
    grown(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(NewerFormatError, match=rf"{name}: expected .* version {known} or older"):
        Checkpoint(tmp_path).scan().to_arrow()


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"not a log\n{}", b'v1\n{"stateUn', b"v1\n[1]", b"v1\n5", b"v1\nnull"],
)
@pytest.mark.parametrize("name", ["offsets/5", "commits/5", "state/0/_metadata/metadata"])
def test_damage_of_spark_s_files_names_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    grown(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DamagedFileError, match=name):
        Checkpoint(tmp_path).scan().to_arrow()


@pytest.mark.parametrize(
    "ids", ["5", "[1]", '{"0":5}', '{"0":[]}', '{"0":[[],[]]}', '{"0":[[5],[5]]}', '{"1":[["a"]]}']
)
def test_checkpoint_ids_that_are_none_name_the_commit(tmp_path: Path, ids: str) -> None:
    grown(tmp_path, ids=True)
    (tmp_path / "commits/5").write_text(f'v2\n{{"stateUniqueIds":{ids}}}')
    with pytest.raises(DamagedFileError, match=r"commits/5 is damaged: .*expected the checkpoint"):
        Checkpoint(tmp_path).scan().to_arrow()


NUMBERS = ["3", True, 3.0, b"3"]
"""Whole numbers they are not."""


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("what", ["overview", "plan", "schema"])
def test_a_version_is_a_whole_number(tmp_path: Path, what: str, number: Any) -> None:
    grown(tmp_path)
    ask = getattr(Checkpoint(tmp_path), what)
    with pytest.raises(InvalidArgumentError, match=f"version={number!r} is a .*version=3"):
        ask(version=number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("what", ["to_arrow", "keys_per_bucket", "residency_per_bucket"])
def test_so_is_the_version_of_a_scan(tmp_path: Path, what: str, number: Any) -> None:
    grown(tmp_path)
    ask = getattr(Checkpoint(tmp_path).scan(version=number), what)
    with pytest.raises(InvalidArgumentError, match=f"version={number!r} is a .*version=3"):
        ask()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("what", ["operator", "partition", "batch"])
def test_so_are_operator_partition_and_batch(tmp_path: Path, what: str, number: Any) -> None:
    grown(tmp_path)
    with pytest.raises(InvalidArgumentError, match=f"{what}={number!r} is a .*{what}=3"):
        Checkpoint(tmp_path).scan(**{what: number}).to_arrow()


@pytest.mark.parametrize("number", NUMBERS)
def test_so_are_the_versions_between_which_something_changed(tmp_path: Path, number: Any) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    for kind in ("changes", "diff"):
        with pytest.raises(InvalidArgumentError, match="since="):
            checkpoint.scan(kind, since=number, version=3).to_arrow()
        with pytest.raises(InvalidArgumentError, match="version="):
            checkpoint.scan(kind, since=1, version=number).to_arrow()


@pytest.mark.parametrize("name", ["offsets/5", "commits/5"])
def test_a_log_of_an_old_spark_says_nothing_more_than_its_format(tmp_path: Path, name: str) -> None:
    built = grown(tmp_path)
    (tmp_path / name).write_bytes(b"v1")
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


def test_a_newer_format_of_a_changelog(tmp_path: Path) -> None:
    built = grown(tmp_path)
    newer = changelog(6, [], 0, buckets=8, format_version=3)
    (built.folder(0) / "6.changelog").write_bytes(newer)
    expected = r"6\.changelog: expected a changelog of format version 2 or older, found 3.*upgrade"
    with pytest.raises(NewerFormatError, match=expected):
        Checkpoint(tmp_path).scan().to_arrow()


def sealed(data: bytes, at: int, layout: str, number: int) -> bytes:
    """A changelog with another number in the entry of its last block, its checksums right."""
    out = bytearray(data)
    trailer = len(out) - 32
    (footer,) = struct.unpack_from("<Q", out, trailer)
    struct.pack_into(layout, out, trailer - 37 + at, number)
    struct.pack_into("<I", out, trailer + 12, crc32c(bytes(out[footer:trailer])))
    struct.pack_into("<I", out, trailer + 20, crc32c(bytes(out[trailer : trailer + 20])))
    return bytes(out)


@pytest.mark.parametrize(
    ("at", "layout", "number", "found"),
    [
        (24, "<I", 26, "1 records in 26 bytes, stored with codec 0 in 25"),
        (28, "<I", 0, "0 records in 25 bytes"),
        (28, "<I", 9, "9 records in 25 bytes"),
        (32, "<B", 1, "1 records in 25 bytes, stored with codec 1 in 25"),
    ],
)
def test_a_block_that_no_writer_makes(
    tmp_path: Path, at: int, layout: str, number: int, found: str
) -> None:
    built = Built(tmp_path, partitions=1, codec="none")
    built.batch({("a",): (1, 1)})
    path = built.folder() / "1.changelog"
    sound = path.read_bytes()
    path.write_bytes(sealed(sound, 28, "<I", 1))
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()
    path.write_bytes(sealed(sound, at, layout, number))
    with pytest.raises(DamagedFileError, match=f"whose lengths can be true, found {found}"):
        Checkpoint(tmp_path).plan()


def test_a_newer_format_of_a_manifest(tmp_path: Path) -> None:
    built = grown(tmp_path)
    members = {"format": "bucketstate-manifest", "formatVersion": 4, "other": 1}
    (built.folder(0) / "6.manifest").write_bytes(json.dumps(members).encode())
    with pytest.raises(NewerFormatError, match=r"6\.manifest: expected a manifest of format"):
        Checkpoint(tmp_path).scan().to_arrow()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"version": 5}, "found that of 5.manifest: the file was renamed or copied"),
        ({"runs": []}, "it must be true that there is a run"),
        ({"numBuckets": "8"}, "'numBuckets' is '8', not an integer"),
        ({"families": None}, "the manifest cannot be decoded"),
        ({"hashFunction": 1}, "'hashFunction' is 1, not a string"),
    ],
)
def test_a_manifest_that_cannot_be_true(
    tmp_path: Path, members: dict[str, object], message: str
) -> None:
    built = grown(tmp_path)
    built.snapshot(6)
    built.rewrite_manifest(6, **members)
    plan = Checkpoint(tmp_path).plan()
    assert plan.base is None
    assert plan.skipped[0].reason == "damaged"
    assert message in str(plan.skipped[0])
    # The changelogs are there, and give the same.
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


def test_a_manifest_with_members_that_are_not_known(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(6)
    path = built.folder(0) / "6.manifest"
    sound = json.loads(path.read_bytes())
    del sound["checksum"]
    path.write_bytes(manifest(sound | {"later": {"a": 1}}))
    assert Checkpoint(tmp_path).plan().skipped == ()
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


def test_a_changelog_under_another_name(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "5.changelog").replace(built.folder(0) / "6.changelog")
    with pytest.raises(DamagedFileError, match=r"found that of 5\.changelog.*renamed or copied"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_another_number_of_buckets(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.buckets = 16
    built.batch({("a",): (1, 1)})
    with pytest.raises(DamagedFileError, match="expected 16 buckets, found 8"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_a_schema_of_another_query(tmp_path: Path) -> None:
    grown(tmp_path)
    other = Built(tmp_path / "other", key=Built(tmp_path / "x").value)
    schema = (other.folder(0) / "_metadata" / "schema").read_bytes()
    (tmp_path / "state" / "0" / "0" / "_metadata" / "schema").write_bytes(schema)
    with pytest.raises(DamagedFileError, match="does not have the layout of the schema struct<"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_a_missing_schema(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "_metadata" / "schema").unlink()
    with pytest.raises(MissingFileError, match="without the schema of the state"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_an_encoding_of_later(tmp_path: Path) -> None:
    built = grown(tmp_path)
    for partition in range(2):
        path = built.folder(partition) / "6.changelog"
        path.write_bytes(changelog(6, [], 0, buckets=8, key_encoding="compact-row/2"))
        for version in range(1, 6):
            path = built.folder(partition) / f"{version}.changelog"
            path.write_bytes(changelog(version, [], 0, buckets=8, key_encoding="compact-row/2"))
    with pytest.raises(NewerFormatError, match="keys encoded as 'compact-row/2'"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_a_checkpoint_that_goes_away_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)

    monkeypatch.setattr(
        checkpoint.query.folder,
        "_fs",
        fs.SubTreeFileSystem("/nowhere", fs.LocalFileSystem()),
    )
    with pytest.raises(MissingFileError, match=str(tmp_path)):
        checkpoint.scan().to_arrow()


def test_a_uri_of_a_file_system_that_is_not_known() -> None:
    with pytest.raises(InvalidArgumentError, match="there is no file system called 'gopher'"):
        Checkpoint("gopher://x/y")


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_forms_of_a_local_path(tmp_path: Path, form: str) -> None:
    built = grown(tmp_path)
    assert rows(Checkpoint(form.format(tmp_path)).scan().to_arrow()) == built.rows()


def test_a_file_system_of_pyarrow(tmp_path: Path) -> None:
    built = grown(tmp_path / "in")
    built.snapshot(4)
    inside = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    assert rows(Checkpoint("in", inside).scan().to_arrow()) == built.rows()


@pytest.mark.parametrize(
    "name",
    [
        "7.changelog",
        "7_a-B9.changelog",
        "0.manifest",
        "runs/7-0-c4f5696a-5344-31cd-9310-d40de5cc035a.sst",
        ".7.changelog.c4f5696a-5344-31cd-9310-d40de5cc035a.tmp",
        "runs/.7-0-x.sst.c4f5696a-5344-31cd-9310-d40de5cc035a.TID12.tmp",
    ],
)
def test_a_file_has_one_name(name: str) -> None:
    assert str(parse(name)) == name


@pytest.mark.parametrize(
    "name", ["07.changelog", "7_.changelog", "7.delta", "7-0-x.sst", "runs/7.changelog", "7.tmp"]
)
def test_other_names_are_nobody_s(name: str) -> None:
    assert parse(name) is None
