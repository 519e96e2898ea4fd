"""Files of format version 2 that cannot be true: each is damage that names the file."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.changelog import read_changelog
from bucketstate.checkpoint.format.names import Attempt, ChangelogName
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import DamagedFileError, NewerFormatError
from tests.kit.aging import Aging, timed_value
from tests.kit.cases import each
from tests.kit.checkpoints import (
    KEY,
    NEVER,
    PUT,
    VALUE,
    Built,
    Times,
    bucket_of,
    changelog,
    run_file,
)
from tests.kit.rows import compact_row
from tests.unit.checkpoint.test_state import rows
from tests.unit.checkpoint.test_verify import damage, found, found_anything, verified

if TYPE_CHECKING:
    from pathlib import Path

    from bucketstate.checkpoint.format.changelog import Changelog

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_reader")]

TIMED = "timed-row/1"
A = compact_row(KEY, ("a",))
ROW = compact_row(VALUE, (1, 1))


def times(*keys: tuple[int, int], untimed_keys: int = 0, **members: int) -> Times:
    buckets = [{"start": start, "keys": n} for start, n in keys]
    return {"horizon": 200, "untimedKeys": untimed_keys, "keys": buckets, **members}


SOUND = times((200, 1), (300, 2), (NEVER, 1), untimed_keys=3, newest=300)


def written(folder: Path, keys: int | None, of: Times | None, **other: Any) -> Changelog:
    """The index of a changelog with such a footer."""
    settings: dict[str, Any] = {"format_version": 2, "value_encoding": TIMED} | other
    (folder / "1.changelog").write_bytes(changelog(1, [], keys, buckets=1, times=of, **settings))
    return read_changelog(Folder.at(folder), ChangelogName(Attempt(1)))


def test_what_a_footer_says_of_times(tmp_path: Path) -> None:
    index = written(tmp_path, 7, SOUND)
    assert index.header.format_version == 2
    (family,) = index.families
    assert (family.keys, family.internal) == (7, False)
    assert family.times is not None
    assert (family.times.newest, family.times.horizon, family.times.untimed) == (300, 200, None)
    assert family.times.keys == ((200, 1), (300, 2), (NEVER, 1))
    assert family.times.by_start() == {200: 1, 300: 2, NEVER: 4}
    (internal,) = written(tmp_path, 7, SOUND, flags=3).families
    assert internal.internal
    assert internal.times == family.times


def test_a_file_of_version_2_may_have_no_times(tmp_path: Path) -> None:
    (family,) = written(tmp_path, 7, None, value_encoding="compact-row/1").families
    assert family.times is None


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (times((200, 7), (300, 1)), "expected 7 keys in the time buckets of .* found 8"),
        (times((200, 6)), "expected 7 keys in the time buckets of .*'default', found 6"),
        (times((200, 7), untimed_keys=1), "found 8"),
        (times((300, 3), (300, 4)), "not in ascending order, each once"),
        (times((300, 3), (200, 4)), "not in ascending order, each once"),
        (times((199, 1), (200, 6)), "count keys that expired before 200"),
        (times((200, 6), untimed_keys=1, untimed=199), "count keys that expired before 200"),
    ],
)
def test_time_buckets_that_do_not_fit_together(tmp_path: Path, of: Times, message: str) -> None:
    with pytest.raises(DamagedFileError, match=rf"1\.changelog is damaged: .*{message}"):
        written(tmp_path, 7, of)


@pytest.mark.parametrize(
    ("of", "other", "message"),
    [
        (SOUND, {"format_version": 1}, "has the flags 2, known are 5"),
        (SOUND, {"flags": 10}, "has the flags 10, known are 7"),
        # Without the flag the times are read as something else.
        (SOUND, {"flags": 0}, "the footer cannot be decoded"),
        (SOUND, {"value_encoding": "compact-row/1"}, "has time buckets, but its values are enc"),
        (None, {}, "has no time buckets, but its values are encoded as timed-row/1"),
    ],
)
def test_times_where_there_can_be_none(
    tmp_path: Path, of: Times | None, other: dict[str, Any], message: str
) -> None:
    with pytest.raises(DamagedFileError, match=rf"1\.changelog is damaged: .*{message}"):
        written(tmp_path, 7, of, **other)


class Overstated(list[Any]):
    """Says that it has more than it has."""

    def __len__(self) -> int:
        return 100_000


def test_more_time_buckets_than_the_footer_has_bytes(tmp_path: Path) -> None:
    of = {**SOUND, "keys": Overstated(SOUND["keys"])}
    with pytest.raises(DamagedFileError, match="a count of 100000 is more than the rest can hold"):
        written(tmp_path, 7, of)


def test_a_newer_version_is_refused_whatever_it_has(tmp_path: Path) -> None:
    with pytest.raises(NewerFormatError, match="format version 2 or older, found 3"):
        written(tmp_path, 7, SOUND, format_version=3, flags=255)


def test_where_keys_have_times_they_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DamagedFileError, match="has time buckets, are not counted"):
        written(tmp_path, None, SOUND)


@pytest.fixture
def built(tmp_path: Path) -> Aging:
    """Three versions; the manifest is of the second, its run's files share buckets."""
    made = Aging(tmp_path, partitions=1, sliced=True)
    made.batch_at({(f"k{n}",): (100 * (n % 4), (n, n)) for n in range(20)}, horizon=0)
    made.batch_at({("k0",): None}, horizon=100)
    made.snapshot(2)
    made.batch_at({("late",): (300, (1, 1))}, horizon=100)
    return made


