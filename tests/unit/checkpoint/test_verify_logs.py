"""What `verify` says of Spark's logs, and of a file system that fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.query import Query
from bucketstate.cli import main
from bucketstate.errors import NoSuchStateError, StorageError
from tests.kit.checkpoints import Built, log
from tests.kit.storage.far_files import FarFiles

ENTRY = 'v1\n{"path":"file:///a.json","timestamp":1,"batchId":0}'
"""What a source of files keeps of a batch."""


@pytest.mark.parametrize("log", ["commits", "offsets"])
def test_a_number_far_beyond_all_others_is_told_at_once(built: Built, log: str) -> None:
    stray = built.root / log / str(2**63 - 2)
    shutil.copy(built.root / log / "4", stray)
    report = Checkpoint(built.root).verify()
    assert not report.ok
    assert any(f"has no batch 6 to {2**63 - 3}" in f.what for f in report.findings)


def test_an_offset_log_that_is_empty(built: Built) -> None:
    for file in (built.root / "offsets").iterdir():
        file.unlink()
    (finding,) = Checkpoint(built.root).verify().findings
    assert finding.path == str(built.root / "offsets")
    assert "is empty, though batch 5 was committed" in finding.what


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("metadata", "metadata is not there, by which Spark knows the query"),
        ("offsets/5", "5 is not there, though batch 5 was committed"),
        ("offsets/4", "4 is not there, though batch 5 was planned"),
    ],
)
def test_a_file_that_starts_the_query_is_missed(built: Built, name: str, told: str) -> None:
    (built.root / name).unlink()
    (finding,) = Checkpoint(built.root).verify().findings
    assert finding.path == str(built.root / name)
    assert told in finding.what
    assert "a restart fails" in finding.what


def test_a_batch_is_open_while_it_is_not_committed(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown() -> tuple[int | None, bool]:
        assert main(["inspect", str(built.root)]) == 0
        told = "was planned and not committed" in capsys.readouterr().out
        return Checkpoint(built.root).overview().open_batch, told

    assert shown() == (None, False)
    (built.root / "offsets/5").unlink()
    assert shown() == (None, False)
    (built.root / "commits/5").unlink()
    built.plan_batch(5)
    assert shown() == (5, True)


@pytest.mark.parametrize("content", ["", "{}", "[]", "{", '{"id": 5', "v1"])
def test_a_query_s_metadata_that_cannot_be_read(built: Built, content: str) -> None:
    (built.root / "metadata").write_text(content)
    (finding,) = Checkpoint(built.root).verify().findings
    assert "the query's metadata cannot be decoded" in finding.what
    assert "a restart fails" in finding.what


def test_an_offset_log_that_was_cut_off(built: Built) -> None:
    for batch in (5, 2):
        path = built.root / "offsets" / str(batch)
        path.write_text("\n".join(path.read_text().split("\n")[:2]))
    older, last = Checkpoint(built.root).verify().findings
    assert "it has no offsets, as where it was cut off" in older.what
    assert "a restart fails" not in older.what
    assert "a restart fails" in last.what


def test_a_commit_that_was_cut_off_takes_the_watermark_along(built: Built) -> None:
    log(built.root / "offsets/5", 1, {"batchWatermarkMs": 40_000}, "0")
    commit = built.root / "commits/5"
    log(commit, 1, {"nextBatchWatermarkMs": 60_000})
    assert Query(Folder.at(built.root)).watermark_of(6) == 60_000
    assert Checkpoint(built.root).verify().findings == ()
    commit.write_text("v1\n")
    report = Checkpoint(built.root).verify()
    (finding,) = report.findings
    assert report.ok
    assert (finding.severity, finding.path) == ("warning", str(commit))
    assert "with the watermark that batch 5 itself had (40000 ms since 1970)" in finding.what
    assert Query(Folder.at(built.root)).watermark_of(6) == 40_000


def test_an_older_commit_that_was_cut_off_is_of_no_harm(built: Built) -> None:
    (built.root / "commits/4").write_text("v1")
    assert Checkpoint(built.root).verify().findings == ()


def test_a_commit_that_was_cut_off_and_named_a_sink(built: Built) -> None:
    (built.root / "commits/5").write_text("v3")
    findings = Checkpoint(built.root).verify().findings
    assert {f.path for f in findings} == {str(built.root / "commits/5")}
    for told in ("it does not name the sink, as where it was cut off", "a restart fails"):
        assert all(told in f.what for f in findings)


def test_a_commit_that_was_cut_off_and_had_checkpoint_ids(tmp_path: Path) -> None:
    built = Built(tmp_path, ids=True)
    for n in range(3):
        built.batch({(f"k{n}",): (n, n)})
    assert Checkpoint(built.root).verify().ok
    (built.root / "commits/2").write_text("v2")
    report = Checkpoint(built.root).verify()
    assert not report.ok
    assert all("3.changelog" in str(restart.failure) for restart in report.restarts)


@pytest.mark.parametrize(
    ("entries", "missing"),
    [
        ("0 1 2 3 4 5", None),
        ("3.compact 4 5", None),
        ("0 1 2 3.compact 4 5 6", None),
        ("3.compact 5", 4),
        ("0 1 3 4 5", 2),
        ("7.compact 0 1", 2),
        ("", 0),
    ],
)
def test_the_entries_of_a_source_of_files(built: Built, entries: str, missing: int | None) -> None:
    path = built.root / "offsets/5"
    path.write_text(f'{path.read_text().rpartition(chr(10))[0]}\n-\n{{"logOffset":5}}')
    folder = built.root / "sources/1"
    folder.mkdir(parents=True)
    for name in entries.split():
        (folder / name).write_text(ENTRY)
        (folder / f".{name}.crc").write_text("")
    findings = Checkpoint(built.root).verify().findings
    assert [f.path for f in findings] == ([] if missing is None else [str(folder / str(missing))])
    assert all("one of the entries in which source 1 keeps" in f.what for f in findings)


@pytest.mark.parametrize(("entries", "missing"), [("0 1 2", None), ("0 2", 1)])
def test_a_source_that_a_query_has_twice(built: Built, entries: str, missing: int | None) -> None:
    """It has an offset for each time, and one folder."""
    path = built.root / "offsets/5"
    head = path.read_text().rpartition("\n")[0]
    path.write_text(f'{head}\n{{"logOffset":2}}\n{{"logOffset":2}}')
    folder = built.root / "sources/0"
    folder.mkdir(parents=True)
    for name in entries.split():
        (folder / name).write_text(ENTRY)
        (folder / f".{name}.crc").write_text("")
    findings = Checkpoint(built.root).verify().findings
    assert [f.path for f in findings] == ([] if missing is None else [str(folder / str(missing))])


def with_ids(built: Built, *offsets: str) -> None:
    """The last batch's offsets as Spark writes them that knows sources by their ids."""
    path = built.root / "offsets/5"
    path.write_text("\n".join(["v2", path.read_text().split("\n")[1], *offsets]))


