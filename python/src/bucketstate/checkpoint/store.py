"""One store of one partition: its files, and which of them make a version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bucketstate.checkpoint.changelog import Changelog, Family, read_changelog
from bucketstate.checkpoint.damage import REMEDY, damaged
from bucketstate.checkpoint.manifest import Manifest, read_manifest
from bucketstate.checkpoint.names import (
    RUN_FOLDER,
    Attempt,
    ChangelogName,
    ManifestName,
    RunName,
    StoreFile,
    parse,
)
from bucketstate.checkpoint.storage import Folder, Listed
from bucketstate.errors import (
    DamagedFileError,
    MissingFileError,
    NewerFormatError,
    NoSuchStateError,
)

HASH_FUNCTION = "xxh64"


@dataclass(frozen=True)
class Plan:
    """How a version is read: from a manifest (None is the empty store), then changelogs.

    `changelogs` come oldest first. `skipped` says which newer manifests could not be used, and why;
    what they would have given is the same state.
    """

    target: Attempt
    base: Manifest | None
    changelogs: tuple[Changelog, ...]
    skipped: tuple[str, ...] = ()

    @property
    def families(self) -> tuple[Family, ...]:
        """The column families at this version, with the keys each holds."""
        if self.changelogs:
            return self.changelogs[-1].families
        return self.base.families if self.base else ()

    @property
    def num_buckets(self) -> int:
        if self.changelogs:
            return self.changelogs[-1].header.num_buckets
        return self.base.num_buckets if self.base else 0

    @property
    def size(self) -> int:
        """Bytes of all files that are read."""
        runs = sum(f.size for f in self.base.files) + self.base.size if self.base else 0
        return runs + sum(c.size for c in self.changelogs)

    def family(self, name: str) -> Family:
        for family in self.families:
            if family.name == name:
                return family
        known = ", ".join(sorted(f.name for f in self.families)) or "none"
        raise NoSuchStateError(f"{self.target} has no column family '{name}'. There are: {known}.")


class Store:
    """One store of one partition. Lists its folder once; keeps the indexes it read.

    Not thread-safe. What another process adds later is not seen.
    """

    def __init__(self, operator: int, partition: int, name: str, folder: Folder) -> None:
        self.operator = operator
        self.partition = partition
        self.name = name
        self.folder = folder
        self._changelogs: dict[ChangelogName, Changelog] = {}
        self._manifests: dict[ManifestName, Manifest] = {}

    @cached_property
    def listed(self) -> dict[str, Listed]:
        """All files, by their name relative to the folder."""
        runs = {f"{RUN_FOLDER}/{f.name}": f for f in (self.folder / RUN_FOLDER).files()}
        return {f.name: f for f in self.folder.files()} | runs

    @cached_property
    def files(self) -> dict[StoreFile, int]:
        """Those files that are ours, with their length in bytes."""
        parsed = ((parse(name), file.size) for name, file in self.listed.items())
        return {file: size for file, size in parsed if file is not None}

    @property
    def manifests(self) -> list[ManifestName]:
        """Oldest first."""
        found = [f for f in self.files if isinstance(f, ManifestName)]
        return sorted(found, key=lambda m: (m.attempt.version, str(m)))

    @property
    def changelogs(self) -> list[ChangelogName]:
        """Oldest first."""
        found = [f for f in self.files if isinstance(f, ChangelogName)]
        return sorted(found, key=lambda c: (c.attempt.version, str(c)))

    @property
    def runs(self) -> list[RunName]:
        return [f for f in self.files if isinstance(f, RunName)]

    def attempts(self, version: int) -> list[Attempt]:
        """Those of which there is any file."""
        named = (f.attempt for f in self.files if isinstance(f, (ChangelogName, ManifestName)))
        return sorted({a for a in named if a.version == version}, key=str)

    def changelog(self, name: ChangelogName) -> Changelog:
        if name not in self._changelogs:
            changelog = read_changelog(self.folder, name)
            _check_hash(changelog.path, changelog.header.hash_function)
            self._changelogs[name] = changelog
        return self._changelogs[name]

    def manifest(self, name: ManifestName) -> Manifest:
        if name not in self._manifests:
            manifest = read_manifest(self.folder, name)
            _check_hash(manifest.path, manifest.hash_function)
            self._manifests[name] = manifest
        return self._manifests[name]

    def plan(self, target: Attempt) -> Plan:
        """How that version is read: the newest manifest that can be used, then changelogs.

        Follows the ids from file to file, so that what another attempt left is not looked at.
        """
        changelogs: list[Changelog] = []
        skipped: list[str] = []
        at, base = target, None
        while at.version > 0:
            base = self._usable(at, changelogs[-1] if changelogs else None, skipped)
            if base is not None:
                break
            changelog = self._needed(at, target, skipped)
            if changelogs:
                _check_base(changelogs[-1], changelog)
            changelogs.append(changelog)
            at = before(changelog)
        plan = Plan(target, base, tuple(reversed(changelogs)), tuple(skipped))
        _check_together(plan)
        return plan

    def lineage(self, target: Attempt, oldest: int) -> Iterator[Changelog]:
        """The changelogs of the versions from `oldest` up to the target, newest first."""
        at, following = target, None
        while at.version >= max(1, oldest):
            changelog = self._needed(at, target, [])
            if following is not None:
                _check_base(following, changelog)
            yield changelog
            at, following = before(changelog), changelog

    def _usable(
        self, at: Attempt, following: Changelog | None, skipped: list[str]
    ) -> Manifest | None:
        """The manifest of that version, if it can be used and what it needs is there."""
        name = ManifestName(at)
        if name not in self.files:
            return None
        try:
            manifest = self.manifest(name)
            problem = self._unfit(manifest, following)
        except DamagedFileError as error:
            problem = str(error)
        if problem is None:
            return manifest
        skipped.append(problem)
        return None

    def _unfit(self, manifest: Manifest, following: Changelog | None) -> str | None:
        """Why it cannot be used, or None."""
        own = ChangelogName(manifest.name.attempt)
        if following is not None:
            of_history = manifest.is_base_of(following.header)
        else:
            of_history = own not in self.files or manifest.covers(self.changelog(own).header)
        if not of_history:
            return f"{manifest.path} is of an attempt at its version that was replaced since."
        for file in manifest.files:
            found = self.listed.get(file.name)
            if found is None or found.size != file.size:
                state = "is not there" if found is None else f"has {found.size} bytes"
                return f"{manifest.path} needs {file.name} of {file.size} bytes, which {state}."
        return None

    def _needed(self, at: Attempt, target: Attempt, skipped: list[str]) -> Changelog:
        name = ChangelogName(at)
        if name not in self.files:
            because = (" " + " ".join(skipped)) if skipped else ""
            whose = "" if at == target else f", which {target} is built on"
            raise MissingFileError(
                f"{self.folder.path_of(str(name))} is not there, and no manifest of {at}{whose}."
                f"{because} {REMEDY}"
            )
        return self.changelog(name)


def before(changelog: Changelog) -> Attempt:
    """What a changelog's changes apply to."""
    header = changelog.header
    if header.base_id and header.version == 1:
        raise damaged(changelog.path, f"expected no base id in version 1, found {header.base_id}")
    # Without checkpoint ids the base id is that of a commit, which is not part of any name.
    return Attempt(header.version - 1, header.base_id if header.checkpoint_id else None)


