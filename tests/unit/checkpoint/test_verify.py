"""What `verify` finds: damage of every file, who needs it, and what a restart would do."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint, Finding
from bucketstate.checkpoint.verify.report import Findings
from bucketstate.errors import BucketstateError
from tests.kit.cases import each
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rewrite, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bucketstate.checkpoint import Report

pytestmark = pytest.mark.usefixtures("each_reader")


def verified(root: Path) -> Report:
    return Checkpoint(root).verify()


def found(report: Report, severity: str) -> list[Finding]:
    return [f for f in report.findings if f.severity == severity]


@pytest.mark.parametrize("ids", [False, True])
def test_a_sound_checkpoint(tmp_path: Path, ids: bool) -> None:
    built = grown(tmp_path, ids=ids)
    built.snapshot(2, 4)
    report = verified(tmp_path)
    assert report.findings == ()
    assert report.ok
    assert report.versions == 2 * 6
    assert sum(r.keys for r in report.restarts) == len(built.rows())
    assert "opens version 6 from manifest 4 and 2 changelogs" in report.restarts[0].summary
    json.dumps(report.to_dict())


def test_nothing_is_needed_before_the_first_batch_is_committed(tmp_path: Path) -> None:
    built = Built(tmp_path)
    built.batch({("a",): (1, 1)}, commit=False)
    report = verified(tmp_path)
    assert report.ok
    assert "opens version 0 from the empty store" in report.restarts[0].summary


def test_a_missing_changelog(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "4.changelog").unlink()
    report = verified(tmp_path)
    assert not report.ok
    assert "a restart fails" in found(report, "error")[-1].what
    assert report.restarts[0].failure is not None
    assert report.restarts[1].failure is None
    # Partition 0 has versions 1 to 3, partition 1 all six.
    assert report.versions == 3 + 6


def test_what_retention_removed_is_not_missed(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    built.drop_changelogs(4)
    report = verified(tmp_path)
    assert report.ok, report.findings
    assert report.versions == 2 * 3


def during(root: Path, happens: Callable[[], None]) -> Report:
    """What is found where something happens behind the first file that is read."""
    left = [happens]
    return Checkpoint(root).verify(lambda *_: left.pop()() if left else None)


def forget(built: Built, *batches: int) -> None:
    """As Spark does with what it keeps no longer."""
    for batch in batches:
        for name in ("offsets", "commits"):
            (built.root / name / str(batch)).unlink()


def test_what_retention_removes_meanwhile_is_not_missed(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)

    def retention() -> None:
        forget(built, 0, 1, 2)
        built.drop_changelogs(4)

    report = during(tmp_path, retention)
    assert report.ok, report.findings
    assert report.findings == ()
    # Versions 5 and 6, and 4, the one that Spark's own log keeps for longer.
    assert report.versions == 2 * 2


def test_a_version_that_is_still_needed_is_read_from_what_took_the_place_of_its_files(
    tmp_path: Path,
) -> None:
    built = grown(tmp_path)
    built.snapshot(2)

    def retention() -> None:
        older = [p for n in range(2) for p in built.folder(n).glob("runs/*")]
        built.snapshot(5)
        for path in (*older, *(built.folder(n) / "2.manifest" for n in range(2))):
            path.unlink()
        forget(built, 0, 1, 2, 3)
        built.drop_changelogs(5)

    report = during(tmp_path, retention)
    assert report.ok, report.findings
    assert [f.what for f in found(report, "warning")] == []
    assert report.restarts[1].manifest_version == 5
    assert sum(r.keys for r in report.restarts) == len(built.rows())


def test_what_took_the_place_of_files_is_read_too(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(2)

    def retention() -> None:
        built.snapshot(5)
        damage(next(built.folder(1).glob("runs/5-*.sst")), 50)
        forget(built, 0, 1, 2, 3)
        built.drop_changelogs(5)

    report = during(tmp_path, retention)
    assert any("expected checksum" in f.what for f in found(report, "error"))


def test_a_log_that_spark_cleans_up_meanwhile(tmp_path: Path) -> None:
    built = grown(tmp_path)
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.versions
    forget(built, 0, 1)
    report = checkpoint.verify()
    assert report.ok, report.findings
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.versions
    (tmp_path / "commits/4").unlink()
    assert not checkpoint.verify().ok


@pytest.mark.parametrize("version", [5, 6])
def test_what_somebody_else_removes_meanwhile_is_missed(tmp_path: Path, version: int) -> None:
    built = grown(tmp_path)
    built.snapshot(4)

    def removed() -> None:
        forget(built, 0, 1, 2)
        built.drop_changelogs(4)
        (built.folder(1) / f"{version}.changelog").unlink()

    report = during(tmp_path, removed)
    assert not report.ok
    (error,) = found(report, "error")
    assert f"{version}.changelog is not there" in error.what
    assert "a restart fails" in error.what
    assert report.versions == 2 + (version - 5)


def test_a_damaged_changelog_below_a_manifest_is_an_error_while_spark_may_ask_for_it(
    tmp_path: Path,
) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    damage(built.folder(0) / "2.changelog", 30)
    report = verified(tmp_path)
    assert not report.ok
    assert all(r.failure is None for r in report.restarts)
    # Versions 2 and 3 of partition 0 are lost.
    assert report.versions == 4 + 6


def test_a_gap_in_the_changelogs_was_not_made_by_retention(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    (built.folder(0) / "2.changelog").unlink()
    assert not verified(tmp_path).ok
    (built.folder(0) / "1.changelog").unlink()
    assert verified(tmp_path).ok


def test_a_damaged_manifest_that_changelogs_make_up_for(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    damage(built.folder(0) / "4.manifest", 100)
    report = verified(tmp_path)
    assert report.ok
    assert any("4.manifest is damaged" in f.what for f in found(report, "warning"))
    assert "from the empty store and 6 changelogs" in report.restarts[0].summary


def test_a_missing_data_file(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    next(built.folder(0).glob("runs/*.sst")).unlink()
    report = verified(tmp_path)
    assert report.ok
    assert any("which is not there" in f.what for f in found(report, "warning"))
    for version in range(1, 5):
        (built.folder(0) / f"{version}.changelog").unlink()
    report = verified(tmp_path)
    assert not report.ok
    assert report.restarts[0].failure


def test_a_flipped_byte_in_a_data_file_is_an_error(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    damage(next(built.folder(0).glob("runs/*.sst")), 50)
    report = verified(tmp_path)
    assert not report.ok
    assert any("expected checksum" in f.what for f in found(report, "error"))


def test_a_changelog_that_is_cut_off_is_one_error(tmp_path: Path) -> None:
    built = grown(tmp_path)
    path = built.folder(0) / "4.changelog"
    path.write_bytes(path.read_bytes()[:-20])
    report = verified(tmp_path)
    (finding,) = report.findings
    assert (finding.severity, finding.path) == ("error", str(path))
    assert finding.what.count("4.changelog is damaged") == 1
    assert finding.what.endswith("versions 4 to 6 cannot be read, and a restart fails.")
    assert report.versions == 3 + 6


def test_so_is_one_that_is_not_there(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "4.changelog").unlink()
    (finding,) = verified(tmp_path).findings
    assert finding.path == str(built.folder(0) / "4.changelog")
    assert finding.what.endswith("versions 4 to 6 cannot be read, and a restart fails.")


def test_so_is_one_that_a_restart_does_not_need(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(5)
    damage(built.folder(0) / "4.changelog", 30)
    (finding,) = verified(tmp_path).findings
    assert finding.severity == "error"
    assert finding.what.endswith("Because of this version 4 cannot be read.")


@pytest.mark.parametrize("broken", ["4.manifest", "runs"])
def test_what_is_made_up_for_needs_no_new_checkpoint(tmp_path: Path, broken: str) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    for path in built.folder(0).glob("runs/*" if broken == "runs" else broken):
        path.write_bytes(path.read_bytes()[:-9])
    report = verified(tmp_path)
    assert report.ok
    warnings = found(report, "warning")
    assert warnings
    for finding in warnings:
        assert "Nothing is lost by it" in finding.what
        assert "new checkpoint" not in finding.what
    assert len({f.what for f in warnings}) == len(warnings)


def test_a_batch_that_was_planned_before_the_one_before_was_committed(tmp_path: Path) -> None:
    grown(tmp_path)
    for batch in (4, 5):
        (tmp_path / "commits" / str(batch)).unlink()
    report = verified(tmp_path)
    (finding,) = report.findings
    assert (finding.severity, finding.path) == ("error", f"{tmp_path}/commits/4")
    assert "batch 5 was planned" in finding.what
    assert "opens version 5" in finding.what
    assert {r.version for r in report.restarts} == {5}


def test_a_commit_log_that_is_gone_is_an_error(tmp_path: Path) -> None:
    grown(tmp_path)
    for entry in (tmp_path / "commits").iterdir():
        entry.unlink()
    report = verified(tmp_path)
    (finding,) = report.findings
    assert finding.severity == "error"
    assert "commits has no batch 0 to 4" in finding.what
    assert not report.ok


def test_leftovers_are_notes(tmp_path: Path) -> None:
    built = grown(tmp_path, ids=True)
    built.write_changelog(3, 0, [], 0, checkpoint_id="loser")
    temporary = built.folder(0) / ".7.changelog.00000000-0000-0000-0000-000000000001.tmp"
    temporary.touch()
    (built.folder(1) / "notes.txt").touch()
    orphan = built.folder(0) / "runs" / "3-0-00000000-0000-0000-0000-000000000001.sst"
    orphan.parent.mkdir()
    orphan.touch()
    report = verified(tmp_path)
    assert report.ok
    assert {f.what for f in report.findings} == {
        "of an attempt that lost",
        "a write under way, or abandoned",
        "not a file of a state store",
        "no manifest names it",
    }
    assert all(f.severity == "note" for f in report.findings)


def test_a_changelog_that_another_attempt_replaced_is_a_note(tmp_path: Path) -> None:
    built = grown(tmp_path)
    rewrite(built, 4, commit=uuid.UUID(int=7))
    report = verified(tmp_path)
    assert report.ok
    (finding,) = report.findings
    assert (finding.severity, finding.path) == ("note", str(built.folder(0) / "4.changelog"))
    assert "another attempt at the same batch has replaced it" in finding.what
    assert report.versions == 2 * 6


def test_a_hole_in_spark_s_commit_log(tmp_path: Path) -> None:
    grown(tmp_path)
    (tmp_path / "commits" / "2").unlink()
    report = verified(tmp_path)
    assert [f.path for f in found(report, "error")] == [f"{tmp_path}/commits/2"]


def test_a_missing_schema(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "_metadata" / "schema").unlink()
    report = verified(tmp_path)
    (finding,) = found(report, "warning")
    assert finding.path == str(built.folder(0) / "_metadata" / "schema")
    assert "start the query once; Spark writes it anew" in finding.what
    assert not found(report, "error")
    keys = {r.partition: r.keys for r in report.restarts}
    assert keys == {p: len(rows) for p, rows in built.states[-1].items()}


def test_a_state_of_another_history_is_noticed_by_its_count(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.write_changelog(3, 0, [], 12)
    report = verified(tmp_path)
    assert not report.ok
    assert "one of them is of another history" in str(report.restarts[0].failure)


def test_progress_counts_files(tmp_path: Path) -> None:
    from bucketstate.checkpoint.verify.verify import verify

    grown(tmp_path)
    told: list[tuple[int, int]] = []
    verify(Checkpoint(tmp_path), lambda done, of: told.append((done, of)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["changelog", "manifest", "sst"])
def test_every_changed_byte_is_noticed_and_wrong_state_is_never_read(
    tmp_path: Path, what: str
) -> None:
    """Flips a bit of one byte after the other; each is damage, whoever reads the whole file."""
    built = Built(tmp_path, partitions=1, buckets=4)
    for number in range(3):
        built.batch({(f"k{n}",): (n, number) for n in range(12)})
    built.snapshot(2, files=1)
    (path,) = [*built.folder(0).glob(f"2.{what}"), *built.folder(0).glob(f"runs/*.{what}")]
    if what == "changelog":
        # Version 2 is then read from its changelog.
        next(built.folder(0).glob("*.manifest")).unlink()
    sound = path.read_bytes()
    step = each(5, 1) if what == "changelog" else each(17, 7)
    for at in range(0, len(sound), step):
        damage(path, at, sound)
        assert found_anything(tmp_path), f"byte {at} of {path.name}"
        try:
            read = rows(Checkpoint(tmp_path).scan().to_arrow())
        except BucketstateError:
            continue
        assert read == built.rows(), f"byte {at} of {path.name}"
    for length in range(0, len(sound), 5 * step):
        path.write_bytes(sound[:length])
        assert found_anything(tmp_path), f"{path.name} cut to {length}"


def found_anything(root: Path) -> Any:
    report = verified(root)
    return [f for f in report.findings if f.severity != "note"]


def damage(path: Path, at: int, sound: bytes | None = None) -> None:
    data = bytearray(sound if sound is not None else path.read_bytes())
    data[at] ^= 1 << (at % 8)
    path.write_bytes(bytes(data))


def test_an_empty_folder_of_an_operator_is_nothing(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.root / "state" / "7").mkdir()
    checkpoint = Checkpoint(tmp_path)
    assert [operator.id for operator in checkpoint.operators] == [0]
    assert checkpoint.verify().findings == ()


def test_what_is_found_again_is_looked_up_and_not_searched_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A checkpoint that lost a folder has a finding for each of ten thousands of files."""
    compared = 0
    equal = Finding.__eq__

    def counted(self: Finding, other: object) -> bool:
        nonlocal compared
        compared += 1
        return equal(self, other)

    monkeypatch.setattr(Finding, "__eq__", counted)
    of_stores = [Findings(), Findings()]
    for found in of_stores:
        for number in range(500):
            found.add("error", f"{number}.changelog", "It is not there.")
    found = Findings()
    for of_store in of_stores:
        found.include(of_store)
    assert [f.path for f in found.findings] == [f"{n}.changelog" for n in range(500)]
    assert compared <= 2 * 500
