"""A verified copy of a run's file, in memory or on the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from rocksdict import AccessType, BlockBasedOptions, IngestExternalFileOptions, Options, Rdict

from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.filesystems import first_line
from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.storage import OpenFile
from bucketstate.errors import BucketstateError, StorageError

_BUFFER = 64 * 1024
"""Bytes of what is written to a database, which is nothing."""


_OF_THE_FILE = ("Corruption", "Invalid argument", "Not implemented")
"""How RocksDB's errors begin that are about what a file holds."""


class Copy:
    """A file's verified copy, and what is open of it. Not thread-safe.

    All of its entries are read by this package's own code; keys of one on the disk are looked up
    by RocksDB, which makes a database of it when it is first asked.

    Args:
        at: its bytes, or where it is, in a folder where nothing else is called so.
        path: what errors name.
    """

    def __init__(self, at: bytes | Path, path: str) -> None:
        self._at = at
        self._path = path
        self._file: pa.NativeFile | None = None
        self._reader: SstReader | None = None
        self._database: Rdict | None = None

    @property
    def is_in_memory(self) -> bool:
        return isinstance(self._at, bytes)

    @property
    def is_open(self) -> bool:
        return self._file is not None or self._database is not None

    @property
    def reader(self) -> SstReader:
        if self._reader is None:
            file = OpenFile(self._readable(), self._path, self._failures)
            self._reader = SstReader(file, self._path)
        return self._reader

    def entries_of(self, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        """The entries of these keys; those that are not there are left out."""
        if isinstance(self._at, bytes):
            return [entry for key in keys for entry in self.reader.entries(key, key + b"\0")]
        database = self._opened(self._at)
        try:
            found: list[bytes | None] = database.get(list(keys)) or []
        except Exception as error:  # rocksdict raises nothing more special
            raise _failure(self._path, "read", error) from error
        return [(k, v) for k, v in zip(keys, found, strict=True) if v is not None]

    def shut(self) -> None:
        """Closes what is open, which is opened again when it is asked for."""
        self._reader = None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._database is not None:
            self._database.close()
            self._database = None

    def give_up(self) -> None:
        """Closes it, and deletes it."""
        self.shut()
        if isinstance(self._at, Path):
            self._at.unlink(missing_ok=True)
            if self._folder(self._at).exists():
                shutil.rmtree(self._folder(self._at))

    def _opened(self, copy: Path) -> Rdict:
        if self._database is None:
            if copy.exists():
                self._database = _ingested(copy, self._path)
            else:
                self._database = _database(self._folder(copy), self._path)
        return self._database

    def _readable(self) -> pa.NativeFile:
        if self._file is None:
            if isinstance(self._at, bytes):
                self._file = pa.BufferReader(self._at)
            else:
                # RocksDB moves it into its own folder.
                moved = next(self._folder(self._at).glob("*.sst"), self._at)
                with self._failures():
                    self._file = pa.OSFile(str(moved))
        return self._file

    @staticmethod
    def _folder(copy: Path) -> Path:
        return copy.with_suffix("")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"The copy of {self._path} cannot be read: {first_line(error)}. See that the "
                "temporary folder (TMPDIR) is all right."
            ) from error


def _ingested(file: Path, path: str) -> Rdict:
    """A database beside it, of it alone; the file goes."""
    database = _database(file.with_suffix(""), path)
    try:
        ingest = IngestExternalFileOptions()
        ingest.set_move_files(True)
        database.ingest_external_file([str(file)], ingest)
    except BaseException as error:
        database.close()
        if not isinstance(error, Exception):
            raise
        # rocksdict raises nothing more special
        raise _failure(path, "open", error) from error
    return database


def _database(folder: Path, path: str) -> Rdict:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    # A thread for the one file, where RocksDB would begin sixteen.
    options.set_max_file_opening_threads(1)
    # It is read once or twice from end to end, and never written to.
    table = BlockBasedOptions()
    table.disable_cache()
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(_BUFFER)
    try:
        return Rdict(str(folder), options=options, access_type=AccessType.read_write())
    except Exception as error:  # rocksdict raises nothing more special
        raise _failure(path, "open", error) from error


def _failure(path: str, verb: str, error: Exception) -> BucketstateError:
    """What an error of RocksDB's means: of the file, or of the folder that its copy is in.

    The copy was verified: a disk that is full, or too many open files, say nothing about the file.
    """
    what = f"RocksDB cannot {verb} it ({first_line(error)})"
    if str(error).startswith(_OF_THE_FILE):
        return damaged(path, what)
    return StorageError(
        f"{path} is copied to be looked into, and {what}. See that the temporary folder (TMPDIR) "
        "has room and can be written to, and that the process may have enough open files "
        "(ulimit -n)."
    )
