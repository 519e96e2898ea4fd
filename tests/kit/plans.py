"""The golden cases of what a reader concludes of a store's folder: `tests/golden/v1/plans`.

`python -m tests.kit.plans` writes those that are not there yet. What was committed stays as it is:
files of a released format are readable for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bucketstate.checkpoint.format.names import Attempt
from tests.kit.checkpoints import Row
from tests.kit.planted import (
    EMPTY,
    Commit,
    Expected,
    Planted,
    checkpoint_id,
    fails,
    opens,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "v1" / "plans"
Case = Callable[["Planted"], Expected]
CASES: dict[str, Case] = {}
NEWER = 1000
"""A format version that no release has yet."""


def case(build: Case) -> Case:
    """A case is called after its function; its docstring is what it is about."""
    CASES[build.__name__.replace("_", "-")] = build
    return build


@case
def changelogs_only(store: Planted) -> Expected:
    """Without a manifest all changelogs are replayed, from version 1 on."""
    v = store.grow(4)
    return opens(v[4], replay=v[1:])


@case
def manifest_and_changelogs(store: Planted) -> Expected:
    """The newest manifest and what comes after it; retention has removed what came before."""
    v = store.grow(5)
    store.snapshot(v[2])
    store.snapshot(v[2], v[3])
    store.remove("2.manifest", "1.changelog", "2.changelog", "3.changelog")
    return opens(v[5], base=v[3], replay=v[4:])


@case
def manifest_of_the_target(store: Planted) -> Expected:
    """A manifest of the very version wanted: no changelog is needed, though all are there."""
    v = store.grow(3)
    store.snapshot(v[3])
    return opens(v[3], base=v[3])


@case
def manifest_of_the_target_alone(store: Planted) -> Expected:
    """The same when the version's own changelog is gone: there is nothing to hold it against."""
    v = store.grow(2)
    store.snapshot(v[2])
    store.remove("1.changelog", "2.changelog")
    return opens(v[2], base=v[2])


@case
def manifest_beside_a_damaged_changelog(store: Planted) -> Expected:
    """Of the changelog of a manifest's own version only the header is looked at."""
    v = store.grow(2)
    store.snapshot(v[2])
    store.damage("2.changelog", -40)
    return opens(v[2], base=v[2])


@case
def manifest_above_the_target(store: Planted) -> Expected:
    """A manifest of a later version is of no use: changes cannot be undone."""
    v = store.grow(3)
    store.snapshot(v[3])
    return opens(v[2], replay=v[1:3])


@case
def manifest_damaged(store: Planted) -> Expected:
    """An older manifest and more changelogs give the same state."""
    v = store.grow(5)
    store.snapshot(v[2])
    store.snapshot(v[2], v[4])
    store.damage("4.manifest", 100)
    return opens(v[5], base=v[2], replay=v[3:], passed=[(v[4], "damaged")])


@case
def manifests_damaged(store: Planted) -> Expected:
    """At last it is the empty store that the changelogs start from."""
    v = store.grow(3)
    store.snapshot(v[1])
    store.snapshot(v[2])
    store.damage("1.manifest", -10)
    store.damage("2.manifest", 0)
    return opens(v[3], replay=v[1:], passed=[(v[2], "damaged"), (v[1], "damaged")])


@case
def manifest_without_its_file(store: Planted) -> Expected:
    """A manifest that names a data file which is not there any more is passed over."""
    v = store.grow(3)
    store.snapshot(v[2])
    store.remove(*store.runs())
    store.snapshot(v[1])
    return opens(v[3], base=v[1], replay=v[2:], passed=[(v[2], "gone")])


@case
def manifest_stale(store: Planted) -> Expected:
    """Version 2 was written again after its manifest was made, and the query went on from that."""
    v = store.grow(2)
    store.snapshot(v[1])
    store.snapshot(v[1], v[2])
    again = store.grow(2, v[:2])
    return opens(again[3], base=v[1], replay=again[2:], passed=[(v[2], "stale")])


