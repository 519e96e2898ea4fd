"""What is concluded of a store's files: how a version is read, and what was noticed on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.family import Family, KeysAt
from bucketstate.checkpoint.format.manifest import Manifest
from bucketstate.checkpoint.format.names import Attempt, ManifestName
from bucketstate.checkpoint.format.times import TIMED
from bucketstate.checkpoint.spark.keys import COMPACT
from bucketstate.checkpoint.store.lineage import Replaced
from bucketstate.errors import NoSuchStateError

Reason = Literal["damaged", "stale", "gone"]
"""A manifest or a file of it is damaged; its version was written again after it; a file that it
names is not there."""


@dataclass(frozen=True)
class PassedOver:
    """A manifest that could not be used; `what` says it in a sentence."""

    manifest: ManifestName
    reason: Reason
    what: str

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Plan:
    """How a version is read: from a manifest, then changelogs. Immutable."""

    target: Attempt
    """The version that is read."""

    base: Manifest | None
    """The manifest that it starts from; None is the empty store."""

    changelogs: tuple[Changelog, ...]
    """What is read after the manifest, the oldest first."""

    skipped: tuple[PassedOver, ...] = ()
    """Which newer manifests could not be used, and why; what they would have given is the same
    state."""

    replaced: tuple[Replaced, ...] = ()
    """Versions of which another attempt at the same batch is read than the one that the next
    version was built on."""

    @property
    def families(self) -> tuple[Family, ...]:
        """The column families at this version, with the keys each holds."""
        if self.changelogs:
            return self.changelogs[-1].families
        return self.base.families if self.base else ()

    def last_count(self, family: Family) -> KeysAt | None:
        """The newest count of a family's keys that there is where this version has none."""
        if family.keys is not None or self.base is None:
            return None
        for of in self.base.families:
            if of.id == family.id:
                return of.last_count if of.keys is None else KeysAt(self.base.version, of.keys)
        return None

    @property
    def described_by(self) -> str:
        """Path of the file that says which column families and keys there are."""
        if self.changelogs:
            return self.changelogs[-1].path
        return self.base.path if self.base else ""

    @property
    def num_buckets(self) -> int:
        """Buckets of the store; 0 for the empty store."""
        if self.changelogs:
            return self.changelogs[-1].header.num_buckets
        return self.base.num_buckets if self.base else 0

    @property
    def size(self) -> int:
        """Bytes of all files that are read."""
        runs = sum(f.size for f in self.base.files) + self.base.size if self.base else 0
        return runs + sum(c.size for c in self.changelogs)

    def family(self, name: str) -> Family:
        """A column family at this version.

        Raises:
            NoSuchStateError: the store has none of that name then; the message lists them.
        """
        for family in self.families:
            if family.name == name:
                return family
        known = ", ".join(sorted(f.name for f in self.families)) or "none"
        raise NoSuchStateError(f"{self.target} has no column family '{name}'. There are: {known}.")

    def check(self) -> None:
        """Holds the files against each other: buckets and encodings never change.

        But for values: they may be given times at some version, and have them from then on.

        Raises:
            DamagedFileError: one has other buckets or encodings.
        """
        families = {f.id: f for f in self.families}
        of_base = [(self.base.path, self.base.num_buckets, self.base.families)] if self.base else []
        of_changes = [(c.path, c.header.num_buckets, c.families) for c in self.changelogs]
        for path, buckets, described in [*of_base, *of_changes]:
            if buckets != self.num_buckets:
                raise damaged(path, f"expected {self.num_buckets} buckets, found {buckets}")
            for family in described:
                newest = families.get(family.id, family)
                values = {family.value_encoding}
                if family.value_encoding == COMPACT:
                    values.add(TIMED)
                if newest.key_encoding != family.key_encoding or (
                    newest.value_encoding not in values
                ):
                    raise damaged(
                        path,
                        f"expected the keys of column family '{family.name}' as "
                        f"{newest.key_encoding} and its values as {newest.value_encoding}, found "
                        f"{family.key_encoding} and {family.value_encoding}",
                    )