def read_by(built: Built, source: str, *entries: str) -> None:
    """What a source of files has kept."""
    folder = built.root / "sources" / source
    folder.mkdir(parents=True)
    for name in entries:
        (folder / name).write_text(ENTRY)


@pytest.mark.parametrize(
    ("offsets", "source", "others"),
    [
        (['0:{"logOffset":2}'], "0", []),
        (['0:{"0":{"0":3}}', '1:{"logOffset":2}'], "1", ["0"]),
        (['0:{"0":{"0":3}}', '1:{"logOffset":2}'], "1", []),
        (['orders:{"logOffset":2}', 'clicks:{"0":{"0":3}}'], "orders", ["clicks", "removed"]),
        (['orders:{"logOffset":2}', "clicks:-"], "orders", []),
        # A stream that is joined with itself, and one whose name is a number.
        (['1:{"logOffset":2}'], "0", []),
        (['7:{"logOffset":2}'], "7", []),
    ],
)
@pytest.mark.parametrize(("entries", "missing"), [("0 1 2", None), ("0 2", 1), ("1.compact", 2)])
def test_sources_of_files_that_have_ids(
    built: Built,
    offsets: list[str],
    source: str,
    others: list[str],
    entries: str,
    missing: int | None,
) -> None:
    with_ids(built, *offsets)
    read_by(built, source, *entries.split())
    for other in others:
        read_by(built, other)
    report = Checkpoint(built.root).verify()
    path = built.root / "sources" / source / str(missing)
    assert [f.path for f in report.findings] == ([] if missing is None else [str(path)])
    assert all(f"in which source {source} keeps" in f.what for f in report.findings)