def members(built: Built, version: int = 2) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((built.folder() / f"{version}.manifest").read_bytes())
    return found


def passed_over(built: Built, message: str) -> None:
    plan = Checkpoint(built.root).plan()
    assert plan.base is None
    assert plan.skipped[0].reason == "damaged"
    assert message in str(plan.skipped[0])
    # The changelogs are there, and give the same.
    assert rows(Checkpoint(built.root).scan().to_arrow()) == built.rows()


def test_a_sound_one_is_used(built: Aging) -> None:
    assert members(built)["formatVersion"] == 2
    plan = Checkpoint(built.root).plan()
    assert plan.base is not None
    assert plan.skipped == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": [{"start": 100, "keys": 14}]}, "hold as many keys as it has"),
        ({"keys": []}, "hold as many keys as it has"),
        (
            {"keys": [{"start": 100, "keys": 5}, {"start": 100, "keys": 10}]},
            "in ascending order, each once",
        ),
        (
            {"keys": [{"start": 200, "keys": 5}, {"start": 100, "keys": 10}]},
            "in ascending order, each once",
        ),
        (
            {"keys": [{"start": 100, "keys": -1}, {"start": 200, "keys": 16}]},
            "no key count is negative",
        ),
        ({"keys": [{"start": 0, "keys": 15}]}, "no time bucket that holds keys has expired"),
        ({"horizon": None}, "'horizon' is None, not an integer"),
        ({"horizon": -1}, "'horizon' is -1, not a time of 4 bytes"),
        ({"newest": NEVER + 1}, f"'newest' is {NEVER + 1}, not a time of 4 bytes"),
        ({"keys": [100]}, "the manifest cannot be decoded"),
    ],
)
def test_a_manifest_whose_time_buckets_cannot_be_true(
    built: Aging, change: dict[str, Any], message: str
) -> None:
    (family,) = members(built)["families"]
    family["timeBuckets"] = family["timeBuckets"] | change
    built.rewrite_manifest(2, families=[family])
    passed_over(built, message)


ONLY_THEN = "a family has time buckets if its values have times, and only then"
APART = "share no bucket of a family, unless their time buckets are apart"


def test_a_manifest_without_time_buckets_where_values_have_times(built: Aging) -> None:
    (family,) = members(built)["families"]
    del family["timeBuckets"]
    built.rewrite_manifest(2, families=[family])
    passed_over(built, ONLY_THEN)


def test_a_manifest_of_version_1_where_values_have_times(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (100, (1, 1))}, horizon=0)
    built.snapshot(1)
    built.rewrite_manifest(1, formatVersion=1)
    passed_over(built, ONLY_THEN)


def test_a_manifest_with_time_buckets_where_values_have_none(built: Aging) -> None:
    (family,) = members(built)["families"]
    built.rewrite_manifest(2, families=[family | {"valueEncoding": "compact-row/1"}])
    passed_over(built, ONLY_THEN)


def rewrite_file(built: Aging, **change: Any) -> None:
    """Changes what the manifest says of the first file of its run; None leaves a member out."""
    (run,) = members(built)["runs"]
    changed = run["files"][0] | change
    run["files"][0] = {name: value for name, value in changed.items() if value is not None}
    built.rewrite_manifest(2, runs=[run])