@case
def manifest_of_the_target_stale(store: Planted) -> Expected:
    """The same where nothing was built on version 2 yet: its own changelog tells."""
    v = store.grow(2)
    store.snapshot(v[2])
    again = store.grow(1, v[:2])
    return opens(again[2], replay=again[1:], passed=[(v[2], "stale")])


@case
def manifest_of_the_attempt_built_on(store: Planted) -> Expected:
    """The changelog of version 2 was replaced, the manifest is of the attempt that counted."""
    v = store.grow(3)
    store.snapshot(v[2])
    store.write(v[1])
    return opens(v[3], base=v[2], replay=v[3:])


@case
def manifest_of_a_newer_format(store: Planted) -> Expected:
    """It is no damage: a newer program owns the checkpoint, though older files would lead there."""
    v = store.grow(3)
    store.snapshot(v[1])
    store.snapshot(v[1], v[2], format_version=NEWER)
    return fails(v[3], "newer-format", "2.manifest")


@case
def manifest_of_a_newer_format_behind(store: Planted) -> Expected:
    """Who has a newer manifest that it can read does not look at older ones."""
    v = store.grow(4)
    store.snapshot(v[1], format_version=NEWER)
    store.snapshot(v[3])
    return opens(v[4], base=v[3], replay=v[4:])


@case
def manifest_damaged_and_nothing_before(store: Planted) -> Expected:
    """No older version is taken for the one wanted."""
    v = store.grow(3)
    store.snapshot(v[2])
    store.damage("2.manifest", 100)
    store.remove("1.changelog", "2.changelog")
    return fails(v[3], "damaged", "2.manifest")


@case
def manifest_without_its_file_and_nothing_before(store: Planted) -> Expected:
    """What is missing is the file that the manifest names."""
    v = store.grow(3)
    store.snapshot(v[2])
    (file,) = store.runs()
    store.remove(file, "1.changelog", "2.changelog")
    return fails(v[3], "missing", file)


@case
def manifest_stale_and_nothing_before(store: Planted) -> Expected:
    """The manifest does not hold what version 3 was built on, and nothing else does."""
    v = store.grow(2)
    store.snapshot(v[2])
    again = store.grow(2, v[:2])
    store.remove("1.changelog")
    return fails(again[3], "damaged", "2.manifest")


@case
def changelog_replaced(store: Planted) -> Expected:
    """An attempt that was thought dead wrote version 2 again, on the same base: it is used."""
    v = store.grow(4)
    store.write(v[1])
    return opens(v[4], replay=v[1:], replaced=[2])


@case
def changelog_replaced_after_a_manifest(store: Planted) -> Expected:
    """The same where the base is a manifest."""
    v = store.grow(3)
    store.snapshot(v[1])
    store.write(v[1])
    return opens(v[3], base=v[1], replay=v[2:], replaced=[2])


@case
def changelogs_replaced_apart(store: Planted) -> Expected:
    """Twice: each is held against its own neighbours."""
    v = store.grow(5)
    store.write(v[1])
    store.write(v[3])
    return opens(v[5], replay=v[1:], replaced=[2, 4])


@case
def changelogs_replaced_in_a_row(store: Planted) -> Expected:
    """Version 3 was not built on this version 2, and version 4 not on this version 3."""
    v = store.grow(4)
    store.write(v[1])
    store.write(v[2])
    return fails(v[4], "other-history", "4.changelog")


@case
def changelog_of_another_history(store: Planted) -> Expected:
    """Version 2 is from another checkpoint: it fits neither what is before it nor what is after."""
    store.grow(2)
    stranger = (store.folder / "2.changelog").read_bytes()
    v = store.grow(3)
    (store.folder / "2.changelog").write_bytes(stranger)
    return fails(v[3], "other-history", "3.changelog")


