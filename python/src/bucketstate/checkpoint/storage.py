"""Folders of a checkpoint, on any file system that pyarrow knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyarrow import ArrowException, ArrowInvalid, fs

from bucketstate.errors import MissingFileError, StorageError


@dataclass(frozen=True)
class Listed:
    """A file as its folder lists it; `size` in bytes."""

    name: str
    size: int


class Folder:
    """One folder, read only. Thread-safe as far as its pyarrow file system is.

    A file that is not there raises MissingFileError, any other failure of the file system
    StorageError; both name the file.
    """

    def __init__(self, filesystem: fs.FileSystem, path: str, shown: str | None = None) -> None:
        self._fs = filesystem
        self._path = path.rstrip("/") or "/"
        self.location = (shown or path).rstrip("/") or "/"

    @classmethod
    def at(cls, path: str | os.PathLike[str], filesystem: fs.FileSystem | None = None) -> Folder:
        """A path as Spark takes it: local, or with the scheme of a file system (`hdfs:`, `s3a:`).

        With `filesystem`, the path is one of that file system's own.
        """
        text = os.fspath(path)
        if filesystem is not None:
            return cls(filesystem, text)
        if local := re.fullmatch(r"file:(?://)?(/.*)", text):
            text = local[1]
        if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:/", text):
            return cls(fs.LocalFileSystem(), os.path.abspath(text), text)  # noqa: PTH100
        try:
            # Hadoop's name for S3, and Arrow's.
            opened, inside = fs.FileSystem.from_uri(re.sub(r"^s3[an]:", "s3:", text))
        except (ArrowException, OSError, ValueError) as error:
            raise StorageError(
                f"{text} cannot be opened: {error}. Give a local path, or a URI of a file system "
                "that pyarrow knows (hdfs, s3, gs, abfs), or pass `filesystem`."
            ) from error
        return cls(opened, inside, text)

    def __truediv__(self, name: str) -> Folder:
        return Folder(self._fs, f"{self._path}/{name}", f"{self.location}/{name}")

    def path_of(self, name: str) -> str:
        """A file's name as people find it."""
        return f"{self.location}/{name}"

    def exists(self, name: str = "") -> bool:
        with self._failures(name):
            found = self._fs.get_file_info(self._inside(name))
        return bool(found.type != fs.FileType.NotFound)

    def files(self) -> list[Listed]:
        """Its files, by name; none if there is no such folder."""
        return [Listed(i.base_name, i.size) for i in self._entries(fs.FileType.File)]

    def folders(self) -> list[str]:
        """Names of the folders in it; none if there is no such folder."""
        return [i.base_name for i in self._entries(fs.FileType.Directory)]

    def read(self, name: str) -> bytes:
        with self.opened(name) as file:
            return bytes(file.read())

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """The file for random access (`size`, `read`, `read_at`); closed afterwards."""
        with self._failures(name), self._fs.open_input_file(self._inside(name)) as file:
            yield file

    def _entries(self, kind: fs.FileType) -> list[fs.FileInfo]:
        with self._failures(""):
            found = self._fs.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        return sorted((i for i in found if i.type == kind), key=lambda i: str(i.base_name))

    def _inside(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        path = self.path_of(name) if name else self.location
        try:
            yield
        except (MissingFileError, StorageError):
            raise
        except FileNotFoundError as error:
            raise MissingFileError(f"{path} is not there. Was it moved, or deleted?") from error
        except (OSError, ArrowInvalid) as error:
            raise StorageError(
                f"{path} cannot be read: {error}. Check the file system and your rights on it."
            ) from error
