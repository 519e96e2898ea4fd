"""Manifests: which runs hold the state at a version (`docs/format.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bucketstate.checkpoint.format.changelog import Header
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.names import ManifestName


@dataclass(frozen=True)
class Span:
    """Buckets of a column family, both included."""

    family: int
    first: int
    last: int


@dataclass(frozen=True)
class TimeSpan:
    """Time buckets, both included, by their starts in seconds since 1970."""

    first: int
    last: int

    def apart(self, other: TimeSpan) -> bool:
        """Whether all of the one come before those of the other."""
        return self.last < other.first or other.last < self.first


@dataclass(frozen=True)
class RunFile:
    """One file of a run. `entries` are keys, tombstones included; `size` its length in bytes.

    `times` are of its entries, tombstones left out; None if one of them has no time.
    """

    name: str
    size: int
    entries: int
    tombstones: int
    checksum: int
    buckets: tuple[Span, ...]
    times: TimeSpan | None = None

    def holds(self, family: int, first: int, last: int) -> bool:
        """Whether it may have keys of these buckets."""
        return any(b.family == family and b.first <= last and first <= b.last for b in self.buckets)

    def apart(self, other: RunFile) -> bool:
        """Whether no record can be in both because of its time, or because it has none."""
        if self.times is None or other.times is None:
            return self.times is not other.times
        return self.times.apart(other.times)


@dataclass(frozen=True)
class Run:
    """The merged changes of a span of versions, both included."""

    first_version: int
    last_version: int
    files: tuple[RunFile, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(f.size for f in self.files)

    def slices(self, family: int) -> bool:
        """Whether files share buckets of that family, each with other times."""
        spans = [b for f in self.files for b in f.buckets if b.family == family]
        in_order = sorted(spans, key=lambda b: b.first)
        return any(a.last >= b.first for a, b in pairwise(in_order))


@dataclass(frozen=True)
class Manifest:
    """The state at `version` is these runs, newest first.

    `commit_id` is of the changelog of that version, if the writer knew it.
    """

    name: ManifestName
    path: str
    size: int
    store_id: str
    version: int
    checkpoint_id: str | None
    base_checkpoint_id: str | None
    commit_id: str | None
    num_buckets: int
    hash_function: str
    families: tuple[Family, ...]
    runs: tuple[Run, ...]
    next_family: int

    def covers(self, own: Header) -> bool:
        """Whether it holds what the changelog of its version leads to.

        Without checkpoint ids a retry may have replaced the version since; with them the retry's
        files have other names.
        """
        return own.checkpoint_id is not None or self.commit_id in (None, own.commit_id)

    def is_base_of(self, following: Header) -> bool:
        """Whether the changelog of the next version was made on top of it."""
        return following.fits(self.commit_id)

    @property
    def files(self) -> list[RunFile]:
        return [f for run in self.runs for f in run.files]
