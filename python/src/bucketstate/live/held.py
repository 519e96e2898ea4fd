"""What is kept of files from one look-up to the next, and from one version to the next.

Everything is kept by what no other file has: records of a changelog by the id of its commit, data
files by their checksum. So a version that comes takes over what it shares with the one before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.records import MERGE, PUT, REMOVE, Change, Records, parse
from bucketstate.checkpoint.format.runs import Runs, change_of, is_small, opened_run, run_key
from bucketstate.checkpoint.format.sst import SstReader
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.key_bytes import KeyBytes
from bucketstate.checkpoint.spark.keys import deciding
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.store import Store

_PIECE = 256 * 1024
"""About as many raw bytes of a changelog are read, and their keys indexed, at a time."""
_OF_A_RECORD = 250
"""Bytes that the index takes for a record, besides its key and its value."""
_FAR_BLOCKS = 4 * 1024 * 1024
"""Bytes of blocks that are kept of each data file that is read where it lies."""

_Commit = tuple[int, str]
_Name = tuple[str, _Commit | RunFile, int, int]
"""A store's folder, a commit or a data file, a family, and where in the file it begins."""


class Indexed:
    """Records that are found by the part of their keys that decides their bucket. Immutable."""

    def __init__(self, records: Records, encoding: str) -> None:
        decides = deciding(records.keys, encoding).to_list()
        self._keys = records.keys.buffer.tobytes()
        same = records.values.buffer is records.keys.buffer
        self._values = self._keys if same else records.values.buffer.tobytes()
        self._at = records.keys.starts, records.keys.lengths
        self._value_at = records.values.starts, records.values.lengths
        self._kinds = [
            MERGE if merge else PUT if put else REMOVE
            for put, merge in zip(records.puts.tolist(), records.merges.tolist(), strict=True)
        ]
        self._places: dict[bytes, int | list[int]] = {}
        for place, group in enumerate(decides):
            others = self._places.setdefault(group, place)
            if isinstance(others, list):
                others.append(place)
            elif others != place:
                self._places[group] = [others, place]
        self.size = len(self._keys) + _OF_A_RECORD * len(decides)
        """Bytes that it takes, about."""

    def of(self, group: bytes, wanted: KeyBytes) -> Iterator[Change]:
        """What there is of the keys that are wanted, all of which have this part that decides."""
        places = self._places.get(group)
        if places is None:
            return
        for place in [places] if isinstance(places, int) else places:
            change = self._change(place)
            if wanted.matches(change[1]):
                yield change

    def some_keys(self, count: int) -> list[bytes]:
        """Keys of it, so many at most."""
        return [self._change(place)[1] for place in range(min(count, len(self._kinds)))]

    def _change(self, place: int) -> Change:
        start, value = int(self._at[0][place]), int(self._value_at[0][place])
        end, value_end = start + int(self._at[1][place]), value + int(self._value_at[1][place])
        return self._kinds[place], self._keys[start:end], self._values[value:value_end]


class Indexes:
    """Indexed records by what names them, those that were asked for last. Not thread-safe.

    Args:
        memory: bytes of them that are kept, about.
    """

    def __init__(self, memory: int) -> None:
        self._left = memory
        self._kept: OrderedDict[Hashable, Indexed] = OrderedDict()

    def get(self, name: Hashable, make: Callable[[], Indexed]) -> Indexed:
        found = self._kept.get(name)
        if found is not None:
            self._kept.move_to_end(name)
            return found
        found = self._kept[name] = make()
        self._left -= found.size
        while self._left < 0 and len(self._kept) > 1:
            self._left += self._kept.popitem(last=False)[1].size
        return found

    def drop(self, name: Hashable) -> None:
        found = self._kept.pop(name, None)
        self._left += found.size if found is not None else 0


class HeldStore:
    """The files of one store, as far as its newest plan needs them. Not thread-safe.

    Data files on a local disk are copied whole, verified, and looked into by RocksDB; small ones
    are indexed in memory; those elsewhere stay where they are, and blocks of them are read.
    """

    def __init__(self, folder: Folder, indexes: Indexes) -> None:
        self._folder = folder
        self._indexes = indexes
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
        with decoding(self._folder.path_of(file.name), "entries"):
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
        with decoding(self._folder.path_of(file.name), "entries"):
            return [change_of(row)[1] for row in rows]

    def _small(self, file: RunFile, family: Family) -> Indexed:
        def make() -> Indexed:
            low, high = run_key(family.id, 0), run_key(family.id + 1, 0)
            records = Records.concat(list(self._local().between(file, low, high)))
            self._local().forget(file)
            with decoding(self._folder.path_of(file.name), "entries"):
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
            self._runs = Runs(self._folder)
        return self._runs

    def _reader(self, file: RunFile) -> SstReader:
        if file not in self._far:
            with ExitStack() as stack:
                opened = stack.enter_context(opened_run(self._folder, file))
                reader = SstReader(opened, self._folder.path_of(file.name), _FAR_BLOCKS)
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
        self._indexes = Indexes(memory)
        self._stores: dict[str, HeldStore] = {}
        self.rules: dict[Hashable, bool] = {}
        """Whether Spark's hash says where keys lie, by what was asked and how it is divided."""

    def of(self, folder: Folder) -> HeldStore:
        """What is held of the store in a folder."""
        if folder.location not in self._stores:
            self._stores[folder.location] = HeldStore(folder, self._indexes)
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


def pieces(blocks: Iterable[Block]) -> list[list[Block]]:
    """Blocks of a family as they are read: neighbours together, all of a bucket in one piece."""
    found: list[list[Block]] = []
    size = last = 0
    for block in sorted(blocks, key=lambda b: (b.first_bucket, b.offset)):
        apart = not found or block.first_bucket > last
        if apart and (not found or size + block.raw_length > _PIECE):
            found.append([])
            size = 0
        found[-1].append(block)
        size += block.raw_length
        last = max(last, block.last_bucket)
    return found