@case
def changelogs_that_name_no_base(store: Planted) -> Expected:
    """Files of a writer that named no commits cannot be held against each other, and pass."""
    v = store.grow(2)
    store.snapshot(v[1], commit_id=False)
    three = store.write(v[2], names_base=False)
    again = store.write(v[1], names_base=False)
    return opens(three, base=v[1], replay=[again, three])


@case
def changelog_missing(store: Planted) -> Expected:
    """A gap is an error, never an older or an empty store."""
    v = store.grow(3)
    store.remove("2.changelog")
    return fails(v[3], "missing", "2.changelog")


@case
def changelog_damaged(store: Planted) -> Expected:
    """A changed byte in a block."""
    v = store.grow(3)
    store.damage("2.changelog", 120)
    return fails(v[3], "damaged", "2.changelog")


@case
def changelog_of_a_newer_format(store: Planted) -> Expected:
    """Who does not know the format does not guess."""
    v = store.grow(2)
    three = store.write(v[2], format_version=NEWER)
    return fails(three, "newer-format", "3.changelog")


@case
def ids_manifest_and_changelogs(store: Planted) -> Expected:
    """With checkpoint ids: the manifest of the attempt that counts, and what comes after it."""
    v = store.grow(4, ids="a")
    store.snapshot(v[2])
    store.remove(v[1].changelog, v[2].changelog)
    return opens(v[4], base=v[2], replay=v[3:])


@case
def ids_manifest_beside_a_damaged_header(store: Planted) -> Expected:
    """With checkpoint ids a manifest's name says its attempt: no changelog is held against it."""
    v = store.grow(2, ids="a")
    store.snapshot(v[2])
    store.damage(v[2].changelog, 20)
    return opens(v[2], base=v[2])


@case
def ids_beside_a_losing_attempt(store: Planted) -> Expected:
    """What another attempt left, a manifest too, is not looked at."""
    v = store.grow(3, ids="a")
    store.snapshot(store.write(v[1], checkpoint_id=checkpoint_id("b", 2)))
    return opens(v[3], replay=v[1:])


@case
def ids_of_the_other_attempt(store: Planted) -> Expected:
    """The same folder, had the other attempt been the one to go on from."""
    v = store.grow(3, ids="a")
    won = store.write(v[1], checkpoint_id=checkpoint_id("b", 2))
    store.snapshot(won)
    return opens(won, base=won)


@case
def ids_begun_without(store: Planted) -> Expected:
    """A checkpoint of format 1 that goes on in format 2: the first id has no base id."""
    v = store.grow(2, store.grow(2), ids="a")
    return opens(v[4], replay=v[1:])


@case
def ids_begun_without_on_a_manifest(store: Planted) -> Expected:
    """The same with a manifest of the time before, which has no id."""
    v = store.grow(2, store.grow(2), ids="a")
    store.snapshot(v[2])
    return opens(v[4], base=v[2], replay=v[3:])


@case
def ids_base_missing(store: Planted) -> Expected:
    """Another attempt's file of that version does not stand in."""
    v = store.grow(3, ids="a")
    store.write(v[1], checkpoint_id=checkpoint_id("b", 2))
    store.remove(v[2].changelog)
    return fails(v[3], "missing", v[2].changelog)


OTHER_ROWS: dict[Row, Row] = {(7, "moved"): (70, b"\x07"), (0, "every version"): (-1, b"")}
"""A state that no changelog before it leads to."""


@case
def alone_the_first_version(store: Planted) -> Expected:
    """A version may be a manifest without a changelog: here the first one, and nothing else."""
    one = store.alone(EMPTY, OTHER_ROWS)
    return opens(one, base=one)


@case
def alone_the_first_version_damaged(store: Planted) -> Expected:
    """What is built on it is never built on the empty store."""
    one = store.alone(EMPTY, OTHER_ROWS)
    two = store.write(one)
    store.damage("1.manifest", 100)
    return fails(two, "damaged", "1.manifest")


@case
def alone_and_changelogs(store: Planted) -> Expected:
    """The query went on from it; of before there is nothing."""
    four = store.alone(Commit(Attempt(3)), OTHER_ROWS)
    five = store.write(four)
    return opens(five, base=four, replay=[five])