@pytest.mark.parametrize(
    "change",
    [
        {"lastTimeBucket": 200},
        {"lastTimeBucket": 300},
        {"firstTimeBucket": 300, "lastTimeBucket": 400},
    ],
)
def test_files_that_share_buckets_and_times(built: Aging, change: dict[str, Any]) -> None:
    rewrite_file(built, **change)
    passed_over(built, APART)


def test_files_that_share_buckets_and_tell_no_times(built: Aging) -> None:
    (run,) = members(built)["runs"]
    for file in run["files"]:
        del file["firstTimeBucket"], file["lastTimeBucket"]
    built.rewrite_manifest(2, runs=[run])
    passed_over(built, APART)


def test_times_of_a_file_that_end_before_they_start(built: Aging) -> None:
    rewrite_file(built, firstTimeBucket=150, lastTimeBucket=50)
    passed_over(built, "no file's time buckets end before they start")


def test_times_of_a_file_without_an_end(built: Aging) -> None:
    rewrite_file(built, lastTimeBucket=None)
    passed_over(built, "the manifest cannot be decoded ('lastTimeBucket')")


def test_version_1_has_no_times_whatever_stands_there(tmp_path: Path) -> None:
    built = Built(tmp_path, partitions=1)
    built.batch({("a",): (1, 1), ("b",): (2, 2)})
    built.snapshot(1, files=1)
    (run,) = members(built, 1)["runs"]
    run["files"][0] |= {"firstTimeBucket": -1, "lastTimeBucket": -1}
    built.rewrite_manifest(1, runs=[run])
    plan = Checkpoint(tmp_path).plan()
    assert plan.base is not None
    assert plan.base.files[0].times is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"firstTimeBucket": 100}, "expected entries of the time buckets 100 to 100, found one of"),
        ({"lastTimeBucket": 0}, "expected entries of the time buckets 0 to 0, found one of 100"),
    ],
)
def test_entries_outside_of_their_file_s_times(
    built: Aging, change: dict[str, Any], message: str
) -> None:
    rewrite_file(built, **change)
    assert any(message in f.what for f in found(verified(built.root), "error"))


def test_an_entry_without_a_time_in_a_file_that_has_times(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch({("a",): (1, 1)})
    built.batch_at({("b",): (100, (2, 2))}, horizon=0)
    built.snapshot(2, files=1)
    rewrite_file(built, firstTimeBucket=100, lastTimeBucket=100)
    assert any("found one without a time" in f.what for f in found(verified(tmp_path), "error"))


def test_a_key_in_two_files_of_a_run(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (100, (1, 1))}, horizon=0)
    built.batch_at({}, horizon=0)
    built.snapshot(2)
    place = bucket_of(A, built.buckets), A
    files = [
        run_file(built.folder(), 1, start, {place: timed_value(ROW, start)}, (start, start))
        for start in (100, 300)
    ]
    built.rewrite_manifest(2, runs=[{"firstVersion": 1, "lastVersion": 2, "files": files}])
    expected = r"1-300-.*\.sst is damaged: it has a key that another file of its run has, too"
    with pytest.raises(DamagedFileError, match=expected):
        Checkpoint(tmp_path).scan().to_arrow()
    assert not verified(tmp_path).ok


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "a value has no bytes"),
        (b"\x02", "a value ends behind its time"),
        (b"\x02abc", "a value ends behind its time"),
        (b"\x02abcd", "a value ends behind its time"),
    ],
)
def test_values_that_end_before_their_row(tmp_path: Path, value: bytes, message: str) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (100, (1, 1))}, horizon=0)
    rewrite(built, [(PUT, A, value)], 1, times((300, 1)))
    expected = rf"1\.changelog is damaged: the times of records cannot be decoded \({message}"
    with pytest.raises(DamagedFileError, match=expected):
        Checkpoint(tmp_path).scan().to_arrow()


def test_a_value_whose_row_is_none(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (100, (1, 1))}, horizon=0)
    rewrite(built, [(PUT, A, timed_value(b"\x02", 300))], 1, times((300, 1)))
    with pytest.raises(DamagedFileError, match="does not have the layout of the schema"):
        Checkpoint(tmp_path).scan().to_arrow()


