"""How changelogs stand on one another: each says what it was built on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.names import Attempt


@dataclass(frozen=True)
class Replaced:
    """A version whose changelog is used, although the next one was built on another attempt at it.

    `path` is that of the changelog which is used; `what` says it in a sentence.
    """

    version: int
    path: str
    what: str

    def __str__(self) -> str:
        return self.what


def before(changelog: Changelog) -> Attempt:
    """What a changelog's changes apply to."""
    header = changelog.header
    if header.base_id and header.version == 1:
        raise damaged(changelog.path, f"expected no base id in version 1, found {header.base_id}")
    # Without checkpoint ids the base id is that of a commit, which is not part of any name.
    return Attempt(header.version - 1, header.base_id if header.checkpoint_id else None)


def replaced(oldest_first: Sequence[Changelog]) -> tuple[Replaced, ...]:
    """The versions that were written again after the next one was built on them.

    Without checkpoint ids, an attempt that was given up for lost may replace a version's file. It
    ran the same batch on the same base and is all there is, so it is used. A file that does not fit
    the one before it either is of another history: DamagedFileError.
    """
    found = []
    fitted = True
    for last, changelog in pairwise(oldest_first):
        fits = changelog.header.fits(last.header.commit_id)
        if not fits:
            built = (
                f"it was built on the commit {changelog.header.base_id}, but {last.path} is of the "
                f"commit {last.header.commit_id}"
            )
            if not fitted:
                raise damaged(
                    changelog.path,
                    f"{built}, which was not built on what is before it either: one of them was "
                    "replaced by one of another history",
                )
            found.append(
                Replaced(
                    last.header.version,
                    last.path,
                    f"{changelog.path}: {built}: another attempt at the same batch has replaced it "
                    "since, and is used. Checkpoint ids (checkpointFormatVersion=2) keep attempts "
                    "apart.",
                )
            )
        fitted = fits
    return tuple(found)
