"""One store of one partition: its files, and which of them make a version."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NoReturn

from bucketstate.checkpoint.format.changelog import Changelog, Header, read_changelog, read_header
from bucketstate.checkpoint.format.damage import REMEDY
from bucketstate.checkpoint.format.manifest import Manifest
from bucketstate.checkpoint.format.manifest_json import read_manifest
from bucketstate.checkpoint.format.names import (
    RUN_FOLDER,
    Attempt,
    ChangelogName,
    ManifestName,
    RunName,
    StoreFile,
    parse,
)
from bucketstate.checkpoint.format.storage import Folder, Listed
from bucketstate.checkpoint.store.lineage import before, replaced
from bucketstate.checkpoint.store.plan import PassedOver, Plan
from bucketstate.errors import (
    DamagedFileError,
    MissingFileError,
    NewerFormatError,
)

_log = logging.getLogger("bucketstate.checkpoint")

HASH_FUNCTION = "xxh64"


class Store:
    """One store of one partition. Lists its folder once; keeps the indexes it read.

    Not thread-safe. What another process adds later is not seen. `Checkpoint.store` makes it.

    Args:
        operator: Spark's number of the operator in its query.
        partition: from 0.
        name: `default`, or that of a side of a join.
        folder: where its files are.
    """

    def __init__(self, operator: int, partition: int, name: str, folder: Folder) -> None:
        self.operator = operator
        """Spark's number of the operator in its query."""
        self.partition = partition
        """From 0."""
        self.name = name
        """`default`, or that of a side of a join."""
        self.folder = folder
        """Where its files are."""
        self._listed: dict[str, Listed] | None = None
        self._files: dict[StoreFile, int] | None = None
        self._changelogs: dict[ChangelogName, Changelog] = {}
        self._manifests: dict[ManifestName, Manifest] = {}
        self._before: dict[ChangelogName, Changelog] = {}

    # Not cached properties: until Python 3.12 those of all stores wait for each other.

    @property
    def listed(self) -> dict[str, Listed]:
        """All files, by their name relative to the folder; StorageError if it cannot be listed."""
        if self._listed is None:
            found = self.folder.all_files()
            self._listed = {f.name: f for f in found if _is_of_store(f.name)}
        return self._listed

    @property
    def files(self) -> dict[StoreFile, int]:
        """Those files that are ours, with their length in bytes."""
        if self._files is None:
            parsed = ((parse(name), file.size) for name, file in self.listed.items())
            self._files = {file: size for file, size in parsed if file is not None}
        return self._files

    def after(self, older: Store) -> None:
        """Takes over which changelogs were read when the same folder was looked at before.

        Whether a file is still the one that was read is asked of what follows it, in `plan`.
        """
        self._before = older._changelogs

    @property
    def manifests(self) -> list[ManifestName]:
        """Those that there are, the oldest first."""
        found = [f for f in self.files if isinstance(f, ManifestName)]
        return sorted(found, key=lambda m: (m.attempt.version, str(m)))

    @property
    def changelogs(self) -> list[ChangelogName]:
        """Those that there are, the oldest first."""
        found = [f for f in self.files if isinstance(f, ChangelogName)]
        return sorted(found, key=lambda c: (c.attempt.version, str(c)))

    @property
    def runs(self) -> list[RunName]:
        """The data files, in no order."""
        return [f for f in self.files if isinstance(f, RunName)]

    def attempts(self, version: int) -> list[Attempt]:
        """The attempts at a version of which there is any file."""
        named = (f.attempt for f in self.files if isinstance(f, (ChangelogName, ManifestName)))
        return sorted({a for a in named if a.version == version}, key=str)

    def changelog(self, name: ChangelogName) -> Changelog:
        """A changelog's index, without its records. Read once.

        Raises:
            DamagedFileError: it is not what was written.
            NewerFormatError: a newer release wrote it.
            MissingFileError: it is not there.
            StorageError: it could not be read.
        """
        if name not in self._changelogs:
            changelog = read_changelog(self.folder, name)
            _check_hash(changelog.path, changelog.header.hash_function)
            self._changelogs[name] = changelog
        return self._changelogs[name]

    def manifest(self, name: ManifestName) -> Manifest:
        """A manifest, without the runs that it names. Read once.

        Raises:
            DamagedFileError: it is not what was written.
            NewerFormatError: a newer release wrote it.
            MissingFileError: it is not there.
            StorageError: it could not be read.
        """
        if name not in self._manifests:
            manifest = read_manifest(self.folder, name)
            _check_hash(manifest.path, manifest.hash_function)
            self._manifests[name] = manifest
        return self._manifests[name]

    def plan(self, target: Attempt) -> Plan:
        """How that version is read: the newest manifest that can be used, then changelogs.

        Follows the ids from file to file, so that what another attempt left is not looked at.

        Raises:
            MissingFileError: nothing leads to it.
            DamagedFileError: what leads to it is damaged.
            NewerFormatError: a newer release wrote what leads to it.
        """
        changelogs: list[Changelog] = []
        passed: list[PassedOver] = []
        at, base = target, None
        while at.version > 0:
            base = self._usable(at, changelogs[-1] if changelogs else None, passed)
            if base is not None:
                break
            self._recall(at, changelogs[-1] if changelogs else None)
            changelogs.append(self._needed(at, target, passed))
            at = before(changelogs[-1])
        changelogs.reverse()
        plan = Plan(target, base, tuple(changelogs), tuple(passed), replaced(changelogs))
        self._check_replaced(plan)
        plan.check()
        _log.debug(
            "%s: version %s is read from %s and %d changelogs",
            self.folder.location,
            target,
            "nothing" if base is None else base.path,
            len(changelogs),
        )
        return plan

    def lineage(self, target: Attempt, oldest: int) -> list[Changelog]:
        """The changelogs of the versions from `oldest` up to the target, oldest first.

        Raises:
            MissingFileError: one is not there.
            DamagedFileError: one is damaged.
            NewerFormatError: a newer release wrote one.
        """
        changelogs: list[Changelog] = []
        at = target
        while at.version >= max(1, oldest):
            changelogs.append(self._needed(at, target))
            at = before(changelogs[-1])
        changelogs.reverse()
        replaced(changelogs)
        return changelogs

    def _recall(self, at: Attempt, following: Changelog | None) -> None:
        """A changelog that was read before counts if an id says that no other took its place.

        Without checkpoint ids a retry writes a file of the same name, but the next version names
        the commit that it is built on.
        """
        name = ChangelogName(at)
        known = self._before.get(name)
        if known is None or name in self._changelogs:
            return
        named = following is not None and following.header.base_id == known.header.commit_id
        if at.checkpoint_id is not None or named:
            self._changelogs[name] = known

    def _check_replaced(self, plan: Plan) -> None:
        """What replaced a version is not taken for it where its manifest cannot be had.

        That may have been all there was of the version: then the changelog is of an attempt that
        was given up before, and leads to another state.
        """
        lost = {p.manifest.attempt.version: p for p in plan.skipped if p.reason != "stale"}
        for again in plan.replaced:
            if again.version in lost:
                self._fail(lost[again.version], f"{again} But {lost[again.version]}")

    def _usable(
        self, at: Attempt, following: Changelog | None, passed: list[PassedOver]
    ) -> Manifest | None:
        """The manifest of that version, if it can be used and what it needs is there."""
        name = ManifestName(at)
        if name not in self.files:
            return None
        try:
            manifest = self.manifest(name)
        except DamagedFileError as error:
            passed.append(PassedOver(name, "damaged", error.problem or str(error)))
            return None
        unfit = self._incomplete(manifest) or self._stale(manifest, following)
        if unfit is None:
            return manifest
        passed.append(unfit)
        return None

    def _incomplete(self, manifest: Manifest) -> PassedOver | None:
        for file in manifest.files:
            found = self.listed.get(file.name)
            needs = f"{manifest.path} needs {file.name} of {file.size} bytes, which"
            if found is None:
                return PassedOver(manifest.name, "gone", f"{needs} is not there.")
            if found.size != file.size:
                return PassedOver(manifest.name, "damaged", f"{needs} has {found.size} bytes.")
        return None

    def _stale(self, manifest: Manifest, following: Changelog | None) -> PassedOver | None:
        """Without checkpoint ids, a retry may have written the version again after its manifest."""
        attempt = manifest.name.attempt
        own = ChangelogName(attempt)
        if attempt.checkpoint_id is not None:
            current = True  # Its name says of which attempt it is.
        elif following is not None:
            current = manifest.is_base_of(following.header)
        else:
            current = own not in self.files or manifest.covers(self._header(own))
        if current:
            return None
        what = f"{manifest.path} is of an attempt at its version that was replaced since."
        return PassedOver(manifest.name, "stale", what)

    def _header(self, name: ChangelogName) -> Header:
        # Not the index: what follows the header is of no matter to whoever starts from a manifest.
        known = self._changelogs.get(name)
        return known.header if known else read_header(self.folder, name)

    def _needed(self, at: Attempt, target: Attempt, passed: Sequence[PassedOver] = ()) -> Changelog:
        name = ChangelogName(at)
        if name not in self.files:
            self._miss(at, target, passed)
        return self.changelog(name)

    def _miss(self, at: Attempt, target: Attempt, passed: Sequence[PassedOver]) -> NoReturn:
        """Says why the changelog of a version that is needed is not there."""
        of = self.folder.path_of(str(ChangelogName(at)))
        if not passed and ManifestName(at) in self.files:
            problem = (
                f"{of} is not there: its state is in {ManifestName(at)} alone, and what changed in "
                "that version is not known."
            )
            raise MissingFileError(problem).about(of, problem)
        whose = "" if at == target else f", which {target} is built on"
        problem = f"{of} is not there, and no manifest of {at}{whose}."
        if not passed:
            raise MissingFileError(f"{problem} {REMEDY}").about(of, problem)
        because = " ".join(str(unfit) for unfit in passed)
        self._fail(passed[0], f"{problem} {because}")

    def _fail(self, first: PassedOver, problem: str) -> NoReturn:
        """Retention removes changelogs that a manifest stands for: then that is what is wrong."""
        path = self.folder.path_of(str(first.manifest))
        if first.reason == "gone":
            raise MissingFileError(f"{problem} {REMEDY}").about(path, problem)
        raise DamagedFileError(f"{problem} {REMEDY}").about(path, problem)


def _is_of_store(name: str) -> bool:
    """Whether it lies where a store's files do; Spark has a folder of its own beside them."""
    folder, _, _ = name.rpartition("/")
    return folder in ("", RUN_FOLDER)


def _check_hash(path: str, name: str) -> None:
    if name != HASH_FUNCTION:
        raise NewerFormatError(
            f"{path} was written with the hash function '{name}', this release knows "
            f"'{HASH_FUNCTION}'. It was written by a newer bucketstate: upgrade this package."
        )