def _check_base(changelog: Changelog, base: Changelog) -> None:
    """Without checkpoint ids, that the file before is the very one the changes were made on."""
    expected = changelog.header.base_id
    if changelog.header.checkpoint_id is None and expected not in (None, base.header.commit_id):
        raise damaged(
            changelog.path,
            f"it was made on top of the commit {expected}, but {base.path} is of the commit "
            f"{base.header.commit_id}: one of them was replaced by one of another history",
        )


def _check_hash(path: str, name: str) -> None:
    if name != HASH_FUNCTION:
        raise NewerFormatError(
            f"{path} was written with the hash function '{name}', this release knows "
            f"'{HASH_FUNCTION}'. It was written by a newer bucketstate: upgrade this package."
        )


def _check_together(plan: Plan) -> None:
    """Buckets and encodings are fixed for the life of a checkpoint."""
    families = {f.id: f for f in plan.families}
    of_base = [(plan.base.path, plan.base.num_buckets, plan.base.families)] if plan.base else []
    of_changes = [(c.path, c.header.num_buckets, c.families) for c in plan.changelogs]
    for path, buckets, described in [*of_base, *of_changes]:
        if buckets != plan.num_buckets:
            raise damaged(path, f"expected {plan.num_buckets} buckets, found {buckets}")
        for family in described:
            newest = families.get(family.id, family)
            if (newest.key_encoding, newest.value_encoding) != (
                family.key_encoding,
                family.value_encoding,
            ):
                raise damaged(
                    path,
                    f"expected the keys of column family '{family.name}' as {newest.key_encoding} "
                    f"and its values as {newest.value_encoding}, found {family.key_encoding} and "
                    f"{family.value_encoding}",
                )
