"""One store: its files, each by itself, and every version that Spark could ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from bucketstate.checkpoint.format.damage import MADE_UP_FOR, damaged
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.names import (
    Attempt,
    ChangelogName,
    ManifestName,
    RunName,
    StoreFile,
    TemporaryName,
)
from bucketstate.checkpoint.format.records import parse
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.store.catalog import Catalog, is_there, shown
from bucketstate.checkpoint.store.holding import files_of
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.store import Store
from bucketstate.checkpoint.verify.meanwhile import look, required
from bucketstate.checkpoint.verify.report import Findings
from bucketstate.checkpoint.verify.restart import RestartState
from bucketstate.errors import CheckpointError, MissingFileError, NewerFormatError

Progress = Callable[[int, int], None]
"""Is told how many files of how many are done, in one thread at a time."""


class FileCount:
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


class StoreVerifier:
    """One store of one partition. `memory`: bytes of keys and values held at a time.

    What a query that runs has deleted since, because no version needs it any more, is not missed.
    """

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        savepoints: tuple[Savepoint, ...],
        count: FileCount,
        memory: int,
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._savepoints = savepoints
        self._held: set[StoreFile] = set()
        self._count = count
        self._memory = memory
        self._found = Findings()
        self._of_restart = Findings()
        self._judged = Findings()
        self._failure: CheckpointError | None = None
        self._read: set[StoreFile] = set()
        self._bad: dict[StoreFile, CheckpointError] = {}
        self._lost: dict[str, _Lost] = {}
        self._wanted: list[int] = []

    def run(self) -> Findings:
        """Reads all of its files, and judges each by what needs it."""
        self._wanted = self._required()
        # Several stores are read at a time already, and each file that is fetched holds memory.
        with Runs(self._store.folder, at_once=1) as runs:
            # First, so that files of which it reads all need not be read once more.
            runs.tally()
            self._restart(self._catalog, runs)
            self._files(runs)
            self._judge(runs)
            while self._moved_on(runs):
                self._judge(runs)
        self._found.include(self._of_restart)
        self._found.include(self._judged)
        self._losses()
        self._spare()
        self._leftovers()
        return self._found

    def _restart(self, catalog: Catalog, runs: Runs) -> None:
        self._of_restart = Findings()
        state = RestartState(catalog, self._store, runs, self._memory)
        self._failure = state.read(self._of_restart)

    def _judge(self, runs: Runs) -> None:
        """What is lost, by the files that were read and by the newest listing."""
        self._judged, self._lost, self._held = Findings(), {}, set()
        self._held_versions(runs)
        self._versions(runs)
        if self._failure is not None:
            self._lost_by(self._failure).restart = True

    def _moved_on(self, runs: Runs) -> bool:
        """Looks again where files are missed; whether there is something to judge anew.

        What retention took is not needed any more, or another file has taken its place. Each time
        a file that was missed has gone from the listing, or a version from what is required: so
        this ends.
        """
        errors = [*self._bad.values(), *(lost.error for lost in self._lost.values())]
        missed = {error.path for error in errors if isinstance(error, MissingFileError)}
        now = look(self._catalog, self._store) if missed else None
        if now is None:
            return False
        folder, listed = self._store.folder, now.store.files
        gone = {folder.path_of(str(name)) for name in self._store.files if name not in listed}
        wanted = [version for version in self._wanted if version in now.required]
        if not missed & gone and wanted == self._wanted:
            return False
        self._store, self._wanted = now.store, wanted
        self._savepoints = now.still(self._savepoints)
        again = {n for n, error in self._bad.items() if isinstance(error, MissingFileError)}
        self._read -= again
        self._bad = {n: e for n, e in self._bad.items() if n not in again and n in listed}
        failure = self._failure
        old = self._catalog.restart_version not in now.required
        if isinstance(failure, MissingFileError) and (old or failure.path in gone):
            self._restart(now.catalog, runs)
        return True

    def _files(self, runs: Runs) -> None:
        """Each file by itself: what is wrong with it is judged when it is known who needs it."""
        named = self._run_files()
        for name in sorted(self._store.files, key=str):
            self._one(name, named, runs)
            self._count.next()

    def _one(self, name: StoreFile, named: dict[str, RunFile], runs: Runs) -> None:
        self._found.files += 1
        self._found.bytes += self._store.files[name]
        self._read.add(name)
        try:
            self._file(name, named, runs)
        except CheckpointError as error:
            self._bad[name] = error

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

    def _versions(self, runs: Runs) -> None:
        """Every version that Spark could ask for."""
        for version in self._wanted:
            try:
                plan = self._plan(version)
            except CheckpointError as error:
                restart = version == self._catalog.restart_version
                if restart or not self._retired(version):
                    self._lost_by(error).versions.append(version)
                continue
            broken = self._broken(plan, runs)
            for bad in broken:
                self._lost_by(bad).versions.append(version)
            self._judged.versions += not broken

    def _held_versions(self, runs: Runs) -> None:
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
            for bad in self._broken(plan, runs):
                self._lost_by(bad).savepoints.append(savepoint.name)

    def _broken(self, plan: Plan, runs: Runs) -> list[CheckpointError]:
        """What is wrong with the files of a plan; what was passed over for it is told.

        Those that came since all were read are read now.
        """
        for skipped in plan.skipped:
            path = self._store.folder.path_of(str(skipped.manifest))
            self._judged.add("warning", path, f"{skipped} {MADE_UP_FOR}")
        for replaced in plan.replaced:
            self._judged.add("note", replaced.path, str(replaced))
        if came := (files_of(plan) & self._store.files.keys()) - self._read:
            named = self._run_files()
            for name in sorted(came, key=str):
                self._one(name, named, runs)
        return [self._bad[f] for f in files_of(plan) if f in self._bad]

    def _required(self) -> list[int]:
        catalog, store = self._catalog, self._store
        return sorted(v for v in required(catalog) if is_there(catalog, store, v))

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
