"""What is kept of files from one look-up to the next, and from one version to the next.

Everything is kept by what no other file has: records of a changelog by the id of its commit, data
files by their checksum. So a version that comes takes over what it shares with the one before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from itertools import islice

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.records import Change, Records, parse
from bucketstate.checkpoint.format.runs import Runs, change_of, is_small, opened_run, run_key
from bucketstate.checkpoint.format.sst.opened import Opened, most_open
from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.key_bytes import KeyBytes
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.store import Store
from bucketstate.live.indexed import Indexed, Indexes

_FAR_BLOCKS = 4 * 1024 * 1024
"""Bytes of blocks that are kept of each data file that is read where it lies."""

_MOST_DATABASES = 512
_FILES_OF_A_DATABASE = 7
"""How many files a process has open for each data file that RocksDB looks into."""

_Commit = tuple[int, str]
_Name = tuple[str, _Commit | RunFile, int, int]
"""A store's folder, a commit or a data file, a family, and where in the file it begins."""


class HeldStore:
    """The files of one store, as far as its newest plan needs them. Not thread-safe.

    Data files on a local disk are copied whole, verified, and looked into by RocksDB; small ones
    are indexed in memory; those elsewhere stay where they are, and blocks of them are read.
    """

    def __init__(self, folder: Folder, indexes: Indexes, opened: Opened) -> None:
        self._folder = folder
        self._indexes = indexes
        self._opened = opened
        self._runs: Runs | None = None
        self._far: dict[RunFile, tuple[SstReader, ExitStack]] = {}
        self._files: set[RunFile] = set()
        self._names: set[_Name] = set()
        self.store: Store | None = None
        """The store as it was listed last."""

    def planned(self, store: Store, plan: Plan) -> None:
        """Gives up what a new plan does not need."""
        self.store = store
        files = set(plan.base.files) if plan.base else set()
        for file in self._files - files:
            self._give_up(file)
        self._files &= files
        needed = files | {_commit(changelog) for changelog in plan.changelogs}
        self._drop({name for name in self._names if name[1] not in needed})

    def close(self) -> None:
        for file in list(self._files):
            self._give_up(file)
        self._files.clear()
        if self._runs is not None:
            self._runs.__exit__(None, None, None)
            self._runs = None
        self._drop(set(self._names))
        self.store = None

    def piece(self, changelog: Changelog, family: Family, blocks: Sequence[Block]) -> Indexed:
        """The records of neighbouring blocks."""
        name = self._folder.location, _commit(changelog), family.id, blocks[0].offset

        def make() -> Indexed:
            read = list(changelog.read(blocks))
            with decoding(changelog.path, "records"):
                records = parse([(raw, block.records) for block, raw in read])
                return Indexed(records, family.key_encoding)

        return self._indexed(name, make)

    def path_of(self, file: RunFile) -> str:
        """A data file's name as people find it."""
        return self._folder.path_of(file.name)

    def find_in(
        self, file: RunFile, family: Family, wanted: Sequence[tuple[bytes, KeyBytes]]
    ) -> list[Change]:
        """What a data file has of the keys, of which each stands behind its part that decides."""
        self._files.add(file)
        if is_small(file):
            found = self._small(file, family)
            return [change for group, key in wanted for change in found.of(group, key)]
        rows: list[tuple[bytes, bytes]] = []
        several = [key for _, key in wanted if not (key.whole and self._folder.is_local)]
        changes: list[Change] = []
        if len(several) < len(wanted):
            whole = [run_key(family.id, key.bucket, key.start) for _, key in wanted if key.whole]
            rows += self._local().entries_of(file, whole)
        for key in several:
            low = run_key(family.id, key.bucket, key.start)
            high = run_key(family.id, key.bucket, key.end)
            if self._folder.is_local:
                for records in self._local().between(file, low, high):
                    changes += records.changes()
            else:
                rows += self._reader(file).entries(low, high)
        with decoding(self.path_of(file), "entries"):
            return [*changes, *map(change_of, rows)]

    def some_keys(self, file: RunFile, family: Family, count: int) -> list[bytes]:
        """Keys of a data file, so many at most."""
        self._files.add(file)
        if is_small(file):
            return self._small(file, family).some_keys(count)
        low, high = run_key(family.id, 0), run_key(family.id + 1, 0)
        if self._folder.is_local:
            for records in self._local().between(file, low, high):
                return records.keys[:count].to_list()
            return []
        rows = list(islice(self._reader(file).entries(low, high), count))
        with decoding(self.path_of(file), "entries"):
            return [change_of(row)[1] for row in rows]

    def _small(self, file: RunFile, family: Family) -> Indexed:
        def make() -> Indexed:
            low, high = run_key(family.id, 0), run_key(family.id + 1, 0)
            records = Records.concat(list(self._local().between(file, low, high)))
            self._local().forget(file)
            with decoding(self.path_of(file), "entries"):
                return Indexed(records, family.key_encoding)

        return self._indexed((self._folder.location, file, family.id, 0), make)

    def _indexed(self, name: _Name, make: Callable[[], Indexed]) -> Indexed:
        self._names.add(name)
        return self._indexes.get(name, make)

    def _drop(self, names: set[_Name]) -> None:
        self._names -= names
        for name in names:
            self._indexes.drop(name)

    def _local(self) -> Runs:
        if self._runs is None:
            self._runs = Runs(self._folder, databases=self._opened)
        return self._runs

    def _reader(self, file: RunFile) -> SstReader:
        if file not in self._far:
            with ExitStack() as stack:
                opened = stack.enter_context(opened_run(self._folder, file))
                reader = SstReader(opened, self.path_of(file), _FAR_BLOCKS)
                self._far[file] = reader, stack.pop_all()
        return self._far[file][0]

    def _give_up(self, file: RunFile) -> None:
        if self._runs is not None:
            self._runs.forget(file)
        if file in self._far:
            self._far.pop(file)[1].close()


class Held:
    """The files of all stores that were asked for. Not thread-safe.

    Args:
        memory: bytes of indexed records that are kept, about.
    """

    def __init__(self, memory: int) -> None:
        self.lock = threading.RLock()
        """Around whatever is looked up."""
        self.ended = False
        """Whether nothing is to be looked up any more: nobody would close what that opens."""
        self._indexes = Indexes(memory)
        self._opened = Opened(most_open(_MOST_DATABASES, _FILES_OF_A_DATABASE))
        self._stores: dict[str, HeldStore] = {}
        self.rules: dict[Hashable, bool] = {}
        """Whether Spark's hash says where keys lie, by what was asked and how it is divided."""

    def of(self, folder: Folder) -> HeldStore:
        """What is held of the store in a folder."""
        if folder.location not in self._stores:
            self._stores[folder.location] = HeldStore(folder, self._indexes, self._opened)
        return self._stores[folder.location]

    def close(self) -> None:
        """Gives up everything; what is asked for later is read again."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        self.rules.clear()


def _commit(changelog: Changelog) -> _Commit:
    """What no other changelog of the store has."""
    return changelog.header.version, changelog.header.commit_id