def rewrite(built: Aging, records: Any, keys: int, of: Times, **other: Any) -> None:
    """Another changelog of version 1."""
    settings = {"format_version": 2, "value_encoding": TIMED, "times": of} | other
    built.write_changelog(1, 0, records, keys, **settings)


def test_keys_counted_in_another_time_bucket_are_an_error(tmp_path: Path) -> None:
    """As many keys are there, but they would not expire when the footer says."""
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (300, (1, 1))}, horizon=200)
    assert verified(tmp_path).findings == ()
    rewrite(built, [(PUT, A, timed_value(ROW, 300))], 1, times((400, 1)))
    assert len(rows(Checkpoint(tmp_path).scan().to_arrow())) == 1
    report = verified(tmp_path)
    (first, second) = found(report, "error")
    assert "1 keys of the column family 'default' are in the time bucket 400" in second.what
    assert "0 keys of the column family 'default' are in the time bucket 300" in first.what
    assert report.restarts[0].failure is None


def test_times_of_an_attempt_that_was_replaced_are_not_held_against_the_footer(
    tmp_path: Path,
) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (300, (1, 1))}, horizon=0)
    built.batch_at({}, horizon=0)
    replaced = times((400, 1), horizon=0)
    rewrite(built, [(PUT, A, timed_value(ROW, 400))], 1, replaced, commit=uuid.UUID(int=7))
    report = verified(tmp_path)
    assert report.ok
    (note,) = report.findings
    assert "another attempt at the same batch has replaced it" in note.what


def test_keys_that_had_expired_in_an_attempt_that_was_replaced_are_there(tmp_path: Path) -> None:
    """The newest footer counts keys by the times of the attempt that it was built on."""
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (300, (1, 1))}, horizon=0)
    built.batch_at({}, horizon=350)
    replaced = times((400, 1), horizon=0)
    rewrite(built, [(PUT, A, timed_value(ROW, 400))], 1, replaced, commit=uuid.UUID(int=7))
    checkpoint = Checkpoint(tmp_path)
    assert rows(checkpoint.scan().to_arrow()) == {(0, ("a",), (1, 1))}
    for table in (checkpoint.scan().keys_per_bucket(), checkpoint.scan().residency_per_bucket()):
        assert sum(table["keys"].to_pylist()) == 1
    report = verified(tmp_path)
    assert report.ok, report.findings
    assert [(r.keys, r.failure) for r in report.restarts] == [(1, None)]
    (note,) = report.findings
    assert "another attempt at the same batch has replaced it" in note.what


def test_a_count_that_is_wrong_for_a_replaced_attempt_without_times_is_damage(
    tmp_path: Path,
) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch({("a",): (1, 1)})
    built.batch({})
    built.write_changelog(1, 0, [], 0, commit=uuid.UUID(int=7))
    with pytest.raises(DamagedFileError, match=r"should hold 1 keys .* but its files give 0"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_keys_that_expire_where_the_footer_says_they_do_not(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (300, (1, 1))}, horizon=200)
    rewrite(built, [(PUT, A, timed_value(ROW, 100))], 1, times((300, 1)))
    with pytest.raises(DamagedFileError, match=r"should hold 1 keys .* but its files give 0"):
        Checkpoint(tmp_path).scan().to_arrow()


def test_values_never_lose_their_times(tmp_path: Path) -> None:
    built = Aging(tmp_path, partitions=1)
    built.batch_at({("a",): (300, (1, 1))}, horizon=0)
    built.batch({("b",): (1, 1)})
    expected = "values as compact-row/1, found compact-row/1 and timed-row/1"
    with pytest.raises(DamagedFileError, match=expected):
        Checkpoint(tmp_path).scan().to_arrow()


@pytest.mark.parametrize("what", ["changelog", "manifest", "sst"])
def test_every_changed_byte_is_noticed(tmp_path: Path, what: str) -> None:
    built = Aging(tmp_path, partitions=1, buckets=4)
    for number in range(1, 4):
        written = {(f"k{n}",): (100 * number + n, (n, n)) for n in range(12)}
        built.batch_at(written, horizon=100 * number)
    built.snapshot(2, files=1)
    (path,) = [*built.folder().glob(f"2.{what}"), *built.folder().glob(f"runs/*.{what}")]
    sound = path.read_bytes()
    for at in range(0, len(sound), each(17, 7)):
        damage(path, at, sound)
        assert found_anything(tmp_path), f"byte {at} of {path.name}"
