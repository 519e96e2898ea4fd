"""One column family in one partition, at one version: the layers in which its keys are found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import Run, RunFile
from bucketstate.checkpoint.format.records import MERGE, PUT, Change, Records
from bucketstate.checkpoint.spark.key_bytes import KeyBytes
from bucketstate.checkpoint.store.merging import aged, merged
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.live.held import HeldStore
from bucketstate.live.indexed import pieces

Wanted = tuple[bytes, KeyBytes]
"""A key behind its part that decides its bucket."""


class Partition:
    """Looks keys up, the newest layer first. Not thread-safe.

    Args:
        plan: how the version is read.
        family: as the version has it.
        held: the files of the store.
    """

    def __init__(self, plan: Plan, family: Family, held: HeldStore) -> None:
        self.plan = plan
        self.family = family
        self._held = held

    @cached_property
    def _layers(self) -> list[_Changes | _Files]:
        changelogs = (_Changes(c, self.family, self._held) for c in reversed(self.plan.changelogs))
        runs = self.plan.base.runs if self.plan.base else ()
        return [*changelogs, *(_Files(run, self.plan.num_buckets, self) for run in runs)]

    @property
    def held(self) -> HeldStore:
        return self._held

    def find(self, keys: Mapping[bytes, KeyBytes]) -> Records:
        """The keys that are there, with their values; what is wanted is given by its bytes."""
        encoding = self.family.key_encoding
        pending = [(key.decides(encoding), key) for key in keys.values()]
        found: list[list[Change]] = []
        alone = all(key.whole for key in keys.values())
        for layer in self._layers:
            for changes in layer.find(pending):
                found.append(changes)
                decided = {key for kind, key, _ in changes if kind != MERGE}
                alone = alone and len(decided) == len(changes)
                # Of keys that begin so there may be others in any layer.
                pending = [w for w in pending if not (w[1].whole and w[1].start in decided)]
            if not pending:
                break
        if alone:
            # No key was looked for once it was found, and nothing was appended.
            return Records.made([c for changes in found for c in changes if c[0] == PUT])
        return Records.concat(list(merged([Records.made(changes) for changes in found])))

    def some_keys(self, count: int) -> list[bytes]:
        """Keys that the partition has or had, so many at most, of what is read soonest."""
        for layer in self._layers:
            if keys := layer.some_keys(count):
                return keys
        return []


class _Changes:
    """What one changelog has of the family."""

    def __init__(self, changelog: Changelog, family: Family, held: HeldStore) -> None:
        self._changelog = changelog
        self._family = family
        self._held = held

    @cached_property
    def _pieces(self) -> list[list[Block]]:
        return pieces(b for b in self._changelog.blocks if b.family == self._family.id)

    @cached_property
    def _firsts(self) -> list[int]:
        return [piece[0].first_bucket for piece in self._pieces]

    def find(self, wanted: Sequence[Wanted]) -> Iterator[list[Change]]:
        changes: list[Change] = []
        for group, key in wanted:
            place = bisect_right(self._firsts, key.bucket) - 1
            piece = self._pieces[place] if place >= 0 else []
            if piece and key.bucket <= piece[-1].last_bucket:
                changes += self._held.piece(self._changelog, self._family, piece).of(group, key)
        if changes:
            yield _aged(changes, self._family, self._changelog.path)

    def some_keys(self, count: int) -> list[bytes]:
        for piece in self._pieces:
            return self._held.piece(self._changelog, self._family, piece).some_keys(count)
        return []


class _Files:
    """What the files of one run have of the family."""

    def __init__(self, run: Run, buckets: int, of: Partition) -> None:
        self._family = of.family
        self._held = of.held
        self._files = [f for f in run.files if f.holds(of.family.id, 0, buckets - 1)]
        self._by_bucket: dict[int, list[RunFile]] = {}

    def find(self, wanted: Sequence[Wanted]) -> Iterator[list[Change]]:
        by_file: dict[str, tuple[RunFile, list[Wanted]]] = {}
        for group, key in wanted:
            for file in self._of_bucket(key.bucket):
                by_file.setdefault(file.name, (file, []))[1].append((group, key))
        for file, keys in by_file.values():
            changes = self._held.find_in(file, self._family, keys)
            if changes:
                yield _aged(changes, self._family, self._held.path_of(file))

    def some_keys(self, count: int) -> list[bytes]:
        for file in sorted(self._files, key=lambda f: f.size):
            return self._held.some_keys(file, self._family, count)
        return []

    def _of_bucket(self, bucket: int) -> list[RunFile]:
        if bucket not in self._by_bucket:
            self._by_bucket[bucket] = [
                f for f in self._files if f.holds(self._family.id, bucket, bucket)
            ]
        return self._by_bucket[bucket]


def _aged(changes: list[Change], family: Family, path: str) -> list[Change]:
    """With removals in place of what has expired."""
    return changes if family.times is None else aged(Records.made(changes), family, path).changes()