@case
def alone_over_older_files(store: Planted) -> Expected:
    """The same with the files of before, which have another state and lead nowhere any more."""
    v = store.grow(2)
    three = store.alone(v[2], OTHER_ROWS)
    four = store.write(three)
    return opens(four, base=three, replay=[four])


@case
def alone_over_older_files_of_which_one_is_opened(store: Planted) -> Expected:
    """What was before it is still what it was."""
    v = store.grow(2)
    store.write(store.alone(v[2], OTHER_ROWS))
    return opens(v[2], replay=v[1:])


@case
def alone_behind_a_manifest(store: Planted) -> Expected:
    """A newer manifest is damaged: the one that stands alone is what the changelogs go on from."""
    three = store.alone(store.grow(2)[2], OTHER_ROWS)
    v = store.grow(2, [EMPTY, EMPTY, EMPTY, three])
    store.snapshot(three, v[4])
    store.damage("4.manifest", 100)
    return opens(v[5], base=three, replay=v[4:], passed=[(v[4], "damaged")])


@case
def alone_over_older_files_damaged(store: Planted) -> Expected:
    """The changelogs around it are not read without it: what is between them is not known."""
    v = store.grow(2)
    store.snapshot(v[1])
    three = store.alone(v[2], OTHER_ROWS)
    four = store.write(three)
    store.damage("3.manifest", 100)
    return fails(four, "damaged", "3.manifest")


@case
def alone_damaged_over_what_was_given_up(store: Planted) -> Expected:
    """A changelog of its version is of an attempt that came to nothing, and leads elsewhere."""
    v = store.grow(3)
    three = store.alone(v[2], OTHER_ROWS)
    four = store.write(three)
    store.damage("3.manifest", 100)
    return fails(four, "damaged", "3.manifest")


@case
def alone_over_what_was_given_up(store: Planted) -> Expected:
    """What is built on it says so."""
    three = store.alone(store.grow(3)[2], OTHER_ROWS)
    four = store.write(three)
    return opens(four, base=three, replay=[four])


@case
def alone_and_written_again(store: Planted) -> Expected:
    """It was given up, and the query made the version itself: its changelog is what counts."""
    v = store.grow(2)
    given_up = store.alone(v[2], OTHER_ROWS)
    three = store.write(v[2])
    return opens(three, replay=[*v[1:], three], passed=[(given_up, "stale")])


@case
def ids_alone_and_changelogs(store: Planted) -> Expected:
    """With checkpoint ids the first changelog after it has its id as the base id."""
    v = store.grow(2, ids="a")
    three = store.alone(v[2], OTHER_ROWS, checkpoint_id=checkpoint_id("b", 3))
    four = store.write(three, checkpoint_id=checkpoint_id("b", 4))
    return opens(four, base=three, replay=[four])


@case
def ids_alone(store: Planted) -> Expected:
    """The version itself, beside another attempt at it."""
    v = store.grow(3, ids="a")
    three = store.alone(v[2], OTHER_ROWS, checkpoint_id=checkpoint_id("b", 3))
    return opens(three, base=three)


@case
def ids_alone_damaged_beside_a_losing_attempt(store: Planted) -> Expected:
    """The other attempt's changelog does not stand in, nor what was before both."""
    v = store.grow(3, ids="a")
    three = store.alone(v[2], OTHER_ROWS, checkpoint_id=checkpoint_id("b", 3))
    four = store.write(three, checkpoint_id=checkpoint_id("b", 4))
    store.damage(three.manifest, 100)
    return fails(four, "damaged", three.manifest)


def plant(name: str, folder: Path) -> None:
    """Writes a case: its store's files, and `expected.json`."""
    build = CASES[name]
    expected = build(Planted(folder / "store"))
    text = json.dumps({"what": build.__doc__} | expected, indent=2)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in CASES:
        if not (GOLDEN / name).exists():
            plant(name, GOLDEN / name)
