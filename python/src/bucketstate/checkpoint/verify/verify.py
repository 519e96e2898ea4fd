"""Reads every file of a checkpoint, and says what is damaged and what a restart would do."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from bucketstate.checkpoint.format.damage import MADE_UP_FOR, damaged
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.names import (
    Attempt,
    ChangelogName,
    ManifestName,
    RunName,
    StoreFile,
    TemporaryName,
)
from bucketstate.checkpoint.format.origin import FOLDER
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.records import Records, parse
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.spark.decoding import RecordDecoder, chunked
from bucketstate.checkpoint.spark.schema_files import FamilySchema
from bucketstate.checkpoint.store.catalog import Catalog, every_store, is_there, shown
from bucketstate.checkpoint.store.holding import files_of
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.state import read_family
from bucketstate.checkpoint.store.store import Store
from bucketstate.checkpoint.verify.logs import check_logs
from bucketstate.checkpoint.verify.report import Findings, Report, Restart, Severity
from bucketstate.checkpoint.verify.variables import Indexes, check_schemas
from bucketstate.errors import (
    CheckpointError,
    MissingFileError,
    NewerFormatError,
    NoSuchStateError,
)

_log = logging.getLogger("bucketstate.checkpoint")

Progress = Callable[[int, int], None]
"""Is told how many files of how many are done, in one thread at a time."""

_STORES = 4
"""How many stores are read at a time: they share the memory."""
_MEMORY = 12 * 1024 * 1024
"""Bytes of keys and values held at a time, by all of them."""


def verify(catalog: Catalog, progress: Progress | None = None) -> Report:
    """Verifies every checksum and reference of a checkpoint, and every version Spark could ask for.

    Those are the restart's version and that of every batch in Spark's commit log that retention
    still has to keep. Damage is reported, not raised; StorageError is raised, because a file system
    that fails says nothing about the checkpoint.
    """
    found = Findings()
    _pass_over(catalog, found)
    for operator in catalog.operators:
        for info in operator.stores:
            check_schemas(catalog, operator, info, found)
    stores = list(every_store(catalog))
    check_logs(catalog, found)
    savepoints = _savepoints(catalog, found)
    copied = catalog.query.copied
    if copied is not None:
        found.add("error" if copied.gone else "warning", copied.metadata[0], copied.summary)
    marks = catalog.query.marks
    path = (catalog.query.folder / FOLDER).location
    if marks.half_done is not None:
        found.add("error", path, marks.half_done)
    elif marks.origin is not None:
        found.add("note", path, marks.origin.summary)
    total = found.files + sum(in_order(lambda store: len(store.files), stores))
    _log.info("verifying %d files of %d stores in %s", total, len(stores), catalog.location)
    count = _Count(found.files, total, progress)
    for of_store in in_order(
        lambda s: _Verifier(catalog, s, savepoints, count).run(), stores, _STORES
    ):
        found.include(of_store)
    return Report(
        catalog.location,
        tuple(found.findings),
        tuple(found.restarts),
        found.files,
        found.bytes,
        found.versions,
    )


def _pass_over(catalog: Catalog, found: Findings) -> None:
    """Tells of operators that Spark's own record of cannot be read: their folders say less.

    With that record it starts a transformWithState; the others it starts without.
    """
    for number in catalog.query.operator_ids:
        try:
            catalog.query.operator(number)
        except CheckpointError as error:
            needed = catalog.query.starts_by_record(number)
            because = " Because of this a restart fails." if needed else ""
            severity: Severity = "error" if needed else "warning"
            found.add(severity, error.path or catalog.location, f"{error}{because}")
            catalog.query.pass_over(number)


def _savepoints(catalog: Catalog, found: Findings) -> tuple[Savepoint, ...]:
    try:
        savepoints = catalog.savepoints
    except CheckpointError as error:
        found.add("error", error.path or catalog.location, str(error))
        return ()
    found.files += len(savepoints)
    return savepoints


class _Count:
    """How many files are done, by all threads. Thread-safe."""

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self._done = done
        self._total = total
        self._progress = progress
        self._lock = Lock()

    def next(self) -> None:
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)


@dataclass
class _Lost:
    """What cannot be read because of one error."""

    error: CheckpointError
    versions: list[int] = field(default_factory=list)
    restart: bool = False
    savepoints: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = []
        if self.versions:
            several = "s" if len(self.versions) > 1 else ""
            told.append(f"version{several} {shown(self.versions)} cannot be read")
        if self.restart:
            told.append("a restart fails")
        if self.savepoints:
            several = "s" if len(self.savepoints) > 1 else ""
            names = ", ".join(self.savepoints)
            told.append(f"one cannot go back to the savepoint{several} {names}")
        return f"Because of this {', and '.join(told)}."


class _Verifier:
    """One store of one partition."""

    def __init__(
        self, catalog: Catalog, store: Store, savepoints: tuple[Savepoint, ...], count: _Count
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._savepoints = savepoints
        self._held: set[StoreFile] = set()
        self._schema_is_gone = False
        self._count = count
        self._found = Findings()
        self._bad: dict[StoreFile, CheckpointError] = {}
        self._lost: dict[str, _Lost] = {}

    def run(self) -> Findings:
        of_restart = Findings()
        # Several stores are read at a time already, and each copy holds memory.
        with Runs(self._store.folder, copies=1) as runs:
            # First, so that files of which it reads all need not be read once more.
            runs.tally()
            failure = self._restart(runs, of_restart)
            self._files(runs)
        self._held_versions()
        self._versions()
        if failure is not None:
            self._lost_by(failure).restart = True
        self._found.include(of_restart)
        self._losses()
        self._spare()
        self._leftovers()
        return self._found

    def _files(self, runs: Runs) -> None:
        """Each file by itself: what is wrong with it is judged when it is known who needs it."""
        named = self._run_files()
        for name, size in sorted(self._store.files.items(), key=lambda f: str(f[0])):
            self._found.files += 1
            self._found.bytes += size
            try:
                self._file(name, named, runs)
            except CheckpointError as error:
                self._bad[name] = error
            self._count.next()

    def _file(self, name: StoreFile, named: dict[str, RunFile], runs: Runs) -> None:
        match name:
            case ChangelogName():
                changelog = self._store.changelog(name)
                for block, raw in changelog.read(changelog.blocks):
                    try:
                        parse([(raw, block.records)])
                    except (IndexError, ValueError) as error:
                        raise damaged(
                            changelog.path, f"a record cannot be read ({error})"
                        ) from error
            case ManifestName():
                self._store.manifest(name)
            case RunName() if str(name) in named:
                runs.verify(named[str(name)])

    def _run_files(self) -> dict[str, RunFile]:
        """What manifests say of data files; those of one name say the same in all of them."""
        named: dict[str, RunFile] = {}
        for name in self._store.manifests:
            try:
                manifest = self._store.manifest(name)
            except CheckpointError:
                continue
            for file in manifest.files:
                if named.setdefault(file.name, file) != file:
                    self._found.add(
                        "error",
                        manifest.path,
                        f"{manifest.path} describes {file.name} otherwise than another manifest.",
                    )
        return named

    def _versions(self) -> None:
        """Every version that Spark could ask for."""
        for version in self._required():
            try:
                plan = self._plan(version)
            except CheckpointError as error:
                restart = version == self._catalog.restart_version
                if restart or not self._retired(version):
                    self._lost_by(error).versions.append(version)
                continue
            broken = self._broken(plan)
            for bad in broken:
                self._lost_by(bad).versions.append(version)
            self._found.versions += not broken

    def _held_versions(self) -> None:
        """What savepoints hold."""
        store = self._store
        own = store.operator, store.partition, store.name
        for savepoint in self._savepoints:
            if not savepoint.knows(*own):
                continue
            attempt = savepoint.attempt(*own)
            try:
                plan = store.plan(attempt)
            except CheckpointError as error:
                self._lost_by(error).savepoints.append(savepoint.name)
                continue
            self._held |= files_of(plan)
            for bad in self._broken(plan):
                self._lost_by(bad).savepoints.append(savepoint.name)

    def _broken(self, plan: Plan) -> list[CheckpointError]:
        """What is wrong with the files of a plan; what was passed over for it is told."""
        for skipped in plan.skipped:
            path = self._store.folder.path_of(str(skipped.manifest))
            self._found.add("warning", path, f"{skipped} {MADE_UP_FOR}")
        for replaced in plan.replaced:
            self._found.add("note", replaced.path, str(replaced))
        return [self._bad[f] for f in files_of(plan) if f in self._bad]

    def _required(self) -> list[int]:
        versions = set(self._catalog.versions) | {self._catalog.restart_version}
        # Spark's own log keeps one batch more than the state has to.
        oldest = min(versions)
        spare = {oldest} if oldest > 1 and len(versions) > 1 else set()
        return sorted(v for v in versions - spare - {0} if is_there(self._catalog, self._store, v))

    def _retired(self, version: int) -> bool:
        """Whether retention removed what it takes.

        Then a newer manifest stands for itself, none is at or below the version, and the changelogs
        are gone from the oldest one on, without a gap; but for what savepoints hold.
        """
        manifests = {m: m not in self._bad for m in self._store.manifests}
        older = [m for m in manifests if m.attempt.version <= version and m not in self._held]
        if older or not any(manifests.values()):
            return False
        changelogs = self._store.changelogs
        there = {c.attempt.version for c in changelogs}
        missing = version
        while missing in there:
            missing -= 1
        left = {c.attempt.version for c in changelogs if c not in self._held}
        return missing > 0 and not any(v < missing for v in left)

    def _plan(self, version: int) -> Plan:
        return self._store.plan(self._catalog.attempt(self._store, version))

    def _restart(self, runs: Runs, found: Findings) -> CheckpointError | None:
        """Reads the whole state that a restart would open; what it fails by."""
        store, version = self._store, self._catalog.restart_version
        if not is_there(self._catalog, store, version):
            return None
        failure: CheckpointError | None = None
        base, changelogs, size, keys = None, 0, 0, 0
        try:
            plan = self._plan(version)
            base = plan.base.version if plan.base else None
            changelogs, size = len(plan.changelogs), plan.size
            keys = sum(self._keys(plan, runs, found))
        except CheckpointError as error:
            failure = error
        found.restarts.append(
            Restart(
                store.operator,
                store.partition,
                store.name,
                version,
                base,
                changelogs,
                size,
                keys,
                None if failure is None else str(failure),
            )
        )
        return failure

    def _keys(self, plan: Plan, runs: Runs, found: Findings) -> Iterator[int]:
        indexes = Indexes(self._catalog.operator_at(self._store.operator).transform)
        for family in plan.families:
            schema = self._schema(family)
            if schema is None:
                # Its bytes have no columns, but they can be counted.
                keys = sum(len(part) for part in self._records(plan, family, runs))
                if keys and not self._schema_is_gone:
                    found.add(
                        "error",
                        plan.described_by,
                        f"{plan.described_by} has {keys} keys in the column family "
                        f"'{family.name}', of which no schema file of Spark says what they are",
                    )
                yield keys
                continue
            decoder = RecordDecoder(family, schema, self._store.folder.location)
            by_start: Counter[int] = Counter()
            for part in chunked(self._records(plan, family, runs)):
                indexes.add(family.name, decoder.keys(part.keys), decoder.values(part.values))
                if family.times is not None:
                    starts = np.unique(family.times.starts(part.values), return_counts=True)
                    by_start.update(dict(np.column_stack(starts).tolist()))
                yield len(part)
            _time_buckets(plan, family, by_start, found)
        # What was read may be of two attempts at a batch, each sound by itself.
        if not plan.replaced:
            for what in indexes.contradictions():
                found.add("error", plan.described_by, f"{plan.described_by}: {what}")

    def _records(self, plan: Plan, family: Family, runs: Runs) -> Iterator[Records]:
        return read_family(plan, family, runs, _MEMORY // _STORES)

    def _schema(self, family: Family) -> FamilySchema | None:
        """Spark's schema of a family; None where it has none.

        So it is of a family in which nothing was ever kept, and of a file that Spark makes again.
        """
        store = self._store
        try:
            return self._catalog.schema(store.operator, store=store.name, column_family=family.name)
        except NoSuchStateError:
            return None
        except MissingFileError:
            operator = self._catalog.operator(store.operator)
            if self._catalog.store_info(operator, store.name).schema_files:
                raise
            self._schema_is_gone = True
            return None

    def _lost_by(self, error: CheckpointError) -> _Lost:
        """What is lost by the same as this; told once, however many versions it is."""
        return self._lost.setdefault(error.path or str(error), _Lost(error))

    def _losses(self) -> None:
        for lost in self._lost.values():
            path = lost.error.path or self._store.folder.location
            self._found.add("error", path, f"{lost.error} {lost}")

    def _spare(self) -> None:
        """Bad files that no version needs."""
        for name, error in self._bad.items():
            path = self._store.folder.path_of(str(name))
            if {path, error.path, str(error)} & self._lost.keys():
                continue
            # What a newer release wrote is not to be restored, and says so.
            of_newer = isinstance(error, NewerFormatError)
            what = str(error) if of_newer else f"{error.problem or error} {MADE_UP_FOR}"
            self._found.add("warning", path, what)

    def _leftovers(self) -> None:
        """What nothing refers to: of no harm, but somebody may wonder."""
        folder, known = self._store.folder, self._store.files
        if not self._held and not self._required():
            if known and self._catalog.query.marks.half_done is None:
                self._found.add(
                    "note",
                    folder.location,
                    "of a partition that the query had once, or that was to be: no version that "
                    "Spark could ask for needs it, and it can be deleted",
                )
            return
        referred = set(self._run_files())
        winners = self._winners()
        for name in known:
            match name:
                case TemporaryName():
                    what = "a write under way, or abandoned"
                case RunName() if str(name) not in referred:
                    what = "no manifest names it"
                case ChangelogName(attempt) | ManifestName(attempt) if (
                    attempt.version in winners
                    and attempt != winners[attempt.version]
                    and name not in self._held
                ):
                    what = "of an attempt that lost"
                case _:
                    continue
            self._found.add("note", folder.path_of(str(name)), what)
        ours = {str(name) for name in known}
        for listed in self._store.listed:
            # Hadoop's local file system keeps checksums of its own beside some files.
            if listed not in ours and not (listed.startswith(".") and listed.endswith(".crc")):
                self._found.add("note", folder.path_of(listed), "not a file of a state store")

    def _winners(self) -> dict[int, Attempt]:
        winners = {}
        for version in self._catalog.versions:
            if not is_there(self._catalog, self._store, version):
                continue
            try:
                winners[version] = self._catalog.attempt(self._store, version)
            except CheckpointError:
                continue
        return winners


def _time_buckets(plan: Plan, family: Family, by_start: Counter[int], found: Findings) -> None:
    """Whether keys expire when the newest file says: it counts them without reading them."""
    # What was counted may be the times of the attempt that was replaced.
    if family.times is None or plan.replaced:
        return
    expected = family.times.by_start()
    for start in sorted(expected.keys() | by_start.keys()):
        if expected.get(start, 0) != by_start[start]:
            found.add(
                "error",
                plan.described_by,
                f"{plan.described_by} says that {expected.get(start, 0)} keys of the column "
                f"family '{family.name}' are in the time bucket {start}, but its files give "
                f"{by_start[start]}: one of them is of another history",
            )
