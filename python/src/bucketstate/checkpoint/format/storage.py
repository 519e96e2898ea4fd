"""Folders of a checkpoint, on any file system that pyarrow knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

from pyarrow import ArrowException, fs

from bucketstate.checkpoint.format.filesystems import (
    first_line,
    hint,
    in_utf8,
    opened,
    split_uri,
    without_secret,
)
from bucketstate.errors import MissingFileError, StorageError
from bucketstate.waiting import REQUESTS

Failures = Callable[[], AbstractContextManager[None]]
"""Around what is asked of a file system: its errors become ours."""


@dataclass(frozen=True)
class Listed:
    """A file as its folder lists it; `size` in bytes."""

    name: str
    size: int


class Stamp(NamedTuple):
    """What a file system says of a file, by which another one in its place is told from it."""

    length: int
    """In bytes; 0 of a folder."""
    changed: int | None
    """When, in nanoseconds since 1970, 0 of a folder; None where the file system does not say."""


def _stamp(info: fs.FileInfo) -> Stamp | None:
    if info.type == fs.FileType.NotFound:
        return None
    is_file = info.type == fs.FileType.File
    return Stamp(info.size or 0, info.mtime_ns or None) if is_file else Stamp(0, 0)


class OpenFile:
    """A file for random access. Not thread-safe."""

    def __init__(self, file: Any, path: str, failures: Failures) -> None:
        self._file = file
        self._path = path
        self._failures = failures
        with failures():
            self.size = int(file.size())
            """In bytes, when it was opened."""

    def read_at(self, count: int, position: int) -> bytes:
        """All these bytes, which have to be within the file; StorageError if they do not come.

        A connection that is cut may give fewer: then what is missing is asked for.
        """
        data = self._read(count, position)
        while len(data) < count:
            more = self._read(count - len(data), position + len(data))
            if not more:
                raise StorageError(
                    f"{self._path} cannot be read: it has {self.size} bytes, but of {count} "
                    f"from byte {position} on only {len(data)} came. Try again."
                )
            data += more
        return data

    def _read(self, count: int, position: int) -> bytes:
        with self._failures():
            return bytes(self._file.read_at(count, position))


class Folder:
    """One folder, read only. Thread-safe as far as its pyarrow file system is.

    A file that is not there raises MissingFileError, any other failure of the file system
    StorageError; both name the file.
    """

    def __init__(
        self, filesystem: fs.FileSystem, path: str, shown: str | None = None, remedy: str = hint("")
    ) -> None:
        self._fs = filesystem
        self._path = path.rstrip("/") or "/"
        self._remedy = remedy
        # Options of a URI are not part of the names in it, and its secret is nobody's to see.
        named = (shown or path).partition("?")[0].rstrip("/") or "/"
        self.location = named if self.is_local else without_secret(named)

    @classmethod
    def at(cls, path: str | os.PathLike[str], filesystem: Any | None = None) -> Self:
        """A path as Spark takes it, or with `filesystem` one of its own: see `opened`."""
        found, inside, scheme = opened(path, filesystem)
        shown = os.fspath(path)
        return cls(found, inside, in_utf8(shown) if scheme == "file" else shown, hint(scheme))

    def __truediv__(self, name: str) -> Self:
        inside, shown = f"{self._path}/{name}", f"{self.location}/{name}"
        return type(self)(self._fs, inside, shown, self._remedy)

    def path_of(self, name: str) -> str:
        """A file's name as people find it."""
        return f"{self.location}/{name}"

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine's disks."""
        return isinstance(self._fs, fs.LocalFileSystem)

    @property
    def uri(self) -> str:
        """Its path, as Hadoop writes it, without a key and a secret in it."""
        return f"file:{self._path}" if self.is_local else self.location

    def is_at(self, uri: str) -> bool:
        """Whether a folder's URI, as Hadoop records it, is this one, as far as names tell.

        One that is reached in several ways may have several, so one in doubt is taken for the same.
        """
        scheme, host, path = split_uri(uri)
        if self.is_local:
            return scheme == "file" and os.path.realpath(path) == os.path.realpath(self._path)
        own, path = self._path.strip("/"), path.strip("/")
        if scheme in ("s3", "gs"):
            return own == f"{host}/{path}"
        return own.endswith(path)

    def exists(self, name: str = "") -> bool:
        with self._failures(name):
            found = self._fs.get_file_info(self._inside(name))
        return bool(found.type != fs.FileType.NotFound)

    def stamps(self, names: Sequence[str]) -> list[Stamp | None]:
        """What tells the files of these names from others that take their place; None for none.

        Where a file system says no time, it tells them no better than by their length. They are
        asked for by name, all at once: nothing is listed.
        """
        with self._failures(""):
            found = self._fs.get_file_info([self._inside(name) for name in names])
        return [_stamp(info) for info in found]

    def files(self) -> list[Listed]:
        """Its files, by name; none if there is no such folder."""
        return [Listed(i.base_name, i.size) for i in self._entries(fs.FileType.File)]

    def all_files(self) -> list[Listed]:
        """Its files and those of its folders, by their name relative to it: one request to S3."""
        found = self._entries(fs.FileType.File, recursive=True)
        return [Listed(self._name_of(info), info.size) for info in found]

    def folders(self) -> list[str]:
        """Names of the folders in it; none if there is no such folder."""
        return [i.base_name for i in self._entries(fs.FileType.Directory)]

    def read(self, name: str) -> bytes:
        with self.opened(name) as file:
            return file.read_at(file.size, 0)

    @contextmanager
    def opened(self, name: str) -> Iterator[OpenFile]:
        """The file for random access; closed afterwards."""
        with self._failures(name):
            file = self._fs.open_input_file(self._inside(name))
        with file:
            yield OpenFile(file, self.path_of(name), partial(self._failures, name))

    def _entries(self, kind: fs.FileType, *, recursive: bool = False) -> list[fs.FileInfo]:
        selector = fs.FileSelector(self._path, allow_not_found=True, recursive=recursive)
        with self._failures(""):
            found = self._fs.get_file_info(selector)
        try:
            return sorted((i for i in found if i.type == kind), key=lambda i: str(i.path))
        except UnicodeDecodeError as error:
            raise StorageError(
                f"{self.location} has a file whose name is not UTF-8, which nothing here can ask "
                "for: give it another name, or another folder."
            ) from error

    def _name_of(self, info: fs.FileInfo) -> str:
        """A file's name relative to the folder; no name of another form may pass for one."""
        own, path = self._path.strip("/"), info.path.strip("/")
        if own and not f"{path}/".startswith(f"{own}/"):
            raise StorageError(
                f"{self.location} cannot be read: the file system lists {info.path} in it, which "
                f"does not begin with {self._path}. Give the path in the form in which the file "
                "system lists it."
            )
        return str(path.removeprefix(own).lstrip("/"))

    def _inside(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    @contextmanager
    def _failures(self, name: str, what: str = "read") -> Iterator[None]:
        path = self.path_of(name) if name else self.location
        try:
            if self.is_local:
                yield
            else:
                with REQUESTS.asking(path):
                    yield
        except FileNotFoundError as error:
            problem = f"{path} is not there."
            raise MissingFileError(f"{problem} Was it moved, or deleted?").about(
                path, problem
            ) from error
        except Exception as error:
            # Others than pyarrow's raise what their libraries do, which have no error in common.
            foreign = isinstance(self._fs, fs.PyFileSystem)
            if not foreign and not isinstance(error, OSError | ArrowException):
                raise
            raise StorageError(
                f"{path} cannot be {what}: {first_line(error)}. {self._remedy}"
            ) from error
