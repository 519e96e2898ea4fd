"""Data files of runs: verified, and read; keys of large ones are looked up by RocksDB."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import numpy as np

from bucketstate.checkpoint.format.compression import crc32c_extend
from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.filesystems import first_line
from bucketstate.checkpoint.format.manifest import RunFile, TimeSpan
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.records import MERGE, PUT, REMOVE, Records
from bucketstate.checkpoint.format.slices import Positions, Slices, gather
from bucketstate.checkpoint.format.sst.copy import Copy
from bucketstate.checkpoint.format.sst.opened import Opened, most_open
from bucketstate.checkpoint.format.sst.original import Original
from bucketstate.checkpoint.format.sst.together import Entries
from bucketstate.checkpoint.format.storage import Folder, OpenFile
from bucketstate.checkpoint.format.times import UNTIMED, starts_of
from bucketstate.errors import BucketstateError, CheckpointError, MissingFileError, StorageError
from bucketstate.interrupts import temporary_folder

_PREFIX = 4
"""Bytes of family and bucket in front of each key."""
_PUT, _TOMBSTONE, _MERGE = 1, 2, 3
_KINDS = {_PUT: PUT, _TOMBSTONE: REMOVE, _MERGE: MERGE}
"""The kinds of records by the tags of entries."""
_CHUNK = 4 * 1024 * 1024
_FETCHED = 8
"""How many files are fetched at a time, of all stores together: each holds a chunk or two."""
_SMALL = 64 * 1024
"""Bytes of a file that is held in memory. RocksDB makes a database on the disk of others, where
their keys are looked up, and waits for the disk sixteen times."""
_HELD = 16 * 1024 * 1024
"""How many bytes of small files are held in memory, of each store that is read."""

_COPIES = 100
"""How many copies are open at a time, of each store that is read, but for those that are read just
then: a process may not have any number."""
_ORIGINALS = 2048
"""As `_COPIES`, of files where they lie, as far as the process may have so many: what is shut may
be gone when it is asked for again. One takes some 20 KiB of memory."""

_fetching = threading.BoundedSemaphore(_FETCHED)


@dataclass
class _Tally:
    """What was read of a file, in parts."""

    entries: int = 0
    tombstones: int = 0
    sound: bool = True
    """Whether no part was read twice, and all was as the manifest says."""
    parts: list[tuple[bytes, bytes]] = field(default_factory=list)

    def begin(self, low: bytes, high: bytes) -> None:
        self.sound &= all(high <= first or end <= low for first, end in self.parts)
        self.parts.append((low, high))

    def add(self, records: Records) -> None:
        self.entries += len(records)
        self.tombstones += int((~records.puts).sum())


class Runs:
    """The data files of one store, opened as they are needed. Use with `with`; not thread-safe.

    Each file is held against the length and checksum that its manifest gives before anything of it
    is read. One on a local disk is read where it lies; others are copied whole for that, and so are
    those that RocksDB looks into and those that are small: to memory, or else to a local folder,
    which is removed at the end.

    Args:
        folder: the store's.
        at_once: how many files are fetched at a time.
        databases: those that are open, of all stores, where `entries_of` is asked.
    """

    def __init__(
        self, folder: Folder, at_once: int = _FETCHED, *, databases: Opened | None = None
    ) -> None:
        self._folder = folder
        self._at_once = at_once
        self._in_place = folder.is_local and databases is None
        most = _ORIGINALS if self._in_place else _COPIES
        self._opened = databases or Opened(most_open(most))
        self._local: TemporaryDirectory[str] | None = None
        self._fetched: dict[str, Copy | Original] = {}
        self._room = _HELD
        self._lock = threading.Lock()
        self._tallies: dict[str, _Tally] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, fetched in self._fetched.items():
            self._opened.drop(self._called(name))
            fetched.shut()
        self._fetched.clear()
        if self._local is not None:
            self._local.cleanup()

    def path_of(self, file: RunFile) -> str:
        """A file's name as people find it."""
        return self._folder.path_of(file.name)

    def fetch(self, files: Sequence[RunFile]) -> None:
        """Verifies what will be read, many files at a time; raises as reading them does."""
        missing = {f.name: f for f in files if f.name not in self._fetched}
        for name, fetched in zip(
            missing, in_order(self._fetch, missing.values(), self._at_once), strict=True
        ):
            self._fetched[name] = fetched
            self._asked(name)

    def read(self, file: RunFile, family: int, first: int, last: int) -> Iterator[Records]:
        """What the file has of these buckets of a family, in the order of their keys."""
        low, high = run_key(family, first), run_key(family, last + 1)
        tally = None
        if self._tallies is not None:
            tally = self._tallies.setdefault(file.name, _Tally())
            tally.begin(low, high)
        for records, prefixes in self._scan(file, low, high):
            if tally is not None:
                tally.add(records)
                try:
                    self._check(file, records, prefixes)
                except CheckpointError:
                    # It is told by whoever verifies the file.
                    tally.sound = False
            yield records

    def between(self, file: RunFile, low: bytes, high: bytes) -> Iterator[Records]:
        """What the file has from one key of `run_key` on and below another, in their order."""
        for records, _ in self._scan(file, low, high):
            yield records

    def entries_of(self, file: RunFile, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        """The entries of these keys of `run_key`; those that are not there are left out."""
        copy = self._verified(file)
        assert isinstance(copy, Copy), "look-ups take databases"
        return copy.entries_of(keys)

    def tally(self) -> None:
        """From here on what `read` has read of a file need not be read once more to verify it."""
        self._tallies = {}

    def verify(self, file: RunFile) -> None:
        """Reads all of it that was not read; raises for whatever is not as the manifest says.

        It is forgotten then.
        """
        try:
            if not self._was_read(file):
                for _ in self.entries(file):
                    pass
        finally:
            self.forget(file)

    def _was_read(self, file: RunFile) -> bool:
        """Whether each of its entries was, and all was as the manifest says."""
        tally = (self._tallies or {}).get(file.name)
        if tally is None or not tally.sound:
            return False
        if (tally.entries, tally.tombstones) != (file.entries, file.tombstones):
            return False
        # What lies outside of all that was read is among those that the file itself counts.
        return self._verified(file).reader.count == file.entries

    def forget(self, file: RunFile) -> None:
        """Gives up what is open of it and its copy, if there is one."""
        fetched = self._fetched.pop(file.name, None)
        self._opened.drop(self._called(file.name))
        if fetched is not None:
            fetched.give_up()
            if fetched.is_in_memory:
                self._room += file.size

    def entries(self, file: RunFile) -> Iterator[tuple[Records, Positions]]:
        """All that the file has, each with its column family << 16 | bucket, in order.

        Raises, at the end at the latest, for whatever is not as the manifest says.
        """
        path = self.path_of(file)
        found = _Tally()
        for records, prefixes in self._scan(file, b"", None):
            self._check(file, records, prefixes)
            found.add(records)
            yield records, prefixes
        if (found.entries, found.tombstones) != (file.entries, file.tombstones):
            raise damaged(
                path,
                f"expected {file.entries} entries, {file.tombstones} of them tombstones, found "
                f"{found.entries} and {found.tombstones}",
            )

    def _check(self, file: RunFile, records: Records, prefixes: Positions) -> None:
        """Raises for entries of times or buckets that the manifest does not say."""
        path = self.path_of(file)
        if file.times is not None:
            _check_times(records, file.times, path)
        for prefix in np.unique(prefixes).tolist():
            family, bucket = prefix >> 16, prefix & 0xFFFF
            if not any(b.family == family and b.first <= bucket <= b.last for b in file.buckets):
                raise damaged(
                    path,
                    f"it has keys of column family {family}, bucket {bucket}, which its manifest "
                    "does not say",
                )

    def _scan(
        self, file: RunFile, low: bytes, high: bytes | None
    ) -> Iterator[tuple[Records, Positions]]:
        path = self.path_of(file)
        reader = self._verified(file).reader
        with self._opened.reading(self._called(file.name)):
            for found in reader.together(low, high):
                try:
                    yield records_of(found)
                except (IndexError, ValueError) as error:
                    raise damaged(path, f"an entry is not one of a run ({error})") from error

    def _verified(self, file: RunFile) -> Copy | Original:
        if file.name not in self._fetched:
            self._fetched[file.name] = self._fetch(file)
        self._asked(file.name)
        return self._fetched[file.name]

    def _asked(self, name: str) -> None:
        fetched = self._fetched[name]
        if not fetched.is_in_memory:
            self._opened.ask(self._called(name), fetched.shut)

    def _called(self, name: str) -> Hashable:
        """A file among those of all stores."""
        return self._folder.location, name

    def _fetch(self, file: RunFile) -> Copy | Original:
        """What there is to read of it, verified; a copy has a name that no other has."""
        path = self.path_of(file)
        with _fetching:
            held = self._is_held(file.size)
            if self._in_place and not held:
                return self._original(file)
            with opened_run(self._folder, file) as source:
                chunks = self._whole(source, file)
                if held:
                    return Copy(b"".join(chunks), path)
                return Copy(self._copied(chunks, path), path)

    def _original(self, file: RunFile) -> Original:
        original = Original(partial(opened_run, self._folder, file), self.path_of(file))
        try:
            for _ in self._whole(original.file, file):
                pass
        except BaseException:
            original.shut()
            raise
        return original

    def _copied(self, chunks: Iterator[bytes], path: str) -> Path:
        """A file of these bytes in a folder that goes at the end."""
        try:
            with self._lock:
                if self._local is None:
                    self._local = temporary_folder("bucketstate-runs-")
            to = Path(self._local.name) / f"{uuid.uuid4()}.sst"
            with to.open("wb") as target:
                target.writelines(chunks)
            return to
        except BucketstateError:
            raise
        except OSError as error:
            raise StorageError(
                f"{path} cannot be copied to the temporary folder: {first_line(error)}. See that "
                "TMPDIR is a folder with room for it."
            ) from error

    def _is_held(self, size: int) -> bool:
        with self._lock:
            fits = size <= min(_SMALL, self._room)
            if fits:
                self._room -= size
            return fits

    def _whole(self, source: OpenFile, file: RunFile) -> Iterator[bytes]:
        """All of its bytes; raises at the end if they are not what the manifest says."""
        crc = 0
        for position in range(0, file.size, _CHUNK):
            chunk = source.read_at(min(_CHUNK, file.size - position), position)
            crc = crc32c_extend(crc, chunk)
            yield chunk
        if crc != file.checksum:
            raise damaged(
                self.path_of(file), f"expected checksum {file.checksum:08x}, found {crc:08x}"
            )


def is_small(file: RunFile) -> bool:
    """Whether it is read whole sooner than a database is made of it."""
    return file.size <= _SMALL


@contextmanager
def opened_run(folder: Folder, file: RunFile) -> Iterator[OpenFile]:
    """A data file that is there and as long as its manifest says; closed afterwards."""
    path = folder.path_of(file.name)
    try:
        with folder.opened(file.name) as found:
            if found.size != file.size:
                raise damaged(path, f"expected {file.size} bytes, found {found.size}")
            yield found
    except MissingFileError as error:
        # Nobody asks for a file that was not listed.
        raise MissingFileError(
            f"{path} is not there, but a manifest needs it. If the query is running, its retention "
            "may have taken it since it was listed: open the checkpoint again to read a newer "
            "version. Restore the file from a backup of the checkpoint if it is missing then, too."
        ).about(path, str(error)) from error


def _check_times(records: Records, times: TimeSpan, path: str) -> None:
    try:
        starts = starts_of(records.values.where(records.puts))
    except (IndexError, ValueError) as error:
        raise damaged(path, f"the time of an entry cannot be read ({error})") from error
    outside = starts[(starts < times.first) | (starts > times.last)]
    if outside.size:
        found = int(outside[0])
        raise damaged(
            path,
            f"expected entries of the time buckets {times.first} to {times.last}, found one "
            + ("without a time" if found == UNTIMED else f"of {found}"),
        )


def records_of(entries: Entries) -> tuple[Records, Positions]:
    """Entries as records, and of each its column family << 16 | bucket.

    IndexError or ValueError for what is no entry of a run.
    """
    keys, values = entries
    if (keys.lengths < _PREFIX).any():
        raise ValueError("a key has less than 4 bytes")
    tags = gather(values.buffer, values.starts, "u1")
    if not np.isin(tags, (_PUT, _TOMBSTONE, _MERGE)).all():
        raise ValueError("a tag is neither PUT nor TOMBSTONE nor MERGE")
    puts = tags != _TOMBSTONE
    if (values.lengths[~puts] != 1).any():
        raise ValueError("a tombstone has a value")
    records = Records(
        Slices(keys.buffer, keys.starts + _PREFIX, keys.lengths - _PREFIX),
        Slices(values.buffer, values.starts + 1, values.lengths - 1),
        puts,
        tags == _MERGE,
    )
    return records, gather(keys.buffer, keys.starts, ">u4").astype(np.int64)


def change_of(entry: tuple[bytes, bytes]) -> tuple[int, bytes, bytes]:
    """One entry as a record's kind, its key and its value, as `records_of` has many.

    IndexError or ValueError for what is no entry of a run.
    """
    key, value = entry
    kind = value[0]
    if len(key) < _PREFIX or kind not in _KINDS or (kind == _TOMBSTONE and len(value) > 1):
        raise ValueError("its key has less than 4 bytes, its tag is none, or a tombstone has more")
    return _KINDS[kind], key[_PREFIX:], value[1:]


def run_key(family: int, bucket: int, key: bytes = b"") -> bytes:
    """How a key begins, or is called, in a run's file."""
    # A bucket past the last one of two bytes is the start of the next family.
    return ((family << 16) + bucket).to_bytes(_PREFIX, "big") + key