@pytest.mark.parametrize(
    ("offsets", "others"),
    [
        # One of both has no offset yet, and may have the folder 0 or 1.
        (['1:{"logOffset":2}'], ["0", "1"]),
        # Sources have names, and offsets have not.
        (['0:{"logOffset":2}'], ["orders"]),
    ],
)
def test_a_folder_that_nothing_says_is_of_files_is_not_looked_into(
    built: Built, offsets: list[str], others: list[str]
) -> None:
    with_ids(built, *offsets)
    for other in others:
        read_by(built, other)
    assert Checkpoint(built.root).verify().findings == ()


def test_a_folder_with_a_name_where_offsets_have_no_ids(built: Built) -> None:
    path = built.root / "offsets/5"
    path.write_text(f'{path.read_text().rpartition(chr(10))[0]}\n{{"logOffset":2}}')
    read_by(built, "orders", "0", "1", "2")
    assert Checkpoint(built.root).verify().findings == ()


def test_an_offset_without_an_id_where_each_has_one(built: Built) -> None:
    with_ids(built, '0:{"logOffset":2}', "{")
    (finding,) = Checkpoint(built.root).verify().findings
    assert finding.path == str(built.root / "offsets/5")
    assert "expected a source's offset behind its id, found '{'" in finding.what
    assert "a restart fails" in finding.what


@pytest.mark.parametrize(
    ("content", "told", "fails"),
    [
        ("", "is empty", True),
        ("v1", "names no file, as where it was cut off", False),
        ("v9\n{}", "written by a newer Spark", True),
        ('v1\n{"path":"file:///a.js', "cannot be decoded", True),
        ('v1\n{"path":"file:///a.json"}', "a file without batchId, timestamp", True),
        ("v1\n", "names no file", False),
        (f"{ENTRY}\n\n", "cannot be decoded", True),
    ],
)
@pytest.mark.parametrize("name", ["1.compact", "2", "3"])
def test_an_entry_of_a_source_that_was_cut_off(
    built: Built, name: str, content: str, told: str, fails: bool
) -> None:
    path = built.root / "offsets/5"
    path.write_text(f'{path.read_text().rpartition(chr(10))[0]}\n{{"logOffset":2}}')
    folder = built.root / "sources/0"
    folder.mkdir(parents=True)
    # What a compaction has made up for is not read, and 3 is of a batch that was not planned.
    (folder / "0").write_text("")
    for entry in ("1.compact", "2", "3"):
        (folder / entry).write_text(content if entry == name else ENTRY)
    report = Checkpoint(built.root).verify()
    (finding,) = report.findings
    assert not report.ok
    assert finding.path == str(folder / name)
    assert told in finding.what
    assert ("a restart fails" in finding.what) == fails


def test_an_entry_of_a_source_far_beyond_all_others(built: Built) -> None:
    path = built.root / "offsets/5"
    path.write_text(f'{path.read_text().rpartition(chr(10))[0]}\n{{"logOffset":{2**62}}}')
    (finding,) = Checkpoint(built.root).verify().findings
    assert finding.path == str(built.root / "sources/0/0")


def test_what_spark_recorded_of_an_operator_need_not_be_there(built: Built) -> None:
    (built.root / "state/0/_metadata/metadata").write_text("v1")
    report = Checkpoint(built.root).verify()
    assert report.ok
    (finding,) = report.findings
    assert finding.severity == "warning"
    assert finding.path == str(built.root / "state/0/_metadata/metadata")
    assert len(report.restarts) == 2


@pytest.mark.parametrize(
    "name", ["5.changelog", "4.manifest", ".sst", "commits/3", "offsets/2", "schema", "metadata"]
)
def test_a_file_that_may_not_be_read_is_no_damage(built: Built, name: str) -> None:
    def refused(kind: str, path: str) -> None:
        if kind in ("open", "read") and path.endswith(name):
            raise PermissionError(13, "Permission denied", path)

    system = FarFiles(refused).arrow()
    with pytest.raises(StorageError, match="Permission denied"):
        Checkpoint(str(built.root), system).verify()


def test_a_negative_batch_is_none(built: Built) -> None:
    with pytest.raises(NoSuchStateError, match="There is no batch -1"):
        Checkpoint(Path(built.root)).scan(batch=-1).to_arrow()
